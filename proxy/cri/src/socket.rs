//! The unix socket that kubelet dials: made with care, since whoever may write to it is root on the node.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// For the owner and its group, as containerd has it.
const MODE: u32 = 0o660;

/// The socket cannot be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SocketError {
    #[error("cannot create the folder {}", .0.display())]
    Folder(PathBuf, #[source] std::io::Error),
    #[error("{} is served by another process: stop that one first, or choose another path", .0.display())]
    Taken(PathBuf),
    #[error("{} exists and is no socket: remove it, or choose another path", .0.display())]
    NoSocket(PathBuf),
    #[error("cannot remove the stale socket {}", .0.display())]
    Stale(PathBuf, #[source] std::io::Error),
    #[error("cannot listen on {}", .0.display())]
    Listen(PathBuf, #[source] std::io::Error),
    #[error("cannot set owner and mode of {}", .0.display())]
    Protect(PathBuf, #[source] std::io::Error),
}

/// Listens on `path`, with owner and mode of the backend's socket.
pub(crate) fn listen(path: &Path, like: &Path) -> Result<UnixListener, SocketError> {
    let named = || path.to_owned();
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|cause| SocketError::Folder(folder.to_owned(), cause))?;
    }
    clear(path)?;
    let listener = UnixListener::bind(path).map_err(|cause| SocketError::Listen(named(), cause))?;
    protect(path, like).map_err(|cause| SocketError::Protect(named(), cause))?;
    listener.set_nonblocking(true).map_err(|cause| SocketError::Listen(named(), cause))?;
    Ok(listener)
}

/// Removes a socket that nobody serves. Links are not followed.
fn clear(path: &Path) -> Result<(), SocketError> {
    let named = || path.to_owned();
    match fs::symlink_metadata(path) {
        Err(_absent) => Ok(()),
        Ok(found) if !found.file_type().is_socket() => Err(SocketError::NoSocket(named())),
        Ok(_) => match UnixStream::connect(path) {
            Ok(_) => Err(SocketError::Taken(named())),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                fs::remove_file(path).map_err(|cause| SocketError::Stale(named(), cause))
            }
            Err(cause) => Err(SocketError::Stale(named(), cause)),
        },
    }
}

fn protect(path: &Path, like: &Path) -> std::io::Result<()> {
    let Ok(backend) = fs::metadata(like) else { return fs::set_permissions(path, Permissions::from_mode(MODE)) };
    let ours = fs::metadata(path)?;
    if (ours.uid(), ours.gid()) != (backend.uid(), backend.gid()) {
        std::os::unix::fs::chown(path, Some(backend.uid()), Some(backend.gid()))?;
    }
    // Never for everyone, whatever the backend's is.
    fs::set_permissions(path, Permissions::from_mode(backend.mode() & MODE))
}

#[cfg(test)]
mod tests;
