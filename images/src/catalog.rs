//! The table of images. Another binary is another line.

use crate::error::ImageError;

/// Nobody's registry: a name that cannot be fetched by mistake. `PUSH=` gives images another.
pub const LOCAL: &str = "reeve.local";

/// The account that needs no rights, as the chart names it.
const NOBODY_SPECIAL: &str = "65532:65532";
/// For what works on nodes.
const ROOT: &str = "0:0";

/// One binary that is shipped as an image of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shipped {
    /// Of the binary and of the image.
    pub name: &'static str,
    /// The package that has the binary.
    pub package: &'static str,
    /// As whom it runs unless the pod says otherwise.
    pub user: &'static str,
    pub description: &'static str,
}

pub const IMAGES: [Shipped; 6] = [
    Shipped {
        name: "reeve",
        package: "reeve-reconciler",
        user: NOBODY_SPECIAL,
        description: "Keeps Kubernetes runtimes to a Git repository",
    },
    Shipped {
        name: "reeve-agent",
        package: "reeve-agent",
        user: NOBODY_SPECIAL,
        description: "Makes Dapr sidecars run the configuration that is in their cluster",
    },
    Shipped {
        name: "reeve-cri",
        package: "reeve-proxy-cri",
        user: ROOT,
        description: "Runs node hooks between kubelet and the container runtime",
    },
    Shipped {
        name: "reeve-cri-example",
        package: "reeve-proxy-cri-example",
        user: ROOT,
        description: "An example of a plugin for node hooks: resources by class of pod",
    },
    Shipped {
        name: "reeve-cri-feed",
        package: "reeve-proxy-cri-feed",
        user: ROOT,
        description: "Brings NodeHooks to the CRI proxy of a node and reports how they do",
    },
    Shipped {
        name: "reeve-resolver",
        package: "reeve-proxy-resolver",
        user: NOBODY_SPECIAL,
        description: "Holds, wakes and hands over the traffic of services at zero",
    },
];

impl Shipped {
    pub fn find(name: &str) -> Result<&'static Shipped, ImageError> {
        let known = || IMAGES.map(|image| image.name).join(", ");
        IMAGES
            .iter()
            .find(|image| image.name == name)
            .ok_or_else(|| ImageError::NoImage { name: name.to_owned(), known: known() })
    }

    /// `reeve.local/reeve:0.1.0`
    pub fn local_name(&self, version: &str) -> String {
        format!("{LOCAL}/{}:{version}", self.name)
    }

    /// Where the binary is in the image.
    pub fn path(&self) -> String {
        format!("/usr/local/bin/{}", self.name)
    }
}
