//! `.Files`: the files of one chart, with Helm's rules: a file that is not there is empty.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::failure::Failure;
use crate::functions;
use crate::template::evaluate::Evaluator;
use crate::template::evaluate::files::base64;
use crate::template::fault::Fault;
use crate::template::glob;
use crate::template::item::{FileSet, Item};
use crate::template::operators::NODE;
use crate::template::program::Span;
use crate::value::Value;

impl FileSet<'_> {
    /// The paths of the files in hand.
    pub(super) fn paths(&self) -> Vec<Arc<str>> {
        self.selected.clone().unwrap_or_else(|| self.files.paths())
    }
}

impl<'a> Evaluator<'a> {
    /// The content of a file; nothing if there is none.
    pub(super) fn chart_file(&mut self, set: &FileSet<'a>, path: &str, span: Span) -> Result<Item<'a>, Fault> {
        let is_selected = set.selected.as_ref().is_none_or(|selected| selected.iter().any(|known| &**known == path));
        let Some(bytes) = set.files.get(path).filter(|_| is_selected) else { return Ok(Item::Data(Value::from(""))) };
        self.pay(bytes.len() as u64, span)?;
        Ok(match std::str::from_utf8(&bytes) {
            Ok(text) => Item::Data(Value::from(text)),
            Err(_) => Item::Bytes(bytes),
        })
    }

    pub(super) fn chart_files_method(
        &mut self,
        set: &FileSet<'a>,
        name: &str,
        given: &[(Item<'a>, Span)],
        span: Span,
    ) -> Result<Option<Item<'a>>, Fault> {
        let argument = match given {
            [(Item::Data(Value::Text(text)), _)] => Some(Arc::clone(text)),
            _ => None,
        };
        match (name, argument, given.len()) {
            ("Get" | "GetBytes", Some(path), _) => self.chart_file(set, &path, span).map(Some),
            ("Lines", Some(path), _) => {
                let Item::Data(Value::Text(text)) = self.chart_file(set, &path, span)? else {
                    return Err(self.fault("file-binary", span, format!("the file `{path}` is no text")));
                };
                self.pay(text.lines().count() as u64 * NODE + text.len() as u64, span)?;
                if text.is_empty() {
                    return Ok(Some(Item::Data(Value::empty_list())));
                }
                let lines = text.strip_suffix('\n').unwrap_or(&text).split('\n').map(Value::from).collect();
                let lines = Value::list(lines).map_err(|deep| self.failure(span, None, &Failure::from(deep)))?;
                Ok(Some(Item::Data(lines)))
            }
            ("Glob", Some(pattern), _) => {
                let paths = set.paths();
                let cost = paths.iter().fold(1000 + pattern.len() as u64 * 16, |cost, path| cost + path.len() as u64);
                self.budget.steps(cost).map_err(|exceeded| self.exceeded(span, exceeded))?;
                // As in Helm: a pattern that cannot be read means all files.
                let selected = glob::select(&pattern, &paths).unwrap_or(paths);
                Ok(Some(Item::ChartFiles(Rc::new(FileSet { files: set.files, selected: Some(selected) }))))
            }
            ("AsConfig", _, 0) => self.chart_files_yaml(set, false, span).map(Some),
            ("AsSecrets", _, 0) => self.chart_files_yaml(set, true, span).map(Some),
            ("Get" | "GetBytes" | "Lines" | "Glob" | "AsConfig" | "AsSecrets", ..) => {
                Err(self.fault("function-arguments", span, format!("`{name}` is given the wrong arguments")))
            }
            _ if given.is_empty() => self.chart_file(set, name, span).map(Some),
            _ => Ok(None),
        }
    }

    /// `AsConfig` and `AsSecrets`: YAML of the files by their name without folder.
    fn chart_files_yaml(&mut self, set: &FileSet<'a>, encode: bool, span: Span) -> Result<Item<'a>, Fault> {
        let mut entries: BTreeMap<Arc<str>, Value> = BTreeMap::new();
        for path in set.paths() {
            self.step(span)?;
            let name = path.rsplit('/').next().unwrap_or(&path);
            let text = match self.chart_file(set, &path, span)? {
                Item::Bytes(bytes) if encode => {
                    self.pay(bytes.len() as u64 * 2, span)?;
                    Value::from(base64(&bytes))
                }
                Item::Data(Value::Text(text)) if encode => {
                    self.pay(text.len() as u64 * 2, span)?;
                    Value::from(base64(text.as_bytes()))
                }
                Item::Data(text) => text,
                _ => return Err(self.fault("file-binary", span, format!("the file `{path}` is no text"))),
            };
            entries.insert(name.into(), text);
        }
        let map = Value::dict(entries.into()).map_err(|deep| self.failure(span, None, &Failure::from(deep)))?;
        let Some(entry) = functions::find("toYaml") else { return Ok(Item::Unset) };
        (entry.call)(self.budget, &[map])
            .map(Item::Data)
            .map_err(|failure| self.failure(span, Some(entry.name), &failure))
    }
}
