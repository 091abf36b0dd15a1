//! Calls: of the library, of Jinja's functions, of macros, loops and methods.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use super::Evaluator;
use crate::failure::Failure;
use crate::functions::{self, Entry};
use crate::template::builtins::{Builtin, Special};
use crate::template::fault::{Fault, quoted};
use crate::template::item::Item;
use crate::template::jinja::{self, Given, methods};
use crate::template::operators::NODE;
use crate::template::program::{Argument, Call, Callee, Expression, Kind, Span, Variable};
use crate::template::syntax::{expected, fits};
use crate::value::Value;

/// The arguments of a call.
#[derive(Default)]
pub(super) struct Arguments<'a> {
    pub items: Vec<(Item<'a>, Span)>,
    pub named: Vec<(Arc<str>, Item<'a>, Span)>,
}

impl<'a> Evaluator<'a> {
    pub(super) fn call(&mut self, call: &Call, span: Span, body: Option<Item<'a>>) -> Result<Item<'a>, Fault> {
        match &call.callee {
            Callee::Builtin(Builtin::Library(entry)) if call.plain => self.library(entry, &call.arguments, span),
            Callee::Builtin(Builtin::Jinja(function)) if call.plain => {
                let base = self.plain(&call.arguments, false)?;
                let result = self.jinja(function, self.arguments.get(base..).unwrap_or_default(), &[], span);
                self.arguments.truncate(base);
                result.map(Item::Data)
            }
            Callee::Builtin(builtin) => self.builtin(*builtin, call, span),
            Callee::Variable(variable, builtin) => self.call_variable(variable, *builtin, call, span, body),
            Callee::Method(subject, name) => self.method(subject, name, call, span, body),
        }
    }

    /// `call` with a body: the result is written out.
    pub(super) fn call_with_body(&mut self, expression: &Expression, body: Item<'a>) -> Result<(), Fault> {
        let Kind::Call(call) = &expression.kind else { return Ok(()) };
        self.deeper(expression.span)?;
        let item = self.call(call, expression.span, Some(body))?;
        self.nesting -= 1;
        let value = self.data(item, expression.span)?;
        match value {
            Value::Text(text) => self.write(&text, expression.span),
            other => {
                let message = format!("{} is {}, not text", quoted(&self.program, expression.span), other.kind());
                Err(self.fault("template-type", expression.span, message))
            }
        }
    }

    /// The usual case: plain arguments for a function of the library, without an allocation for them.
    fn library(&mut self, entry: &'static Entry, arguments: &[Argument], span: Span) -> Result<Item<'a>, Fault> {
        let base = self.plain(arguments, entry.lenient)?;
        let result = (entry.call)(self.budget, self.arguments.get(base..).unwrap_or_default());
        self.arguments.truncate(base);
        result.map(Item::Data).map_err(|failure| self.failure(span, Some(entry.name), &failure))
    }

    /// Puts plain arguments on the stack of arguments; gives back where they begin.
    fn plain(&mut self, arguments: &[Argument], lenient: bool) -> Result<usize, Fault> {
        let base = self.arguments.len();
        for argument in arguments {
            let expression = argument.expression();
            let item = self.evaluate(expression)?;
            let value = self.argument(item, expression.span, lenient)?;
            self.arguments.push(value);
        }
        Ok(base)
    }

    pub(super) fn argument(&mut self, item: Item<'a>, span: Span, lenient: bool) -> Result<Value, Fault> {
        match item {
            Item::Data(value) => Ok(value),
            Item::Missing(_) if lenient => Ok(Value::Null),
            Item::Namespace(namespace) => self.namespace_data(&namespace, span),
            other => self.data(other, span),
        }
    }

    fn namespace_data(&self, namespace: &RefCell<BTreeMap<Arc<str>, Value>>, span: Span) -> Result<Value, Fault> {
        let entries = namespace.borrow();
        self.pay(entries.len() as u64 * NODE * 2, span)?;
        Value::dict(entries.clone().into()).map_err(|deep| self.failure(span, None, &Failure::from(deep)))
    }

    fn builtin(&mut self, builtin: Builtin, call: &Call, span: Span) -> Result<Item<'a>, Fault> {
        let arguments = self.gather(&call.arguments)?;
        self.apply(builtin, arguments, span)
    }

    pub(super) fn apply(&mut self, builtin: Builtin, arguments: Arguments<'a>, span: Span) -> Result<Item<'a>, Fault> {
        match builtin {
            Builtin::Special(Special::Include) => self.include_macro(arguments, span),
            Builtin::Special(Special::Tpl) => self.tpl(arguments, span),
            Builtin::Special(Special::Namespace) => self.namespace(arguments, span),
            Builtin::Special(Special::Dict) => self.dict(arguments, span),
            Builtin::Library(entry) => {
                let (values, named) = self.values(arguments, entry.lenient)?;
                let count = if named.is_empty() { values.len() } else { usize::MAX };
                if !fits(entry.arity, count) {
                    let message = format!("`{}` takes {}", entry.name, expected(entry.arity));
                    return Err(self.fault("function-arguments", span, message));
                }
                (entry.call)(self.budget, &values)
                    .map(Item::Data)
                    .map_err(|failure| self.failure(span, Some(entry.name), &failure))
            }
            Builtin::Jinja(function) => {
                let (values, named) = self.values(arguments, false)?;
                self.jinja(function, &values, &named, span).map(Item::Data)
            }
        }
    }

    fn jinja(
        &self,
        function: &jinja::Function,
        values: &[Value],
        named: &[(Arc<str>, Value)],
        span: Span,
    ) -> Result<Value, Fault> {
        if !fits(function.arity, values.len()) && named.is_empty() {
            let message = format!("`{}` takes {}", function.name, expected(function.arity));
            return Err(self.fault("function-arguments", span, message));
        }
        let given = Given { budget: self.budget, values, named };
        (function.call)(&given).map_err(|failure| self.failure(span, Some(function.name), &failure))
    }

    fn call_variable(
        &mut self,
        variable: &Variable,
        builtin: Option<Builtin>,
        call: &Call,
        span: Span,
        body: Option<Item<'a>>,
    ) -> Result<Item<'a>, Fault> {
        let item = self.variable(variable, span);
        let arguments = self.gather(&call.arguments)?;
        match (item, builtin) {
            (Item::Macro(callee), _) => self.call_macro(&callee, arguments, body, span).map(Item::Data),
            (Item::Loop(turns), _) => self.recurse(&turns, arguments, span).map(Item::Data),
            (_, Some(builtin)) => self.apply(builtin, arguments, span),
            (Item::Missing(_) | Item::Unset, None) => {
                let mut fault =
                    self.fault("undefined", span, format!("`{}` is no macro that is known here", variable.name));
                fault.help = (&*variable.name == "caller").then(|| "call the macro with `{% call %}`".to_owned());
                Err(fault)
            }
            (other, None) => {
                let message = format!("`{}` is {}, which cannot be called", variable.name, other.kind());
                Err(self.fault("template-type", span, message))
            }
        }
    }

    fn method(
        &mut self,
        subject: &Expression,
        name: &Arc<str>,
        call: &Call,
        span: Span,
        body: Option<Item<'a>>,
    ) -> Result<Item<'a>, Fault> {
        let item = self.evaluate(subject)?;
        let arguments = self.gather(&call.arguments)?;
        match item {
            Item::Module(_) => match self.member(&item, name) {
                Some(Item::Macro(callee)) => self.call_macro(&callee, arguments, body, span).map(Item::Data),
                _ => Err(self.fault("undefined", span, format!("the imported template has no macro `{name}`"))),
            },
            Item::Loop(turns) => self.loop_method(&turns, name, arguments, span).map(Item::Data),
            Item::Files(selected) => self.files_method(selected.as_deref(), name, arguments, span),
            Item::Facts(tracked) if matches!(&**name, "get" | "has" | "Has") => {
                let key = arguments.items.first().map(|(key, span)| (key.clone(), *span));
                let Some((key, key_span)) = key else {
                    return Err(self.fault("function-arguments", span, format!("`{name}` needs a key")));
                };
                let key = self.data(key, key_span)?;
                let child = match key.as_text() {
                    Some(key) => self.tracked(&tracked, key, span)?,
                    None => None,
                };
                if &**name != "get" {
                    let has = child.is_some();
                    if let Some(child) = child {
                        self.data(child, span)?;
                    }
                    return Ok(Item::Data(Value::Bool(has)));
                }
                let default = arguments.items.get(1).map(|(item, _)| item.clone());
                Ok(child.or(default).unwrap_or(Item::Data(Value::Null)))
            }
            item => {
                let value = self.argument(item, subject.span, false)?;
                let (values, named) = self.values(arguments, false)?;
                let given = Given { budget: self.budget, values: &values, named: &named };
                methods::call(&value, name, &given)
                    .map(Item::Data)
                    .map_err(|failure| self.failure(span, Some(name), &failure))
            }
        }
    }

    pub(super) fn gather(&mut self, arguments: &[Argument]) -> Result<Arguments<'a>, Fault> {
        let mut gathered = Arguments { items: Vec::with_capacity(arguments.len()), named: Vec::new() };
        for argument in arguments {
            let span = argument.expression().span;
            match argument {
                Argument::Plain(expression) => gathered.items.push((self.evaluate(expression)?, span)),
                Argument::Named(name, expression) => {
                    let item = self.evaluate(expression)?;
                    gathered.named.push((Arc::clone(name), item, span));
                }
                Argument::Spread(expression) => {
                    let Value::List(list) = self.value(expression)? else {
                        return Err(self.fault("template-type", span, "only a list can be spread with `*`"));
                    };
                    self.pay(list.len() as u64 * NODE * 2, span)?;
                    gathered.items.extend(list.items().iter().map(|item| (Item::Data(item.clone()), span)));
                }
                Argument::SpreadNamed(expression) => {
                    let Value::Dict(dict) = self.value(expression)? else {
                        return Err(self.fault("template-type", span, "only a map can be spread with `**`"));
                    };
                    self.pay(dict.len() as u64 * NODE * 2, span)?;
                    let entries = dict.entries().iter();
                    gathered
                        .named
                        .extend(entries.map(|(name, value)| (Arc::clone(name), Item::Data(value.clone()), span)));
                }
            }
        }
        Ok(gathered)
    }

    /// The data of all arguments.
    #[expect(clippy::type_complexity, reason = "plain and named arguments")]
    pub(super) fn values(
        &mut self,
        arguments: Arguments<'a>,
        lenient: bool,
    ) -> Result<(Vec<Value>, Vec<(Arc<str>, Value)>), Fault> {
        let mut values = Vec::with_capacity(arguments.items.len());
        for (item, span) in arguments.items {
            values.push(self.argument(item, span, lenient)?);
        }
        let mut named = Vec::with_capacity(arguments.named.len());
        for (name, item, span) in arguments.named {
            named.push((name, self.argument(item, span, lenient)?));
        }
        Ok((values, named))
    }

    fn namespace(&mut self, arguments: Arguments<'a>, span: Span) -> Result<Item<'a>, Fault> {
        let (values, named) = self.values(arguments, false)?;
        let mut entries = match values.as_slice() {
            [] => BTreeMap::new(),
            [Value::Dict(dict)] => {
                self.pay(dict.len() as u64 * NODE * 2, span)?;
                dict.entries().to_map()
            }
            _ => return Err(self.fault("function-arguments", span, "`namespace` takes a map or named arguments")),
        };
        entries.extend(named);
        Ok(Item::Namespace(Rc::new(RefCell::new(entries))))
    }

    /// Jinja's `dict(a=1)` and Sprig's `dict("a", 1)`.
    fn dict(&mut self, arguments: Arguments<'a>, span: Span) -> Result<Item<'a>, Fault> {
        let (values, named) = self.values(arguments, false)?;
        self.pay((values.len() + named.len()) as u64 * NODE, span)?;
        let mut entries = match values.as_slice() {
            [] => BTreeMap::new(),
            [Value::Dict(dict)] => {
                self.pay(dict.len() as u64 * NODE * 2, span)?;
                dict.entries().to_map()
            }
            _ if named.is_empty() && functions::find("dict").is_some() => match functions::find("dict") {
                Some(entry) => return self.apply_values(entry, &values, span),
                None => BTreeMap::new(),
            },
            _ => return Err(self.fault("function-arguments", span, "`dict` takes pairs, a map or named arguments")),
        };
        entries.extend(named);
        Value::dict(entries.into()).map(Item::Data).map_err(|deep| self.failure(span, None, &Failure::from(deep)))
    }

    fn apply_values(&self, entry: &'static Entry, values: &[Value], span: Span) -> Result<Item<'a>, Fault> {
        (entry.call)(self.budget, values)
            .map(Item::Data)
            .map_err(|failure| self.failure(span, Some(entry.name), &failure))
    }
}
