//! A page of metrics, read.

use std::collections::BTreeMap;

/// The samples of a scrape.
#[derive(Debug)]
pub(crate) struct Page(Vec<Sample>);

#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) value: f64,
}

impl Page {
    /// Panics if it is not in the form in which metrics are exchanged.
    pub(crate) fn read(text: &str) -> Self {
        assert!(text.ends_with("# EOF\n"), "{text}");
        Self(text.lines().filter(|line| !line.starts_with('#')).map(Sample::read).collect())
    }

    pub(crate) fn samples(&self) -> &[Sample] {
        &self.0
    }

    /// The value of the one sample with this name and these labels.
    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let is_so = |sample: &&Sample| labels.iter().all(|(label, value)| sample.has(label, value));
        self.named(name).find(is_so).map(|sample| sample.value)
    }

    pub(crate) fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Sample> {
        self.0.iter().filter(move |sample| sample.name == name)
    }
}

impl Sample {
    fn read(line: &str) -> Self {
        let (series, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) =
            series.split_once('{').map_or((series, ""), |(name, rest)| (name, &rest[..rest.len() - 1]));
        let labels = labels.split("\",").filter(|label| !label.is_empty()).map(|label| {
            let (name, value) = label.split_once("=\"").unwrap();
            (name.to_owned(), value.trim_end_matches('"').to_owned())
        });
        Self { name: name.to_owned(), labels: labels.collect(), value: value.parse().unwrap() }
    }

    pub(crate) fn has(&self, label: &str, value: &str) -> bool {
        self.labels.get(label).is_some_and(|found| found == value)
    }
}
