//! Fields of maps and structs, and the few methods that Helm's objects have.

use std::rc::Rc;
use std::sync::Arc;

use super::statements::settled;
use crate::functions::to_yaml_exact;
use crate::suggest;
use crate::template::evaluate::Evaluator;
use crate::template::fault::{Fault, quoted};
use crate::template::heap::{MapId, Shape};
use crate::template::item::Item;
use crate::template::program::{Expression, Field, Kind, Span};
use crate::value::{Step, Value};

impl<'a> Evaluator<'a> {
    pub(in crate::template::evaluate) fn fields(&mut self, field: &Field, span: Span) -> Result<Item<'a>, Fault> {
        let mut item = self.evaluate(&field.root)?;
        if !matches!(field.root.kind, Kind::Slot(_)) {
            item = settled(item);
        }
        let mut parent_end = field.root.span.end;
        for (at, step) in field.steps.iter().enumerate() {
            // Fields of nil that nobody owns are nil.
            if matches!(item, Item::Unset) {
                return Ok(Item::Unset);
            }
            let here = Span { end: step.end, ..span };
            let is_last = at + 1 == field.steps.len();
            let arguments = if is_last { field.arguments.as_slice() } else { &[] };
            if let Some(result) = self.go_method(&item, &step.key, arguments, here)? {
                item = result;
            } else {
                if !arguments.is_empty() {
                    let message = format!("{} has arguments, but is no method", quoted(&self.program, here));
                    return Err(self.fault("template-type", here, message));
                }
                item = self.field(&item, &step.key, here, parent_end)?;
            }
            parent_end = step.end;
        }
        Ok(item)
    }

    fn field(&mut self, item: &Item<'a>, key: &str, span: Span, parent_end: u32) -> Result<Item<'a>, Fault> {
        match item {
            Item::Map(id) => match self.entry(*id, key, span)? {
                Some(found) if self.heap.map(*id).is_some_and(|map| map.shape == Shape::Chart) => {
                    Ok(self.of_chart(key, found))
                }
                Some(found) => Ok(found),
                None => self.no_field(*id, key, span),
            },
            Item::Poison(poison) => Ok(Item::Poison(Rc::clone(poison))),
            Item::Data(Value::Dict(dict)) => {
                let found = dict.get(key).cloned().unwrap_or(Value::Null);
                self.opened(found, span)
            }
            Item::Data(Value::Null) => {
                let parent = quoted(&self.program, Span { end: parent_end, ..span });
                let source = quoted(&self.program, span);
                let mut fault =
                    self.fault("undefined", span, format!("{source} is not set: {parent} is nil, which has no fields"));
                fault.help = Some(format!(
                    "set {parent} in the values; a template can write `({}).{key}`",
                    parent.trim_matches('`')
                ));
                Err(fault)
            }
            other => {
                let parent = quoted(&self.program, Span { end: parent_end, ..span });
                let message = format!("{parent} is {}, which has no field `{key}`", other.kind());
                Err(self.fault("template-type", span, message))
            }
        }
    }

    /// What a map gives for a key that it does not have.
    fn no_field(&mut self, id: MapId, key: &str, span: Span) -> Result<Item<'a>, Fault> {
        let Some(map) = self.heap.map(id) else { return Ok(Item::Data(Value::Null)) };
        match map.shape {
            Shape::Map | Shape::Values | Shape::Versions => Ok(Item::Data(Value::Null)),
            Shape::Capabilities if key == "KubeVersion" => {
                let message = format!("{} is not known of this runtime", quoted(&self.program, span));
                let mut fault = self.fault("undefined", span, message);
                fault.help = Some("write `capabilities: {kubernetesVersion: ..}` into the runtime's file".to_owned());
                Err(fault)
            }
            Shape::Capabilities
            | Shape::KubeVersion
            | Shape::Struct(_)
            | Shape::Chart
            | Shape::Semver
            | Shape::Time => {
                let near = suggest::nearest(key, map.contents.keys().iter().map(|key| &**key)).map(ToOwned::to_owned);
                let message = format!("{}: there is no field `{key}`", quoted(&self.program, span));
                let mut fault = self.fault("undefined", span, message);
                fault.help = near.map(|near| format!("did you mean `{near}`?"));
                Err(fault)
            }
        }
    }

    /// A method, if the item has one of that name.
    fn go_method(
        &mut self,
        item: &Item<'a>,
        name: &Arc<str>,
        arguments: &[Expression],
        span: Span,
    ) -> Result<Option<Item<'a>>, Fault> {
        // Methods of Go that others may call begin so.
        if !name.starts_with(|first: char| first.is_ascii_uppercase()) {
            return Ok(None);
        }
        match item {
            Item::ChartFiles(set) => {
                let set = Rc::clone(set);
                let mut given = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    let item = self.evaluate(argument)?;
                    given.push((item, argument.span));
                }
                self.chart_files_method(&set, name, &given, span)
            }
            Item::Map(id) => {
                let Some(map) = self.heap.map(*id) else { return Ok(None) };
                match (map.shape, &**name, arguments) {
                    (Shape::Versions, "Has", [wanted]) => {
                        let id = *id;
                        let wanted_item = self.evaluate(wanted)?;
                        let Ok(Value::Text(version)) = self.known(&wanted_item, wanted.span)? else {
                            return Err(self.fault("template-type", wanted.span, "`Has` takes a text"));
                        };
                        self.has_version(id, &version, span).map(|has| Some(Item::Data(Value::Bool(has))))
                    }
                    (Shape::KubeVersion, "String" | "GitVersion", []) => self.entry(*id, "Version", span),
                    (Shape::Semver, _, _) => self.version_method(*id, name, arguments, span),
                    (Shape::Time, _, _) => self.time_method(*id, name, arguments, span),
                    (Shape::Values, "AsMap", []) if !map.contents.contains_key(name) => Ok(Some(Item::Map(*id))),
                    (Shape::Values, "YAML", []) if !map.contents.contains_key(name) => {
                        self.values_as_yaml(*id, span).map(Some)
                    }
                    (Shape::Values, "Table" | "PathValue", [path]) => {
                        let (id, is_table) = (*id, &**name == "Table");
                        let given = self.evaluate(path)?;
                        let Ok(Value::Text(keys)) = self.known(&given, path.span)? else {
                            return Err(self.fault("template-type", path.span, format!("`{name}` takes a text")));
                        };
                        self.value_at_path(id, &keys, is_table, span).map(Some)
                    }
                    _ => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }

    /// What is at a path of keys with dots between them: a map for `Table`, anything else for `PathValue`.
    fn value_at_path(&mut self, id: MapId, keys: &str, is_table: bool, span: Span) -> Result<Item<'a>, Fault> {
        let mut found = Some(Item::Map(id));
        for key in keys.split('.') {
            found = match found {
                Some(Item::Map(id)) => self.entry(id, key, span)?,
                _ => None,
            };
        }
        match found {
            Some(item) if matches!(item, Item::Map(_)) == is_table => Ok(item),
            _ => Err(self.fault("undefined", span, format!("there is no `{keys}` in the values"))),
        }
    }

    fn values_as_yaml(&mut self, id: MapId, span: Span) -> Result<Item<'a>, Fault> {
        match self.known(&Item::Map(id), span)? {
            Ok(value) => match to_yaml_exact(self.budget, &value) {
                Ok(Value::Text(text)) => Ok(Item::Data(Value::from(format!("{text}\n")))),
                Ok(other) => Ok(Item::Data(other)),
                Err(failure) => Err(self.failure(span, Some("YAML"), &failure)),
            },
            Err(poison) => Ok(Item::Poison(poison)),
        }
    }

    /// Whether the cluster serves a group, version or kind: a fact of its own.
    fn has_version(&mut self, id: MapId, version: &str, span: Span) -> Result<bool, Fault> {
        self.pay(version.len() as u64 + 160, span)?;
        let Some(map) = self.heap.map(id) else { return Ok(false) };
        let has = map.contents.contains_key(version);
        if let Some(origin) = &map.origin {
            let mut path = origin.path.clone();
            path.push(Step::Key(version.into()));
            origin.facts.record(&path, has.then_some(&Value::Bool(true)));
        }
        Ok(has)
    }
}
