//! What an expression may be made of, so that what it costs is known before it runs.
//!
//! Values can only shrink: lists and maps are written with constants alone, and `map` is left out, since `x.map(a, [a,
//! a])` doubles a value each time it is written. So the cost is at most the size of the expression, for every round of
//! its loops, on the largest value it can see.

use cel::common::ast::{ComprehensionExpr, EntryExpr, Expr, LiteralValue, operators};
use cel::parser::Expression;
use serde_json::Value;

/// Characters of one expression.
pub(super) const MAX_LENGTH: usize = 1000;
/// How deep an expression may be nested: the evaluator calls itself for each level.
const MAX_DEPTH: u32 = 40;
/// How deep loops may be nested.
const MAX_LOOPS: u32 = 2;
/// Characters of a regular expression.
const MAX_PATTERN: usize = 100;

/// Functions that may be called; none of them makes a value larger than what it is given.
const FUNCTIONS: [&str; 11] =
    ["size", "startsWith", "endsWith", "contains", "matches", "int", "uint", "double", "string", "bool", "type"];

const OPERATORS: [&str; 19] = [
    operators::CONDITIONAL,
    operators::LOGICAL_AND,
    operators::LOGICAL_OR,
    operators::LOGICAL_NOT,
    operators::SUBSTRACT,
    operators::ADD,
    operators::MULTIPLY,
    operators::DIVIDE,
    operators::MODULO,
    operators::EQUALS,
    operators::NOT_EQUALS,
    operators::GREATER_EQUALS,
    operators::LESS_EQUALS,
    operators::GREATER,
    operators::LESS,
    operators::NEGATE,
    operators::INDEX,
    operators::NOT_STRICTLY_FALSE,
    operators::IN,
];

/// Refuses, before the parser sees it, what would take it deep: it too calls itself for each level.
pub(super) fn check_text(text: &str) -> Result<(), String> {
    let mut depth = 0_u32;
    for character in text.chars() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(format!("brackets are nested more than {MAX_DEPTH} deep"));
        }
    }
    Ok(())
}

/// What is known of an expression before it runs.
#[derive(Debug, Default)]
pub(super) struct Shape {
    nodes: u64,
    /// How deep loops are nested.
    loops: u32,
    /// Only `+` makes values longer, and only by what is written.
    additions: u64,
    /// The longest list or map of constants.
    longest: u64,
    variables: Vec<String>,
}

impl Shape {
    pub(super) fn of(expression: &Expression) -> Result<Self, String> {
        let mut shape = Self::default();
        shape.visit(expression, 0, 0)?;
        shape.variables.sort_unstable();
        shape.variables.dedup();
        Ok(shape)
    }

