//! Makes `reeve-cri` a service of a host and has kubelet speak to it, and takes both back. Decides from what it reads of the
//! host which files there are to be; `files` writes them. Starts and stops nothing.

use std::fmt::Write;
use std::path::PathBuf;

mod files;
mod kubelet;

pub(crate) use files::{install, uninstall};
pub(crate) use kubelet::Host;
use kubelet::Way;

/// In every file of ours: one without it belongs to somebody else.
pub(crate) const MARK: &str = "# Written by reeve-cri install.";

/// What is to be served where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Service {
    pub(crate) program: PathBuf,
    pub(crate) listen: PathBuf,
    pub(crate) runtime: PathBuf,
    /// Further arguments of the proxy.
    pub(crate) arguments: Vec<String>,
}

/// A file that is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// From the root of the host.
    pub(crate) path: &'static str,
    pub(crate) text: String,
}

/// What is to be written, and what is left to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) files: Vec<Written>,
    pub(crate) advice: Vec<String>,
}

pub(crate) const UNIT: &str = "etc/systemd/system/reeve-cri.service";
pub(crate) const DROP_IN: &str = "etc/systemd/system/kubelet.service.d/90-reeve-cri.conf";
pub(crate) const ENVIRONMENT: &str = "etc/reeve-cri/kubelet.env";
pub(crate) const KUBELET_CONFIG: &str = "90-reeve-cri.conf";

/// All that an installation may have written, but for what is in kubelet's own configuration folder.
pub(crate) const OURS: [&str; 3] = [UNIT, DROP_IN, ENVIRONMENT];

/// What to write on this host.
pub(crate) fn plan(service: &Service, host: &Host) -> Plan {
    let endpoint = format!("unix://{}", service.listen.display());
    let mut files = vec![Written { path: UNIT, text: unit(service) }];
    let mut advice = Vec::new();
    let mut drop_in = format!("{MARK}\n[Unit]\nWants=reeve-cri.service\nAfter=reeve-cri.service\n");
    match host.way() {
        Way::ExtraArgs => {
            // Read after the file that it takes the place of, and with what that one says.
            let _ = write!(drop_in, "\n[Service]\nEnvironmentFile=/{ENVIRONMENT}\n");
            let before = host.extra_args.as_ref().map(|arguments| format!("{arguments} ")).unwrap_or_default();
            let text = format!("{MARK}\nKUBELET_EXTRA_ARGS=\"{before}--container-runtime-endpoint={endpoint}\"\n");
            files.push(Written { path: ENVIRONMENT, text });
        }
        Way::ConfigFolder(folder) => advice.push(format!(
            "write containerRuntimeEndpoint: {endpoint} into {folder}/{KUBELET_CONFIG}, with apiVersion: \
             kubelet.config.k8s.io/v1beta1 and kind: KubeletConfiguration",
        )),
        Way::ByHand => advice.push(format!(
            "kubelet's unit takes no KUBELET_EXTRA_ARGS and no --config-dir: write containerRuntimeEndpoint: {endpoint} into \
             its configuration, or give it --container-runtime-endpoint={endpoint}",
        )),
    }
    files.push(Written { path: DROP_IN, text: drop_in });
    if let Some(version) = host.kubelet_version.filter(|version| *version < (1, 31)) {
        advice.push(format!(
            "kubelet {}.{} cannot speak to the proxy: it sends a path as HTTP/2 authority; 1.31 or newer is needed",
            version.0, version.1
        ));
    }
    advice.push("systemctl daemon-reload".to_owned());
    advice.push("systemctl enable --now reeve-cri".to_owned());
    advice.push("systemctl restart kubelet    # pods run on".to_owned());
    Plan { files, advice }
}

fn unit(service: &Service) -> String {
    let mut command = format!(
        "{} --listen={} --runtime-endpoint={}",
        service.program.display(),
        service.listen.display(),
        service.runtime.display()
    );
    for argument in &service.arguments {
        let _ = write!(command, " \"{}\"", argument.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%"));
    }
    format!(
        "{MARK}
[Unit]
Description=CRI proxy that runs node hooks
After=containerd.service crio.service
Before=kubelet.service
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=all
EnvironmentFile=-/etc/default/reeve-cri
ExecStart={command} $REEVE_CRI_ARGS
# Upgrade: the program that is in its place takes the socket over, and no call fails.
ExecReload=/bin/kill -HUP $MAINPID
Restart=always
RestartSec=1
# Calls have no deadline, so neither has their end.
TimeoutStopSec=infinity
KillMode=process
OOMScoreAdjust=-999
LimitNOFILE=1048576
RuntimeDirectory=reeve-cri
RuntimeDirectoryPreserve=yes
StateDirectory=reeve-cri

[Install]
WantedBy=multi-user.target
"
    )
}

#[cfg(test)]
mod tests;
