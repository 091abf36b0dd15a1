//! Calls and filters of the parsed tree: which function is meant, and in which order it gets its arguments.

use minijinja::machinery::ast::{self, Spanned};

use super::{Reader, span};
use crate::template::builtins::{self, Builtin};
use crate::template::program::{Argument, Call, Callee, Expression, Kind, Span};
use crate::value::Value;

impl Reader<'_> {
    pub(super) fn call(&mut self, call: &Spanned<ast::Call<'_>>) -> Expression {
        let at = span(call.span());
        match &call.expr {
            ast::Expr::Var(name) => {
                let name_span = span(name.span());
                let whole = Span { start: name_span.start, end: at.end };
                let variable = self.names.resolve(name.id);
                let arguments = self.arguments(&call.args);
                let builtin = builtins::find(name.id);
                let callee = match (variable.places.is_empty(), builtin) {
                    (false, builtin) => Callee::Variable(variable, builtin),
                    (true, Some(builtin)) => Callee::Builtin(builtin),
                    (true, None) => return self.unknown("function", name.id, name_span),
                };
                self.checked(callee, arguments, whole, name.id)
            }
            ast::Expr::GetAttr(attribute) => {
                let subject = self.expression(&attribute.expr);
                let whole = Span { start: subject.span.start, end: at.end };
                let arguments = self.arguments(&call.args);
                self.checked(Callee::Method(subject, attribute.name.into()), arguments, whole, attribute.name)
            }
            other => {
                let message = format!("a {} cannot be called", other.description());
                self.problem("template-syntax", span(other.span()), message, None);
                nothing(at)
            }
        }
    }

    /// A filter, with all filters that it is applied to.
    pub(super) fn filter(&mut self, expression: &ast::Expr<'_>) -> Expression {
        let mut chain = Vec::new();
        let mut inner = expression;
        while let ast::Expr::Filter(filter) = inner {
            chain.push(filter);
            match &filter.expr {
                Some(subject) => inner = subject,
                None => break,
            }
        }
        let mut subject = self.expression(inner);
        for filter in chain.into_iter().rev() {
            subject = self.apply(filter, subject);
        }
        subject
    }

    /// The filters of a block, applied to what it wrote.
    pub(super) fn filters(&mut self, expression: &ast::Expr<'_>, captured: Expression) -> Expression {
        let mut chain = Vec::new();
        let mut inner = Some(expression);
        while let Some(ast::Expr::Filter(filter)) = inner {
            chain.push(filter);
            inner = filter.expr.as_ref();
        }
        chain.into_iter().rev().fold(captured, |subject, filter| self.apply(filter, subject))
    }

    fn apply(&mut self, filter: &Spanned<ast::Filter<'_>>, subject: Expression) -> Expression {
        let at = span(filter.span());
        let whole = Span { start: subject.span.start, end: at.end };
        let mut arguments = self.arguments(&filter.args);
        let Some(builtin) = builtins::find(filter.name) else {
            return self.unknown("filter", filter.name, at);
        };
        let named = |argument: &Argument| matches!(argument, Argument::Named(..) | Argument::SpreadNamed(_));
        let location =
            if builtin.takes_piped_first() { 0 } else { arguments.iter().position(named).unwrap_or(arguments.len()) };
        arguments.insert(location, Argument::Plain(subject));
        self.checked(Callee::Builtin(builtin), arguments, whole, filter.name)
    }

    fn arguments(&mut self, arguments: &[ast::CallArg<'_>]) -> Vec<Argument> {
        arguments
            .iter()
            .map(|argument| match argument {
                ast::CallArg::Pos(value) => Argument::Plain(self.expression(value)),
                ast::CallArg::Kwarg(name, value) => Argument::Named((*name).into(), self.expression(value)),
                ast::CallArg::PosSplat(value) => Argument::Spread(self.expression(value)),
                ast::CallArg::KwargSplat(value) => Argument::SpreadNamed(self.expression(value)),
            })
            .collect()
    }

    /// The call, with its number of arguments looked at where it is known.
    fn checked(&mut self, callee: Callee, arguments: Vec<Argument>, span: Span, name: &str) -> Expression {
        let plain = arguments.iter().all(|argument| matches!(argument, Argument::Plain(_)));
        let is_named = arguments.iter().any(|argument| matches!(argument, Argument::Named(..)));
        let arity = match &callee {
            Callee::Builtin(Builtin::Library(entry)) => Some((entry.arity, false)),
            Callee::Builtin(Builtin::Jinja(function)) => Some((function.arity, true)),
            Callee::Builtin(Builtin::Special(_)) | Callee::Variable(..) | Callee::Method(..) => None,
        };
        if let Some((arity, takes_names)) = arity {
            if is_named && !takes_names {
                let message = format!("`{name}` takes no named arguments");
                self.problem("function-arguments", span, message, None);
            } else if plain && !fits(arity, arguments.len()) {
                let message = format!("`{name}` takes {}, not {}", expected(arity), arguments.len());
                self.problem("function-arguments", span, message, None);
            }
        }
        Expression { span, kind: Kind::Call(Box::new(Call { callee, arguments, plain })) }
    }

    fn unknown(&mut self, what: &str, name: &str, span: Span) -> Expression {
        if let Some(message) = builtins::refused(name) {
            self.problem("function-refused", span, message, None);
        } else {
            let help = builtins::nearest(name).map(|name| format!("did you mean `{name}`?"));
            self.problem("unknown-function", span, format!("`{name}` is no {what}"), help);
        }
        nothing(span)
    }
}

/// Whether so many arguments are right.
pub(in crate::template) fn fits((least, most): (usize, Option<usize>), count: usize) -> bool {
    count >= least && most.is_none_or(|most| count <= most)
}

/// How many arguments are right, in words.
pub(in crate::template) fn expected((least, most): (usize, Option<usize>)) -> String {
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    match most {
        None => format!("at least {least} argument{}", plural(least)),
        Some(most) if most == least => format!("{most} argument{}", plural(most)),
        Some(most) => format!("{least} to {most} arguments"),
    }
}

fn nothing(span: Span) -> Expression {
    Expression { span, kind: Kind::Constant(Value::Null) }
}
