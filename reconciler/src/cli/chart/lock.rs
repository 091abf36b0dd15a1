//! What is written down of an imported chart, beside it: where it came from, and what exactly it was.

use std::fmt;

use reeve_renderer::value::Value;
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
}

impl Lock {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let options = Options { dialect: Dialect::Helm, nodes: 100 };
        let documents = yaml::values(text, &options, &mut Interner::default()).ok()?;
        let value = &documents.first()?.value;
        let text = |key: &str| value.get(key).and_then(Value::as_text).map(str::to_owned);
        Some(Self { origin: text("origin")?, chart: text("chart"), version: text("version")?, digest: text("digest")? })
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
        writeln!(f, "version: {}\ndigest: {}", quoted(&self.version), quoted(&self.digest))
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
