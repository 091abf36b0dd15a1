//! The few words that systemd wants to hear of a service with `Type=notify`.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Says `READY=1` or another state to the socket that `NOTIFY_SOCKET` names. Without one nobody listens.
pub(crate) fn notify(socket: Option<&str>, state: &str) -> std::io::Result<()> {
    let Some(socket) = socket.filter(|socket| !socket.is_empty()) else { return Ok(()) };
    let address = match socket.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_reaches_whoever_listens() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let listener = UnixDatagram::bind(&path).unwrap();
        notify(path.to_str(), "READY=1").unwrap();
        let mut heard = [0; 32];
        let length = listener.recv(&mut heard).unwrap();
        assert_eq!(&heard[..length], b"READY=1");
        notify(None, "READY=1").unwrap();
    }
}
