//! When two URLs name one repository.

/// What is the same in all URLs of a repository: host and path, without scheme, account, port and `.git`.
pub(super) fn place(url: &str) -> String {
    let (host, path) = match url.split_once("://") {
        Some(("file", path)) => ("", path),
        Some((_, rest)) => {
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            (host.split_once(':').map_or(host, |(host, _)| host), path)
        }
        // `git@example.com:team/fleet.git`
        None => match url.split_once(':').filter(|(host, _)| !host.contains('/')) {
            Some((host, path)) => (host.rsplit_once('@').map_or(host, |(_, host)| host), path),
            None => ("", url),
        },
    };
    let path = path.trim_matches('/');
    let path = path.strip_suffix("/.git").or_else(|| path.strip_suffix(".git")).unwrap_or(path);
    format!("{}/{}", host.to_lowercase(), path.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn a_repository_is_known_by_each_of_its_urls() {
        for url in [
            "https://example.com/team/fleet.git",
            "https://token@Example.com:8443/team/fleet/",
            "ssh://git@example.com:22/team/fleet",
            "git@example.com:team/fleet.git",
        ] {
            assert_eq!(place(url), "example.com/team/fleet", "{url}");
        }
        for url in ["file:///srv/fleet.git", "/srv/fleet", "/srv/fleet/.git/"] {
            assert_eq!(place(url), "/srv/fleet", "{url}");
        }
        assert_ne!(place("https://example.com/team/fleet"), place("https://example.com/other/fleet"));
    }
}
