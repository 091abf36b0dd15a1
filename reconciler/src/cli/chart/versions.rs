//! Which version of a chart is meant, and which archive of a Helm repository it is.

use reeve_renderer::value::Value;
use reeve_renderer::yaml::{self, Dialect, Interner, Options};
use reeve_renderer_objects::version::{Range, Version};
use std::cmp::Ordering;

/// Values in one index: those of the largest public repositories, many times.
const NODES: u64 = 20_000_000;

/// The newest of these that fits: the one of that name, the newest in a range, or the newest release.
pub(super) fn choose<'v, T>(wanted: Option<&str>, all: impl IntoIterator<Item = (&'v str, T)>) -> Option<(&'v str, T)> {
    let all: Vec<(&str, T)> = all.into_iter().collect();
    if let Some(at) = wanted.and_then(|wanted| all.iter().position(|(version, _)| *version == wanted)) {
        return all.into_iter().nth(at);
    }
    let range = match wanted {
        Some(wanted) => Some(Range::parse(wanted)?),
        None => None,
    };
    let fits = |version: &Version<'_>| match &range {
        Some(range) => range.admits(version),
        None => version.prerelease.is_empty(),
    };
    let mut best: Option<(&'v str, T)> = None;
    for (text, item) in all {
        let Some(version) = Version::parse(text).filter(&fits) else { continue };
        let is_newer = best
            .as_ref()
            .and_then(|(best, _)| Version::parse(best))
            .is_none_or(|best| version.compare(&best) == Ordering::Greater);
        if is_newer {
            best = Some((text, item));
        }
    }
    best
}

/// A version in the index of a Helm repository.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) version: String,
    /// Where its archive is, perhaps relative to the repository.
    pub(super) url: String,
    /// The SHA-256 of its archive, if the index says.
    pub(super) digest: Option<String>,
}

/// What an index says of one chart: its versions; nothing if it does not know it.
pub(super) fn listed(index: &str, name: &str) -> Result<Option<Vec<Listed>>, String> {
    let options = Options { dialect: Dialect::Helm, nodes: NODES };
    let documents = yaml::values(index, &options, &mut Interner::default())
        .map_err(|problems| problems.first().map(|problem| problem.message.clone()).unwrap_or_default())?;
    let Some(entries) = documents.first().and_then(|index| index.value.get("entries")) else {
        return Err("it has no `entries`: this is no index of a Helm repository".to_owned());
    };
    let Some(Value::List(versions)) = entries.get(name) else { return Ok(None) };
    let read = |entry: &Value| {
        let text = |key: &str| entry.get(key).and_then(Value::as_text).map(str::to_owned);
        let url = entry.get("urls")?.as_list()?.items().first()?.as_text()?.to_owned();
        let digest = match entry.get("digest") {
            None | Some(Value::Null) => None,
            Some(Value::Text(digest)) => Some(digest.to_string()).filter(|digest| !digest.is_empty()),
            // No digest at all, and surely not that of the archive.
            Some(other) => Some(other.kind().to_owned()),
        };
        Some(Listed { version: text("version")?, url, digest })
    };
    Ok(Some(versions.items().iter().filter_map(read).collect()))
}

#[cfg(test)]
mod tests {
    use super::{Listed, choose, listed};

    #[test]
    fn the_newest_release_is_meant_unless_somebody_says_otherwise() {
        let all = ["1.2.0", "2.0.0-rc.1", "1.10.0", "not-a-version", "v1.9.0"];
        let choose = |wanted| choose(wanted, all.map(|version| (version, ()))).map(|(version, ())| version);
        assert_eq!(choose(None), Some("1.10.0"));
        assert_eq!(choose(Some("1.2.0")), Some("1.2.0"));
        assert_eq!(choose(Some("2.0.0-rc.1")), Some("2.0.0-rc.1"));
        assert_eq!(choose(Some("~1.9")), Some("v1.9.0"));
        assert_eq!(choose(Some(">=2.0.0-0")), Some("2.0.0-rc.1"));
        assert_eq!(choose(Some("^3")), None);
        assert_eq!(choose(Some("???")), None);
    }

    #[test]
    fn an_index_lists_the_archives_of_a_chart() {
        let index = "apiVersion: v1\nentries:\n  web:\n  - version: 1.0.0\n    urls: [web-1.0.0.tgz]\n    digest: ab\n  - version: 0.9.0\n    urls: [https://else/web.tgz]\n";
        let of = |version: &str, url: &str, digest: Option<&str>| Listed {
            version: version.to_owned(),
            url: url.to_owned(),
            digest: digest.map(str::to_owned),
        };
        let found = listed(index, "web").unwrap().unwrap();
        assert_eq!(found, [of("1.0.0", "web-1.0.0.tgz", Some("ab")), of("0.9.0", "https://else/web.tgz", None)]);
        assert_eq!(listed(index, "other"), Ok(None));
        assert!(listed("a: b\n", "web").is_err());
        assert!(listed("a: [\n", "web").is_err());
    }
}
