//! What Go calls the kind and the type of a value.

use std::rc::Rc;

use super::functions::Given;
use crate::template::evaluate::Evaluator;
use crate::template::fault::Fault;
use crate::template::go::functions::Native;
use crate::template::heap::Shape;
use crate::template::item::Item;
use crate::value::Value;

impl<'a> Evaluator<'a> {
    /// `kindOf`, `kindIs`, `typeOf`, `typeIs` and `typeIsLike`.
    pub(super) fn kinds(&mut self, given: &Given<'a, '_>) -> Result<Item<'a>, Fault> {
        let (wanted, item) = match given.native {
            Native::KindIs | Native::TypeIs => (Some(given.at(0)), given.at(1)),
            _ => (None, given.at(0)),
        };
        if let Item::Poison(poison) = &item {
            return Ok(Item::Poison(Rc::clone(poison)));
        }
        let (kind, name) = self.kind_and_type(&item);
        let name = if matches!(given.native, Native::KindOf | Native::KindIs) { kind } else { name };
        match wanted {
            None => Ok(Item::Data(Value::from(name))),
            Some(Item::Data(Value::Text(wanted))) => Ok(Item::Data(Value::Bool(&*wanted == name))),
            Some(other) => Err(self.wrong_type(&other, "text", given.span_of(0))),
        }
    }

    fn kind_and_type(&self, item: &Item<'a>) -> (&'static str, &'static str) {
        match item {
            Item::Unset | Item::Data(Value::Null) => ("invalid", "<nil>"),
            Item::Data(Value::Bool(_)) => ("bool", "bool"),
            Item::Data(Value::Int(_)) => ("int", "int"),
            Item::Wide(_) => ("int64", "int64"),
            Item::Data(Value::Float(_)) => ("float64", "float64"),
            Item::Data(Value::Text(_)) => ("string", "string"),
            Item::Data(Value::List(_)) | Item::Slice(_) => ("slice", "[]interface {}"),
            Item::Bytes(_) => ("slice", "[]uint8"),
            Item::ChartFiles(_) => ("map", "engine.files"),
            Item::Map(id) => match self.heap.map(*id).map_or(Shape::Map, |map| map.shape) {
                Shape::Map => ("map", "map[string]interface {}"),
                Shape::Values => ("map", "chartutil.Values"),
                Shape::Struct(name) => ("struct", name),
                Shape::Chart => ("struct", "struct { chart.Metadata; IsRoot bool }"),
                Shape::Versions => ("slice", "chartutil.VersionSet"),
                Shape::KubeVersion => ("struct", "chartutil.KubeVersion"),
                Shape::Semver => ("ptr", "*semver.Version"),
                Shape::Time => ("struct", "time.Time"),
                Shape::Capabilities => ("ptr", "*chartutil.Capabilities"),
            },
            _ => ("map", "map[string]interface {}"),
        }
    }
}
