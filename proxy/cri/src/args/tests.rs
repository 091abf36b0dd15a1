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
    assert_eq!(args.mode, BackendMode::Containerd);
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

#[test]
fn the_mode_of_koord_runtime_proxy_is_understood_in_both_of_its_forms() {
    assert_eq!(read(&["--backend-runtime-mode=Docker"]).mode, BackendMode::Docker);
    assert_eq!(read(&["--backend-runtime-mode", "Docker"]).mode, BackendMode::Docker);
    let args = read(&["--runtime-hook-server-key=k", "--runtime-hook-server-val", "v"]);
    assert_eq!(args.scope().skip_label, ("k".to_owned(), "v".to_owned()));
}

#[test]
fn a_file_sets_what_the_command_line_does_not_and_its_mistakes_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    let config = format!("--config={}", file.display());
    std::fs::write(
        &file,
        "mode = \"docker\"\nlisten = \"/run/a.sock\"\nexempt-namespaces = [\"infra\", \"dns\"]\nadmin-address = \"none\"\n",
    )
    .unwrap();
    let args = read(&[&config, "--listen=/run/b.sock"]);
    assert_eq!((args.mode, args.listen.0), (BackendMode::Docker, PathBuf::from("/run/b.sock")));
    assert_eq!(args.exempt_namespaces, ["infra", "dns"]);
    assert_eq!(args.process.admin_address.to_string(), "none");
    assert_eq!(read(&[&config, "--exempt-namespaces=one"]).exempt_namespaces, ["one"]);
    for (text, wanted) in [
        ("listens = 1", "there is no listens; there are admin-address, "),
        ("listen = \"a.sock\"", "wanted the absolute path of a unix socket"),
        ("listen = true", "listen wants a text, a number or a list of texts"),
        ("listen = ", "config.toml: TOML parse error at line 1"),
        ("config = \"other\"", "there is no config"),
    ] {
        std::fs::write(&file, text).unwrap();
        let error = Args::read(["reeve-cri", &config].map(OsString::from)).unwrap_err().to_string();
        assert!(error.contains(wanted) && error.contains("config.toml"), "{text}: {error}");
    }
    let absent = Args::read(["reeve-cri", "--config=/nowhere/config.toml"].map(OsString::from)).unwrap_err();
    assert!(absent.to_string().contains("cannot read /nowhere/config.toml"), "{absent}");
}
