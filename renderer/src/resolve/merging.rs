//! Putting the values of a component together: by our own rules, or by Helm's for a chart in Helm's shape.

use std::sync::Arc;

use super::{Resolving, SourceKind, ValuesSource};
use crate::diagnostic::Diagnostic;
use crate::fleet::helm::{self, Enabled, HelmChart};
use crate::fleet::{Chart, Component};
use crate::value::{self, Dict};

impl Resolving<'_> {
    pub(super) fn merged(
        &mut self,
        chart: &Chart,
        sources: &[ValuesSource],
        first: &Component,
    ) -> Option<(Dict, Option<Arc<Enabled>>)> {
        if let Some(helm) = &chart.helm {
            return self.merged_as_helm(helm, sources, first);
        }
        let decoded = &mut self.decoded;
        let mut layers = sources.iter();
        let base = match layers.as_slice().first() {
            Some(ValuesSource { kind: SourceKind::Chart, values }) => {
                layers.next();
                values.dict()
            }
            _ => Dict::default(),
        };
        match layers.try_fold(base, |merged, source| value::merge(&merged, &source.values.dict_of(decoded))) {
            Ok(merged) => Some((merged, None)),
            Err(deep) => {
                self.findings
                    .push(Diagnostic::error("yaml-limit", format!("the values are {deep}")).at(first.location()));
                None
            }
        }
    }

    /// Files over files, and the result over the defaults of the chart and those below it, as Helm has it.
    fn merged_as_helm(
        &mut self,
        chart: &Arc<HelmChart>,
        sources: &[ValuesSource],
        first: &Component,
    ) -> Option<(Dict, Option<Arc<Enabled>>)> {
        let decoded = &mut self.decoded;
        let mut given = sources.iter().filter(|source| source.kind != SourceKind::Chart);
        let given =
            given.try_fold(Dict::default(), |given, source| helm::merge_files(&given, &source.values.dict_of(decoded)));
        let resolved = given.map_err(Into::into).and_then(|given| helm::resolve(chart, &given));
        match resolved {
            Ok((enabled, values)) => Some((values, Some(Arc::new(enabled)))),
            Err(error) => {
                self.findings.push(Diagnostic::error("helm-values", error.to_string()).at(first.location()));
                None
            }
        }
    }
}
