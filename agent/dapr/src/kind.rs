//! The kinds of Dapr's resources.

/// The API group of all of them.
pub const GROUP: &str = "dapr.io";

/// A kind of Dapr resource.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    /// A building block: a state store, a broker, a binding.
    Component,
    /// How sidecars that name it behave.
    Configuration,
    /// A service outside of Dapr that can be invoked by name.
    HttpEndpoint,
    /// A server of tools for agents, since 1.18.
    McpServer,
    /// Timeouts, retries and circuit breakers.
    Resiliency,
    /// A topic and where its messages go.
    Subscription,
    /// Who may start and change which workflows, since 1.18.
    WorkflowAccessPolicy,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Component,
        Self::Configuration,
        Self::HttpEndpoint,
        Self::McpServer,
        Self::Resiliency,
        Self::Subscription,
        Self::WorkflowAccessPolicy,
    ];

    /// The kind as objects write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Component => "Component",
            Self::Configuration => "Configuration",
            Self::HttpEndpoint => "HTTPEndpoint",
            Self::McpServer => "MCPServer",
            Self::Resiliency => "Resiliency",
            Self::Subscription => "Subscription",
            Self::WorkflowAccessPolicy => "WorkflowAccessPolicy",
        }
    }

    /// The name in the path of a request.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Component => "components",
            Self::Configuration => "configurations",
            Self::HttpEndpoint => "httpendpoints",
            Self::McpServer => "mcpservers",
            Self::Resiliency => "resiliencies",
            Self::Subscription => "subscriptions",
            Self::WorkflowAccessPolicy => "workflowaccesspolicies",
        }
    }

    /// The version that Dapr stores.
    pub const fn version(self) -> &'static str {
        match self {
            Self::Subscription => "v2alpha1",
            Self::Component
            | Self::Configuration
            | Self::HttpEndpoint
            | Self::McpServer
            | Self::Resiliency
            | Self::WorkflowAccessPolicy => "v1alpha1",
        }
    }

    /// The kind with this name, of this group.
    pub fn find(api_version: &str, kind: &str) -> Option<Self> {
        let (group, _) = api_version.split_once('/')?;
        Self::ALL.into_iter().find(|known| group == GROUP && known.as_str() == kind)
    }

    /// Whether a sidecar takes a change over by a restart of its runtime within the process (SIGHUP). It hears of such a
    /// change once and never asks again, where of the others it makes a full comparison every minute.
    pub const fn is_told_once(self) -> bool {
        match self {
            Self::Configuration | Self::HttpEndpoint | Self::Resiliency => true,
            Self::Component | Self::McpServer | Self::Subscription | Self::WorkflowAccessPolicy => false,
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn a_kind_is_found_by_group_and_name() {
        for kind in Kind::ALL {
            assert_eq!(Kind::find("dapr.io/v1alpha1", kind.as_str()), Some(kind));
        }
        assert_eq!(Kind::find("other.io/v1", "Component"), None);
        assert_eq!(Kind::find("v1", "Component"), None);
    }
}
