//! Expressions of the parsed tree.
//!
//! The parser's stretches of source begin at odd places for compound expressions, so they are put together from the parts.

use std::sync::Arc;

use minijinja::machinery::ast;
use minijinja::value::ValueKind;

use super::{Reader, span};
use crate::template::jinja::tests::{self, Test};
use crate::template::program::{Arithmetic, Comparison, Expression, Kind, Path, Root, Slice, Span, Step, TestCall};
use crate::value::{Entries, Value};

impl Reader<'_> {
    pub(super) fn expression(&mut self, expression: &ast::Expr<'_>) -> Expression {
        let at = span(expression.span());
        match expression {
            ast::Expr::Var(name) => Expression { span: at, kind: Kind::Variable(self.names.resolve(name.id)) },
            ast::Expr::Const(constant) => self.constant(&constant.value, at),
            ast::Expr::Slice(slice) => self.slice(slice, at),
            ast::Expr::UnaryOp(unary) => self.unary(unary, at),
            ast::Expr::BinOp(binary) => self.binary(binary),
            ast::Expr::Compare(compare) => self.chained(compare),
            ast::Expr::IfExpr(condition) => self.inline_if(condition),
            ast::Expr::Filter(_) => self.filter(expression),
            ast::Expr::Test(test) => self.test(test, at),
            ast::Expr::GetAttr(attribute) => {
                let subject = self.expression(&attribute.expr);
                step(subject, attribute.name.into(), at.end)
            }
            ast::Expr::GetItem(item) => self.item(item, at),
            ast::Expr::Call(call) => self.call(call),
            ast::Expr::List(list) => self.list(&list.items, at),
            ast::Expr::Tuple(tuple) => self.list(&tuple.items, at),
            ast::Expr::Map(map) => self.map(map, at),
        }
    }

    fn constant(&mut self, value: &minijinja::Value, span: Span) -> Expression {
        let value = match value.kind() {
            ValueKind::Bool => Value::Bool(value.is_true()),
            ValueKind::Number if value.is_integer() => i64::try_from(value.clone()).map_or_else(
                |_| {
                    self.problem("template-syntax", span, "the number is too large".into(), None);
                    Value::Null
                },
                Value::Int,
            ),
            ValueKind::Number => f64::try_from(value.clone()).map_or(Value::Null, Value::Float),
            ValueKind::String => value.as_str().map_or(Value::Null, Value::from),
            _ => Value::Null,
        };
        Expression { span, kind: Kind::Constant(value) }
    }

    fn slice(&mut self, slice: &ast::Slice<'_>, at: Span) -> Expression {
        let subject = self.expression(&slice.expr);
        let span = Span { start: subject.span.start, end: at.end };
        let mut part = |part: &Option<ast::Expr<'_>>| part.as_ref().map(|part| self.expression(part));
        let (start, end, step) = (part(&slice.start), part(&slice.stop), part(&slice.step));
        Expression { span, kind: Kind::Slice(Box::new(Slice { subject, start, end, step })) }
    }

    fn unary(&mut self, unary: &ast::UnaryOp<'_>, at: Span) -> Expression {
        let operand = self.expression(&unary.expr);
        let start = at.start.min(operand.span.start);
        let span = Span { start, end: operand.span.end };
        let kind = match (&unary.op, &operand.kind) {
            (ast::UnaryOpKind::Neg, Kind::Constant(Value::Int(number))) => {
                Kind::Constant(Value::Int(number.wrapping_neg()))
            }
            (ast::UnaryOpKind::Neg, Kind::Constant(Value::Float(number))) => Kind::Constant(Value::Float(-number)),
            (ast::UnaryOpKind::Neg, _) => Kind::Negate(Box::new(operand)),
            (ast::UnaryOpKind::Not, _) => Kind::Not(Box::new(operand)),
        };
        Expression { span, kind }
    }

    fn binary(&mut self, binary: &ast::BinOp<'_>) -> Expression {
        if matches!(binary.op, ast::BinOpKind::Concat) {
            return self.concat(binary);
        }
        let left = self.expression(&binary.left);
        let right = self.expression(&binary.right);
        let span = Span { start: left.span.start, end: right.span.end };
        let arithmetic = |operator, left, right| Kind::Arithmetic(operator, Box::new((left, right)));
        let compare = |operator, left, right| Kind::Compare(Box::new(left), vec![(operator, right)]);
        let kind = match binary.op {
            ast::BinOpKind::Eq => compare(Comparison::Equal, left, right),
            ast::BinOpKind::Ne => compare(Comparison::NotEqual, left, right),
            ast::BinOpKind::Lt => compare(Comparison::Less, left, right),
            ast::BinOpKind::Lte => compare(Comparison::LessOrEqual, left, right),
            ast::BinOpKind::Gt => compare(Comparison::Greater, left, right),
            ast::BinOpKind::Gte => compare(Comparison::GreaterOrEqual, left, right),
            ast::BinOpKind::In => compare(Comparison::In, left, right),
            ast::BinOpKind::ScAnd => Kind::And(Box::new((left, right))),
            ast::BinOpKind::ScOr => Kind::Or(Box::new((left, right))),
            ast::BinOpKind::Add => arithmetic(Arithmetic::Add, left, right),
            ast::BinOpKind::Sub => arithmetic(Arithmetic::Subtract, left, right),
            ast::BinOpKind::Mul => arithmetic(Arithmetic::Multiply, left, right),
            ast::BinOpKind::Div => arithmetic(Arithmetic::Divide, left, right),
            ast::BinOpKind::FloorDiv => arithmetic(Arithmetic::FloorDivide, left, right),
            ast::BinOpKind::Rem => arithmetic(Arithmetic::Remainder, left, right),
            ast::BinOpKind::Pow => arithmetic(Arithmetic::Power, left, right),
            ast::BinOpKind::Concat => Kind::Concat(vec![left, right]),
        };
        Expression { span, kind }
    }

    /// `a ~ b ~ c` is one concatenation of three.
    fn concat(&mut self, last: &ast::BinOp<'_>) -> Expression {
        let mut parts = vec![self.expression(&last.right)];
        let mut left = &last.left;
        while let ast::Expr::BinOp(binary) = left {
            if !matches!(binary.op, ast::BinOpKind::Concat) {
                break;
            }
            parts.push(self.expression(&binary.right));
            left = &binary.left;
        }
        parts.push(self.expression(left));
        parts.reverse();
        let span = joined(&parts);
        Expression { span, kind: Kind::Concat(parts) }
    }

    fn chained(&mut self, compare: &ast::Compare<'_>) -> Expression {
        let first = self.expression(&compare.expr);
        let mut links = Vec::with_capacity(compare.ops.len());
        for link in &compare.ops {
            let operator = match link.op {
                ast::CompareOpKind::Eq => Comparison::Equal,
                ast::CompareOpKind::Ne => Comparison::NotEqual,
                ast::CompareOpKind::Lt => Comparison::Less,
                ast::CompareOpKind::Lte => Comparison::LessOrEqual,
                ast::CompareOpKind::Gt => Comparison::Greater,
                ast::CompareOpKind::Gte => Comparison::GreaterOrEqual,
                ast::CompareOpKind::In => Comparison::In,
                ast::CompareOpKind::NotIn => Comparison::NotIn,
            };
            links.push((operator, self.expression(&link.expr)));
        }
        let end = links.last().map_or(first.span.end, |(_, last)| last.span.end);
        Expression { span: Span { end, ..first.span }, kind: Kind::Compare(Box::new(first), links) }
    }

    fn inline_if(&mut self, condition: &ast::IfExpr<'_>) -> Expression {
        let test = self.expression(&condition.test_expr);
        let then = self.expression(&condition.true_expr);
        let otherwise = condition.false_expr.as_ref().map(|otherwise| self.expression(otherwise));
        let end = otherwise.as_ref().map_or(test.span.end, |otherwise| otherwise.span.end);
        Expression { span: Span { start: then.span.start, end }, kind: Kind::If(Box::new((test, then, otherwise))) }
    }

    fn item(&mut self, item: &ast::GetItem<'_>, at: Span) -> Expression {
        let subject = self.expression(&item.expr);
        let key = self.expression(&item.subscript_expr);
        if let Kind::Constant(Value::Text(key)) = key.kind {
            return step(subject, key, at.end);
        }
        let span = Span { start: subject.span.start, end: at.end };
        Expression { span, kind: Kind::Item(Box::new((subject, key))) }
    }

    fn list(&mut self, items: &[ast::Expr<'_>], span: Span) -> Expression {
        let items: Vec<Expression> = items.iter().map(|item| self.expression(item)).collect();
        let constants: Option<Vec<Value>> = items.iter().map(constant_of).collect();
        let kind = match constants.map(Value::list) {
            Some(Ok(list)) => Kind::Constant(list),
            Some(Err(_)) | None => Kind::List(items),
        };
        Expression { span, kind }
    }

    fn map(&mut self, map: &ast::Map<'_>, span: Span) -> Expression {
        let entries: Vec<(Expression, Expression)> = map
            .keys
            .iter()
            .zip(&map.values)
            .map(|(key, value)| (self.expression(key), self.expression(value)))
            .collect();
        let constants: Option<Entries> = entries
            .iter()
            .map(|(key, value)| match constant_of(key)? {
                Value::Text(key) => Some((key, constant_of(value)?)),
                _ => None,
            })
            .collect();
        let kind = match constants.map(Value::dict) {
            Some(Ok(dict)) => Kind::Constant(dict),
            Some(Err(_)) | None => Kind::Map(entries),
        };
        Expression { span, kind }
    }

    fn test(&mut self, test: &ast::Test<'_>, at: Span) -> Expression {
        let subject = self.expression(&test.expr);
        let span = Span { start: subject.span.start, end: at.end };
        let mut arguments = Vec::with_capacity(test.args.len());
        for argument in &test.args {
            match argument {
                ast::CallArg::Pos(argument) => arguments.push(self.expression(argument)),
                ast::CallArg::Kwarg(..) | ast::CallArg::PosSplat(_) | ast::CallArg::KwargSplat(_) => {
                    self.problem("template-syntax", span, "a test takes plain arguments only".into(), None);
                }
            }
        }
        let Some(found) = tests::find(test.name) else {
            let help = tests::nearest(test.name).map(|name| format!("did you mean `{name}`?"));
            self.problem("unknown-test", at, format!("`{}` is no test", test.name), help);
            return Expression { span, kind: Kind::Constant(Value::Null) };
        };
        if arguments.len() != found.arguments() {
            let message =
                format!("the test `{}` takes {} arguments, not {}", test.name, found.arguments(), arguments.len());
            self.problem("function-arguments", span, message, None);
        }
        Expression { span, kind: tested(found, subject, arguments) }
    }
}

fn tested(test: Test, subject: Expression, arguments: Vec<Expression>) -> Kind {
    Kind::Test(Box::new(TestCall { test, subject, arguments }))
}

fn constant_of(expression: &Expression) -> Option<Value> {
    match &expression.kind {
        Kind::Constant(value) => Some(value.clone()),
        _ => None,
    }
}

fn joined(parts: &[Expression]) -> Span {
    let start = parts.first().map_or(0, |part| part.span.start);
    Span { start, end: parts.last().map_or(start, |part| part.span.end) }
}

/// One key more: a path grows instead of nesting.
fn step(subject: Expression, key: Arc<str>, end: u32) -> Expression {
    let span = Span { start: subject.span.start, end };
    let step = Step { key, end };
    let kind = match subject.kind {
        Kind::Path(mut path) => {
            path.steps.push(step);
            Kind::Path(path)
        }
        Kind::Variable(variable) => {
            Kind::Path(Box::new(Path { root: Root::Variable(variable, subject.span), steps: vec![step] }))
        }
        kind => {
            let computed = Expression { span: subject.span, kind };
            Kind::Path(Box::new(Path { root: Root::Computed(computed), steps: vec![step] }))
        }
    };
    Expression { span, kind }
}