    /// The parts of the object that the expression can see.
    pub(super) fn variables<'a>(&'a self, object: &'a Value) -> impl Iterator<Item = (&'a str, &'a Value)> {
        self.variables.iter().filter_map(move |name| {
            let value = if name == "self" { Some(object) } else { object.get(name) };
            Some((name.as_str(), value?))
        })
    }

    /// How many steps it takes at most on this object.
    pub(super) fn steps(&self, object: &Value) -> u64 {
        let mut size = Size::default();
        for (_, value) in self.variables(object) {
            size.add(value);
        }
        let growth = self.additions + 1;
        let longest = size.longest.max(self.longest).saturating_mul(growth);
        let largest = size.total.saturating_add(self.nodes).saturating_mul(growth);
        let rounds = longest.max(1).saturating_pow(self.loops);
        self.nodes.saturating_mul(rounds).saturating_mul(largest)
    }

    fn visit(&mut self, expression: &Expression, depth: u32, loops: u32) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!("it is nested more than {MAX_DEPTH} deep"));
        }
        self.nodes += 1;
        match &expression.expr {
            Expr::Literal(_) => Ok(()),
            Expr::Ident(name) => {
                self.variables.push(name.clone());
                Ok(())
            }
            Expr::Select(select) => self.visit(&select.operand, depth + 1, loops),
            Expr::Call(call) => {
                let is_known = |name: &str| OPERATORS.contains(&name) || FUNCTIONS.contains(&name);
                if !is_known(&call.func_name) {
                    return Err(format!(
                        "there is no function {}; write one of {}",
                        call.func_name,
                        FUNCTIONS.join(", ")
                    ));
                }
                match call.func_name.as_str() {
                    "matches" => check_pattern(call.args.last())?,
                    operators::ADD => self.additions += 1,
                    _ => {}
                }
                call.target.as_deref().into_iter().chain(&call.args).try_for_each(|it| self.visit(it, depth + 1, loops))
            }
            Expr::List(list) => {
                self.longest = self.longest.max(list.elements.len() as u64);
                list.elements.iter().try_for_each(|it| self.constant(it, depth + 1))
            }
            Expr::Map(map) => {
                self.longest = self.longest.max(map.entries.len() as u64);
                map.entries.iter().try_for_each(|entry| self.entry(&entry.expr, depth + 1))
            }
            Expr::Comprehension(comprehension) => self.visit_loop(comprehension, depth, loops),
            Expr::Struct(_) | Expr::Unspecified => Err("objects cannot be made in it".to_owned()),
        }
    }

    fn entry(&mut self, entry: &EntryExpr, depth: u32) -> Result<(), String> {
        match entry {
            EntryExpr::MapEntry(entry) => {
                self.constant(&entry.key, depth)?;
                self.constant(&entry.value, depth)
            }
            EntryExpr::StructField(_) => Err("objects cannot be made in it".to_owned()),
        }
    }

    fn constant(&mut self, expression: &Expression, depth: u32) -> Result<(), String> {
        match &expression.expr {
            Expr::Literal(_) | Expr::List(_) | Expr::Map(_) => self.visit(expression, depth, 0),
            _ => Err("lists and maps in it may hold constants only, such as ['a', 'b']".to_owned()),
        }
    }

    fn visit_loop(&mut self, comprehension: &ComprehensionExpr, depth: u32, loops: u32) -> Result<(), String> {
        self.visit(&comprehension.iter_range, depth + 1, loops)?;
        let loops = loops + 1;
        if loops > MAX_LOOPS {
            return Err(format!("loops are nested more than {MAX_LOOPS} deep"));
        }
        self.loops = self.loops.max(loops);
        if let Some(condition) = filter_condition(comprehension) {
            self.nodes += 4;
            return self.visit(condition, depth + 1, loops);
        }
        if matches!(comprehension.accu_init.expr, Expr::List(_) | Expr::Map(_)) {
            return Err("it may not use map; write filter, all, exists or exists_one".to_owned());
        }
        [&comprehension.loop_cond, &comprehension.loop_step, &comprehension.result]
            .into_iter()
            .try_for_each(|it| self.visit(it, depth + 1, loops))
    }
}

/// The condition of a `filter`, which the parser writes as `condition ? kept + [item] : kept`.
fn filter_condition(comprehension: &ComprehensionExpr) -> Option<&Expression> {
    let Expr::Call(choice) = &comprehension.loop_step.expr else { return None };
    let [condition, add, _] = choice.args.as_slice() else { return None };
    let Expr::Call(add) = &add.expr else { return None };
    let [_, item] = add.args.as_slice() else { return None };
    let Expr::List(item) = &item.expr else { return None };
    let [item] = item.elements.as_slice() else { return None };
    let keeps_item = matches!(&item.expr, Expr::Ident(name) if *name == comprehension.iter_var);
    keeps_item.then_some(condition)
}

/// A pattern is compiled anew each time, so it must be small; `{` could repeat it a thousand times.
fn check_pattern(pattern: Option<&Expression>) -> Result<(), String> {
    match pattern.map(|pattern| &pattern.expr) {
        Some(Expr::Literal(LiteralValue::String(text)))
            if text.inner().len() <= MAX_PATTERN && !text.inner().contains('{') =>
        {
            Ok(())
        }
        _ => Err(format!("matches needs a constant of at most {MAX_PATTERN} characters without {{")),
    }
}

/// How large a value is.
#[derive(Default)]
struct Size {
    /// Values, and long texts for more than one.
    total: u64,
    /// The most rounds that a loop over any of them takes.
    longest: u64,
}

impl Size {
    fn add(&mut self, value: &Value) {
        /// What can be compared or copied in one step.
        const CHARACTERS: usize = 64;
        self.total += 1;
        match value {
            Value::String(text) => self.total += (text.len() / CHARACTERS) as u64,
            Value::Array(items) => {
                self.longest = self.longest.max(items.len() as u64);
                for item in items {
                    self.add(item);
                }
            }
            Value::Object(fields) => {
                self.longest = self.longest.max(fields.len() as u64);
                for (name, value) in fields {
                    self.total += (name.len() / CHARACTERS) as u64;
                    self.add(value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}
