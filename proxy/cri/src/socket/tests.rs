use super::*;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn the_socket_has_the_mode_of_the_backends_and_is_never_for_everyone() {
    let folder = folder();
    let (path, backend) = (folder.path().join("sub/proxy.sock"), folder.path().join("backend.sock"));
    let _backend = UnixListener::bind(&backend).unwrap();
    fs::set_permissions(&backend, Permissions::from_mode(0o777)).unwrap();
    let _listener = listen(&path, &backend).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o660);
}

#[test]
fn a_stale_socket_is_replaced_and_one_that_is_served_is_not() {
    let folder = folder();
    let path = folder.path().join("proxy.sock");
    drop(UnixListener::bind(&path).unwrap());
    let listener = listen(&path, Path::new("/nowhere")).unwrap();
    let error = listen(&path, Path::new("/nowhere")).unwrap_err();
    assert!(matches!(error, SocketError::Taken(_)), "{error}");
    drop(listener);
}

#[test]
fn a_file_that_is_no_socket_is_left_alone() {
    let folder = folder();
    let (path, file) = (folder.path().join("proxy.sock"), folder.path().join("file"));
    fs::write(&file, "mine").unwrap();
    std::os::unix::fs::symlink(&file, &path).unwrap();
    assert!(matches!(listen(&path, Path::new("/nowhere")).unwrap_err(), SocketError::NoSocket(_)));
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}
