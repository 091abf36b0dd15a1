//! What is written down of an imported chart, beside it: where it came from, and what exactly it was.

use std::fmt;

use reeve_renderer::value::{Digest, Value};
use reeve_renderer::yaml::{self, Dialect, Interner, Options};

/// `charts/<chart>/<version>.lock`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lock {
    /// The folder, archive, registry or repository.
    pub(super) origin: String,
    /// What the chart is called there, if the origin has many.
    pub(super) chart: Option<String>,
    /// The version as it is called there.
    pub(super) version: String,
    /// The SHA-256 of the archive; of the files, if there was none.
    pub(super) digest: String,
    /// The digest of the files as they were written here, if it was noted: a change by hand is told by it.
    pub(super) files: Option<String>,
}

/// The digest of files with their paths, in whatever order.
pub(super) fn contents<B: AsRef<[u8]>>(files: &[(String, B)]) -> String {
    let mut sorted: Vec<(&[u8], &[u8])> =
        files.iter().map(|(name, content)| (name.as_bytes(), content.as_ref())).collect();
    sorted.sort_unstable();
    Digest::of_parts(sorted.into_iter().flat_map(|(name, content)| [name, content])).to_string()
}

impl Lock {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let options = Options { dialect: Dialect::Helm, nodes: 100 };
        let documents = yaml::values(text, &options, &mut Interner::default()).ok()?;
        let value = &documents.first()?.value;
        let text = |key: &str| value.get(key).and_then(Value::as_text).map(str::to_owned);
        Some(Self {
            origin: text("origin")?,
            chart: text("chart"),
            version: text("version")?,
            digest: text("digest")?,
            files: text("files"),
        })
    }
}

impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        writeln!(f, "# Where this chart came from. Written by `reeve chart import`, read by `reeve chart update`.")?;
        writeln!(f, "origin: {}", quoted(&self.origin))?;
        if let Some(chart) = &self.chart {
            writeln!(f, "chart: {}", quoted(chart))?;
        }
        writeln!(f, "version: {}\ndigest: {}", quoted(&self.version), quoted(&self.digest))?;
        self.files.iter().try_for_each(|files| writeln!(f, "files: {}", quoted(files)))
    }
}

#[cfg(test)]
mod tests {
    use super::Lock;

    #[test]
    fn what_is_written_is_read_again() {
        for chart in [None, Some("web".to_owned())] {
            let lock = Lock {
                origin: "https://host/a \"b\"".into(),
                files: chart.clone(),
                chart,
                version: "1.10".into(),
                digest: "sha256:ab".into(),
            };
            assert_eq!(Lock::parse(&lock.to_string()), Some(lock));
        }
        assert_eq!(Lock::parse("origin: x\n"), None);
        assert_eq!(Lock::parse("{"), None);
    }
}
