//! What `reeve node` can be asked.

use clap::{Args as Group, Subcommand};

use super::{ConnectionArgs, Format, examples};

#[derive(Debug, Group)]
pub(in crate::cli) struct NodeArgs {
    #[command(subcommand)]
    pub(in crate::cli) command: NodeCommand,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum NodeCommand {
    /// Show which plugins are asked on a node, in this order, and how they do
    #[command(after_help = examples::NODE_HOOKS, mut_arg("namespace", |namespace| namespace.hide(true)))]
    Hooks(NodeHooksArgs),
    /// Show what plugins changed, refused or failed of a pod, and by which commit
    #[command(after_help = examples::NODE_WHY)]
    Why(NodeWhyArgs),
}

#[derive(Debug, Group)]
pub(in crate::cli) struct NodeHooksArgs {
    /// The node
    pub(in crate::cli) node: String,
    #[command(flatten)]
    pub(in crate::cli) feed: FeedArgs,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) output: Format,
    #[command(flatten)]
    pub(in crate::cli) connection: ConnectionArgs,
}

#[derive(Debug, Group)]
pub(in crate::cli) struct NodeWhyArgs {
    /// The pod
    pub(in crate::cli) pod: String,
    /// The node that it runs or ran on; without it the pod says
    #[arg(long, value_name = "NODE")]
    pub(in crate::cli) node: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) feed: FeedArgs,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) output: Format,
    #[command(flatten)]
    pub(in crate::cli) connection: ConnectionArgs,
}

/// Where the feeds are.
#[derive(Debug, Group)]
pub(in crate::cli) struct FeedArgs {
    /// Namespace that the feeds of the CRI proxies run in
    #[arg(long, value_name = "NAMESPACE", default_value = "kube-system")]
    pub(in crate::cli) feed_namespace: String,
    /// Port on loopback at which a feed serves the state
    #[arg(long, value_name = "PORT", default_value = "9466")]
    pub(in crate::cli) feed_port: u16,
}
