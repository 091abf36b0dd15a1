//! Examples for the commands that talk to a cluster, and what their exit statuses mean.

pub(super) const GET: &str = "\
Examples:
  reeve get                                  sources, runtimes and components of the namespace
  reeve get runtimes -A --sort state         of all namespaces, the worst first
  reeve get component eu-1-web -o wide       with its message in full
  reeve get components --watch               each row again when it changes
  reeve get runtimes -o json | jq '.items[].status.state'

Exit status: 0 all are Ready, or there are none, 1 something is not Ready, 2 could not look.";
