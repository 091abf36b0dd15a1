//! The rules by their numbers: which change means what for a sidecar.

macro_rules! rules {
    ($($name:ident, $text:literal;)*) => {
        /// A rule.
        #[expect(clippy::doc_markdown, reason = "what a rule says is also read by people, as plain text")]
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum Rule {
            $(#[doc = $text] $name,)*
        }

        impl Rule {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Its number, such as `R3`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            /// What it says, in one sentence.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

rules! {
    R0, "labels, annotations and order change nothing";
    R1, "a changed Component is reloaded where hot reload is on, else the workload restarts";
    R2, "an app that enters or leaves the scopes of a resource is concerned as if it came or went; an app that stays is not";
    R3, "an actor state store is reloaded since daprd 1.18.3, before that the workload restarts";
    R4, "a workflow backend is reloaded since daprd 1.15, before that the workload restarts";
    R5, "a secret store also concerns the apps whose components read from it";
    R6, "a Subscription is reloaded since daprd 1.14, before that the workload restarts";
    R7, "an HTTPEndpoint or a Resiliency is reloaded since daprd 1.18 if the operator can tell of it, else the workload restarts";
    R8, "a Configuration concerns the workloads that name it and is reloaded since daprd 1.18, else they restart";
    R9, "the Configuration of the control plane is taken over by the control plane first, then by a restart of every workload";
    R10, "an MCPServer or a WorkflowAccessPolicy is reloaded where hot reload is on, else the workload restarts";
    R11, "a changed Secret behind a Component is read again within a minute where hot reload is on, else the workload restarts";
    R12, "a changed Secret behind an HTTPEndpoint or a Configuration needs a restart";
    R13, "a changed secret of another store than Kubernetes needs a restart, once the resource says that it changed";
    R14, "what a sidecar gets as environment or as a mounted file is fixed at its start: a change needs a restart";
    R15, "the container of a pluggable component is fixed at admission: a change needs a restart";
    R16, "a changed annotation of the pod template is taken over by the workload's own rollout";
    R17, "a sidecar of another image than the injector's needs a restart";
    R18, "a pod that asks for a sidecar and has none is replaced when the injector is ready";
    R19, "of a shared sidecar the workload that runs it restarts, not the app";
    R20, "a pod whose template has the token of a restart runs what the restart was for";
    R21, "pods of Jobs are never restarted, and pods without an owner are reported";
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Rule {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        Self::ALL.iter().find(|rule| rule.as_str() == word).copied().ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::Rule;

    #[test]
    fn the_documentation_has_every_rule_in_one_table() {
        let page = include_str!("../../../docs/dapr.md");
        for rule in Rule::ALL {
            let line = format!("| {rule} | {} |", rule.text());
            assert!(page.contains(&line), "docs/dapr.md lacks the line\n{line}");
        }
    }
}
