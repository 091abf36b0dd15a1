//! Whether a list of host keys speaks of a host at all, to tell a changed key from an unknown host. Pure.
//!
//! Whether the key itself is trusted is libssh2's to decide.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha1::Sha1;

const DEFAULT_PORT: u16 = 22;
/// What hashed names start with.
const HASHED: &str = "|1|";

/// Whether a line names this host at this port.
pub(super) fn names(known_hosts: &str, host: &str, port: u16) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
    let wanted = if port == DEFAULT_PORT { host } else { format!("[{host}]:{port}") };
    let fields = known_hosts.lines().filter_map(|line| line.split_whitespace().next());
    fields.flat_map(|field| field.split(',')).any(|name| match name.strip_prefix(HASHED) {
        Some(hashed) => is_hash_of(hashed, &wanted),
        None => name.to_ascii_lowercase() == wanted,
    })
}

fn is_hash_of(hashed: &str, name: &str) -> bool {
    let decoded = hashed
        .split_once('|')
        .and_then(|(salt, hash)| Some((BASE64_STANDARD.decode(salt).ok()?, BASE64_STANDARD.decode(hash).ok()?)));
    let Some((salt, hash)) = decoded else { return false };
    let Ok(mac) = Hmac::<Sha1>::new_from_slice(&salt) else { return false };
    mac.chain_update(name.as_bytes()).verify_slice(&hash).is_ok()
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn hosts_are_found_by_name_port_and_hash() {
        // The hashed name is example.org, as `ssh-keygen -H` writes it.
        let list = "# comment\n\
                    Git.Acme,10.0.0.1 ssh-ed25519 AAAA\n\
                    |1|XVZMEgsezjX5F71EucCEwtNnzxs=|B/gHPBUKrW7T/PBdrzd4klEYAWc= ssh-ed25519 AAAA\n\
                    [git.acme]:2222 ssh-rsa AAAA\n";
        assert!(names(list, "example.org", 22));
        assert!(!names(list, "example.org", 2222));
        assert!(names(list, "git.acme", 22));
        assert!(names(list, "10.0.0.1", 22));
        assert!(names(list, "git.acme", 2222));
        assert!(!names(list, "git.acme", 2223));
        assert!(!names(list, "other.acme", 22));
        assert!(!names("", "git.acme", 22));
    }
}
