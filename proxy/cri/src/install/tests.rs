use std::fs;
use std::path::Path;

use super::files::InstallError;
use super::*;

const KUBEADM: &str = "[Service]
Environment=\"KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml\"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
";

fn service() -> Service {
    Service {
        program: "/usr/bin/reeve-cri".into(),
        listen: "/run/reeve-cri/cri.sock".into(),
        runtime: "/run/containerd/containerd.sock".into(),
        arguments: vec!["--exempt-namespaces=kube-system,infra".to_owned()],
    }
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// All files below a folder.
fn list(root: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path.strip_prefix(root).unwrap().display().to_string());
            }
        }
    }
    files.sort();
    files
}

#[test]
fn a_kubeadm_host_gets_unit_and_drop_in_and_keeps_its_own_arguments() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "usr/local/lib/systemd/system/kubelet.service", "[Service]\nExecStart=/usr/bin/kubelet\n");
    write(root.path(), "etc/systemd/system/kubelet.service.d/10-kubeadm.conf", KUBEADM);
    write(root.path(), "etc/default/kubelet", "# ours\nKUBELET_EXTRA_ARGS=\"--node-ip=10.0.0.7\"\n");
    let before = list(root.path());
    let host = Host::read(root.path(), Some("Kubernetes v1.35.4"));
    let plan = plan(&service(), &host);
    assert_eq!(install(root.path(), &plan).unwrap().len(), 3);
    let environment = fs::read_to_string(root.path().join(ENVIRONMENT)).unwrap();
    let expected =
        "KUBELET_EXTRA_ARGS=\"--node-ip=10.0.0.7 --container-runtime-endpoint=unix:///run/reeve-cri/cri.sock\"";
    assert_eq!(environment.lines().nth(1), Some(expected));
    let unit = fs::read_to_string(root.path().join(UNIT)).unwrap();
    assert!(unit.contains("ExecStart=/usr/bin/reeve-cri --listen=/run/reeve-cri/cri.sock"), "{unit}");
    assert!(plan.advice.iter().all(|line| line.starts_with("systemctl ")), "{:?}", plan.advice);

    let again = super::plan(&service(), &Host::read(root.path(), Some("Kubernetes v1.35.4")));
    assert_eq!(install(root.path(), &again).unwrap(), Vec::<PathBuf>::new(), "once is enough");
    assert_eq!(uninstall(root.path()).unwrap().len(), 3);
    assert_eq!(list(root.path()), before, "nothing is left");
    assert_eq!(uninstall(root.path()).unwrap(), Vec::<PathBuf>::new());
}

#[test]
fn a_file_of_somebody_else_is_neither_written_nor_removed_and_nothing_else_is_done() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), UNIT, "[Service]\nExecStart=/bin/true\n");
    let plan = plan(&service(), &Host::default());
    assert!(matches!(install(root.path(), &plan), Err(InstallError::NotOurs(_))));
    assert!(matches!(uninstall(root.path()), Err(InstallError::NotOurs(_))));
    assert_eq!(list(root.path()), [UNIT]);
}

#[test]
fn a_kubelet_that_takes_no_arguments_and_one_that_is_too_old_are_told_what_to_do() {
    let with = |start: &str| Host { kubelet_unit: format!("ExecStart={start}"), ..Host::default() };
    assert_eq!(
        with("/usr/bin/kubelet --config-dir=/etc/kubelet.d").way(),
        Way::ConfigFolder("/etc/kubelet.d".to_owned())
    );
    assert_eq!(
        with("/usr/bin/kubelet --config-dir /etc/kubelet.d").way(),
        Way::ConfigFolder("/etc/kubelet.d".to_owned())
    );
    assert_eq!(with("/usr/bin/kubelet ${KUBELET_EXTRA_ARGS}").way(), Way::ExtraArgs);
    let advice = plan(&service(), &with("/usr/bin/kubelet")).advice;
    assert!(advice[0].contains("containerRuntimeEndpoint: unix:///run/reeve-cri/cri.sock"), "{advice:?}");
    let old = Host { kubelet_version: Some((1, 30)), ..with("/usr/bin/kubelet $KUBELET_EXTRA_ARGS") };
    assert!(plan(&service(), &old).advice[0].starts_with("kubelet 1.30 cannot speak to the proxy"));
}

#[test]
fn packages_have_the_same_unit() {
    let packaged = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("package/reeve-cri.service")).unwrap();
    let ours = unit(&Service { arguments: Vec::new(), ..service() });
    let settings = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(settings(&packaged), settings(&ours));
}
