//! `Files`: the files of the chart, as Helm shows them. Only those the chart was handed; no path leads elsewhere.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use data_encoding::BASE64;

use super::Evaluator;
use super::calls::Arguments;
use crate::failure::Failure;
use crate::functions;
use crate::suggest;
use crate::template::fault::Fault;
use crate::template::glob;
use crate::template::item::Item;
use crate::template::operators::NODE;
use crate::template::program::Span;
use crate::template::scope::ChartFiles;
use crate::value::Value;

const METHODS: &[&str] = &["Get", "GetBytes", "Lines", "Glob", "AsConfig", "AsSecrets"];

impl<'a> Evaluator<'a> {
    pub(super) fn files_method(
        &mut self,
        selected: Option<&Vec<Arc<str>>>,
        name: &str,
        arguments: Arguments<'a>,
        span: Span,
    ) -> Result<Item<'a>, Fault> {
        let (values, _) = self.values(arguments, false)?;
        let method = METHODS.iter().find(|method| method.eq_ignore_ascii_case(name)).copied();
        match (method, values.as_slice()) {
            (Some("Get" | "GetBytes"), [Value::Text(path)]) => {
                let text = self.file_text(selected, path, span)?;
                Ok(Item::Data(Value::from(text)))
            }
            (Some("Lines"), [Value::Text(path)]) => {
                let text = self.file_text(selected, path, span)?;
                self.pay(text.lines().count() as u64 * NODE + text.len() as u64, span)?;
                let lines = text.strip_suffix('\n').unwrap_or(&text).split('\n').map(Value::from).collect();
                self.made(Value::list(lines), span)
            }
            (Some("Glob"), [Value::Text(pattern)]) => {
                let paths = self.paths(selected);
                // Most of the cost is making the matcher.
                let cost = paths.iter().fold(1000 + pattern.len() as u64 * 16, |cost, path| cost + path.len() as u64);
                self.budget.steps(cost).map_err(|exceeded| self.exceeded(span, exceeded))?;
                let matched = glob::select(pattern, &paths)
                    .map_err(|message| self.failure(span, Some("Glob"), &Failure::Argument(message)))?;
                Ok(Item::Files(Some(Rc::new(matched))))
            }
            (Some("AsConfig"), []) => self.as_map(selected, false, span),
            (Some("AsSecrets"), []) => self.as_map(selected, true, span),
            (Some(method), _) => {
                Err(self.fault("function-arguments", span, format!("`{method}` is given the wrong arguments")))
            }
            (None, _) if matches!(name, "items" | "keys" | "values") => {
                let map = self.files_as_map(selected, span)?;
                let given = crate::template::jinja::Given { budget: self.budget, values: &[], named: &[] };
                crate::template::jinja::methods::call(&map, name, &given)
                    .map(Item::Data)
                    .map_err(|failure| self.failure(span, Some(name), &failure))
            }
            (None, _) => {
                let mut fault = self.fault("undefined", span, format!("`Files` has no `{name}`"));
                let near = suggest::nearest(name, METHODS.iter().copied());
                fault.help = near.map(|name| format!("did you mean `{name}`?"));
                Err(fault)
            }
        }
    }

    fn made(&self, value: Result<Value, crate::value::TooDeep>, span: Span) -> Result<Item<'a>, Fault> {
        value.map(Item::Data).map_err(|deep| self.failure(span, None, &Failure::from(deep)))
    }

    fn paths(&self, selected: Option<&Vec<Arc<str>>>) -> Vec<Arc<str>> {
        match selected {
            Some(paths) => paths.clone(),
            None => self.scope.chart_files().map(ChartFiles::paths).unwrap_or_default(),
        }
    }

    fn file(&self, path: &str, span: Span) -> Result<Arc<[u8]>, Fault> {
        let found = self.scope.chart_files().and_then(|files| files.get(path));
        let Some(bytes) = found else {
            let mut fault = self.fault("file-missing", span, format!("the chart has no file `{path}`"));
            let paths = self.paths(None);
            let near = suggest::nearest(path, paths.iter().map(|path| &**path));
            fault.help = near.map(|path| format!("did you mean `{path}`?"));
            return Err(fault);
        };
        self.pay(bytes.len() as u64, span)?;
        Ok(bytes)
    }

    fn file_text(&self, selected: Option<&Vec<Arc<str>>>, path: &str, span: Span) -> Result<String, Fault> {
        if selected.is_some_and(|paths| !paths.iter().any(|known| &**known == path)) {
            return Err(self.fault("file-missing", span, format!("the files selected do not contain `{path}`")));
        }
        let bytes = self.file(path, span)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| {
            let mut fault = self.fault("file-binary", span, format!("the file `{path}` is no text"));
            fault.help = Some("use `Files.Glob(..).AsSecrets()`, which encodes it".to_owned());
            fault
        })
    }

    /// The text of the files by their path, or their bytes encoded.
    pub(super) fn files_as_map(&mut self, selected: Option<&Vec<Arc<str>>>, span: Span) -> Result<Value, Fault> {
        let mut entries = BTreeMap::new();
        for path in self.paths(selected) {
            self.step(span)?;
            let text = self.file_text(None, &path, span)?;
            entries.insert(path, Value::from(text));
        }
        Value::dict(entries.into()).map_err(|deep| self.failure(span, None, &Failure::from(deep)))
    }

    /// `AsConfig` and `AsSecrets`: YAML of the files by their name without folder.
    fn as_map(&mut self, selected: Option<&Vec<Arc<str>>>, encode: bool, span: Span) -> Result<Item<'a>, Fault> {
        let mut entries: BTreeMap<Arc<str>, Value> = BTreeMap::new();
        for path in self.paths(selected) {
            self.step(span)?;
            let name = path.rsplit('/').next().unwrap_or(&path);
            let text = if encode {
                let bytes = self.file(&path, span)?;
                self.pay(bytes.len() as u64 * 2, span)?;
                base64(&bytes)
            } else {
                self.file_text(None, &path, span)?
            };
            entries.insert(name.into(), Value::from(text));
        }
        if entries.is_empty() {
            return Ok(Item::Data(Value::from("")));
        }
        let map = Value::dict(entries.into()).map_err(|deep| self.failure(span, None, &Failure::from(deep)))?;
        let Some(entry) = functions::find("toYaml") else {
            return Err(self.fault("function-failed", span, "`toYaml` is needed to write files"));
        };
        (entry.call)(self.budget, &[map])
            .map(Item::Data)
            .map_err(|failure| self.failure(span, Some(entry.name), &failure))
    }
}

pub(super) fn base64(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn bytes_are_encoded_with_padding() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
