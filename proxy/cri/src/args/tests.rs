use super::*;

fn read(arguments: &[&str]) -> Args {
    Args::read(["reeve-cri"].iter().chain(arguments).map(OsString::from)).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn without_flags_the_sockets_are_those_of_koord_runtime_proxy() {
    let args = read(&[]);
    assert_eq!(args.listen.0, PathBuf::from("/var/run/koord-runtimeproxy/runtimeproxy.sock"));
    assert_eq!(args.runtime_endpoint.0, PathBuf::from("/var/run/containerd/containerd.sock"));
    assert_eq!(args.image_endpoint, None);
    assert_eq!(args.backend_runtime_mode, BackendMode::Containerd);
}

#[test]
fn the_command_line_of_koord_runtime_proxy_is_understood() {
    let args = read(&[
        "--koord-runtimeproxy-endpoint=unix:///run/a.sock",
        "--remote-runtime-service-endpoint",
        "/run/b.sock",
        "--remote-image-service-endpoint=/run/c.sock",
        "--backend-runtime-mode=Containerd",
        "--logtostderr=true",
        "--v=4",
        "-v",
        "4",
        "-v=2",
        "--log_dir",
        "/var/log",
        "--alsologtostderr",
    ]);
    assert_eq!(args.listen.0, PathBuf::from("/run/a.sock"));
    assert_eq!(args.runtime_endpoint.0, PathBuf::from("/run/b.sock"));
    assert_eq!(args.image_endpoint.unwrap().0, PathBuf::from("/run/c.sock"));
}

#[test]
fn the_admin_server_is_on_loopback_unless_told_otherwise() {
    assert_eq!(read(&[]).process.admin_address.to_string(), "127.0.0.1:9464");
    assert_eq!(read(&["--admin-address=none"]).process.admin_address.to_string(), "none");
}

#[test]
fn a_relative_socket_is_refused_with_what_to_write() {
    let error = Args::read(["reeve-cri", "--listen=proxy.sock"].map(OsString::from)).unwrap_err().to_string();
    assert!(error.contains("wanted the absolute path of a unix socket"), "{error}");
}

#[test]
fn without_a_subcommand_it_is_the_proxy_and_install_has_flags_of_its_own() {
    assert!(read(&[]).command.is_none());
    let Some(Command::Install(args)) = read(&["install", "--root=/host", "--", "--log=debug"]).command else {
        panic!("no install");
    };
    assert_eq!((args.root, args.arguments), (PathBuf::from("/host"), vec!["--log=debug".to_owned()]));
    assert!(matches!(read(&["uninstall"]).command, Some(Command::Uninstall(_))));
}
