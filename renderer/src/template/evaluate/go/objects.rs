//! Versions and times: structs of Go that print as text and have methods.

use std::collections::BTreeMap;
use std::sync::Arc;

use reeve_renderer_objects::version::Version;

use super::chart::{NEEDED, PERSON, encoded};
use super::data::Known;
use crate::functions::times::{self, Answer};
use crate::template::evaluate::Evaluator;
use crate::template::fault::Fault;
use crate::template::go::functions::Form;
use crate::template::heap::{MapId, Shape};
use crate::template::item::Item;
use crate::template::program::{Expression, Span};
use crate::value::Value;

/// Under which a time has its text in the form of RFC 3339: no field of Go's is called so.
const TIME: &str = "time";

impl<'a> Evaluator<'a> {
    /// A version as `semver` gives it.
    pub(super) fn version_item(&mut self, version: &Value) -> Item<'a> {
        let Value::Dict(dict) = version else { return Item::Data(version.clone()) };
        let fields = dict.entries().iter().map(|(key, value)| (Arc::clone(key), Item::Data(value.clone())));
        Item::Map(self.heap.add_shaped(fields.collect(), Shape::Semver))
    }

    /// A time as `toDate` gives it.
    pub(super) fn time_item(&mut self, time: Value) -> Item<'a> {
        let fields = BTreeMap::from([(Arc::from(TIME), Item::Data(time))]);
        Item::Map(self.heap.add_shaped(fields, Shape::Time))
    }

    /// A struct that prints as text, as data.
    pub(super) fn struct_as_data(&self, id: MapId, form: Form) -> Option<Known> {
        let map = self.heap.map(id)?;
        let text = |key: &str| match map.contents.get(key) {
            Some(Item::Data(Value::Text(text))) => text,
            _ => "".into(),
        };
        let value = match (map.shape, form) {
            (Shape::Semver, _) => Value::Text(text("String")),
            (Shape::Time, Form::Encoded) => Value::Text(text(TIME)),
            (Shape::Time, Form::Printed) => Value::from(times::printed(&text(TIME))?),
            (Shape::Chart, _) => return self.chart_as_data(id, form),
            (Shape::Struct(PERSON | NEEDED), Form::Encoded) => encoded(map.contents.data()?),
            (Shape::KubeVersion, Form::Printed) => {
                Value::from(format!("{{{} {} {}}}", text("Version"), text("Major"), text("Minor")))
            }
            _ => return None,
        };
        Some(Ok(value))
    }

    /// A method of a version.
    pub(super) fn version_method(
        &mut self,
        id: MapId,
        name: &str,
        arguments: &[Expression],
        span: Span,
    ) -> Result<Option<Item<'a>>, Fault> {
        let Some(one) = self.version_text(&Item::Map(id)) else { return Ok(None) };
        let Some(version) = Version::parse(&one) else { return Ok(None) };
        let changed = match (name, arguments) {
            ("Compare" | "Equal" | "GreaterThan" | "LessThan", [other]) => {
                return self.compared_versions(&version, name, other, span).map(Some);
            }
            ("IncMajor", []) => format!("{}.0.0", version.major.saturating_add(1)),
            ("IncMinor", []) => format!("{}.{}.0", version.major, version.minor.saturating_add(1)),
            ("IncPatch", []) => {
                let patch = version.patch.saturating_add(u64::from(version.prerelease.is_empty()));
                format!("{}.{}.{patch}", version.major, version.minor)
            }
            ("SetPrerelease" | "SetMetadata", [part]) => {
                let item = self.evaluate(part)?;
                let Ok(Value::Text(part)) = self.known(&item, part.span)? else {
                    return Err(self.fault("template-type", part.span, format!("`{name}` takes a text")));
                };
                let changed = match name {
                    "SetMetadata" => Version { metadata: &part, ..version },
                    _ => Version { prerelease: &part, ..version },
                };
                changed.to_string()
            }
            _ => return Ok(None),
        };
        let Some(semver) = crate::functions::find("semver") else { return Ok(None) };
        match (semver.call)(self.budget, &[Value::from(changed)]) {
            Ok(version) => Ok(Some(self.version_item(&version))),
            Err(failure) => Err(self.failure(span, Some(name), &failure)),
        }
    }

    fn version_text(&self, item: &Item<'a>) -> Option<Arc<str>> {
        let Item::Map(id) = item else { return None };
        let map = self.heap.map(*id).filter(|map| map.shape == Shape::Semver)?;
        match map.contents.get("Original") {
            Some(Item::Data(Value::Text(text))) => Some(text),
            _ => None,
        }
    }

    fn compared_versions(
        &mut self,
        one: &Version<'_>,
        method: &str,
        other: &Expression,
        span: Span,
    ) -> Result<Item<'a>, Fault> {
        let other = self.evaluate(other)?;
        let text = self.version_text(&other);
        let Some(other) = text.as_deref().and_then(Version::parse) else {
            return Err(self.fault("template-type", span, format!("`{method}` compares what `semver` gives")));
        };
        let order = one.compare(&other);
        Ok(Item::Data(match method {
            "Compare" => Value::Int(order as i64),
            "Equal" => Value::Bool(order.is_eq()),
            "GreaterThan" => Value::Bool(order.is_gt()),
            _ => Value::Bool(order.is_lt()),
        }))
    }

    /// A method of a time.
    pub(super) fn time_method(
        &mut self,
        id: MapId,
        name: &str,
        arguments: &[Expression],
        span: Span,
    ) -> Result<Option<Item<'a>>, Fault> {
        let Some(Item::Data(Value::Text(time))) = self.heap.map(id).and_then(|map| map.contents.get(TIME)) else {
            return Ok(None);
        };
        let mut given = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let item = self.evaluate(argument)?;
            match self.known_as(&item, argument.span, Form::Encoded)? {
                Ok(value) => given.push(value),
                Err(poison) => return Ok(Some(Item::Poison(poison))),
            }
        }
        match times::method(self.budget, &time, name, &given) {
            None => Ok(None),
            Some(Ok(Answer::Time(time))) => Ok(Some(self.time_item(time))),
            Some(Ok(Answer::Value(value))) => Ok(Some(Item::Data(value))),
            Some(Err(failure)) => Err(self.failure(span, Some(name), &failure)),
        }
    }

    /// What has neither items nor a length, being a struct.
    pub(super) fn not_a_struct(&self, item: &Item<'a>, wanted: &str, span: Span) -> Result<(), Fault> {
        match item {
            Item::Map(id) if self.heap.map(*id).is_some_and(|map| map.shape.is_struct()) => {
                Err(self.wrong_type(item, wanted, span))
            }
            _ => Ok(()),
        }
    }
}
