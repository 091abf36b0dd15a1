//! Blocks and actions.

use std::sync::Arc;

use super::lexer::{Lexeme, Mistake, Token};
use super::pipelines::Pipeline;
use super::{Parser, Scope, literals};
use crate::template::program::{
    Branch, Choose, Define, Expression, Kind, Macro, Range, Routine, Span, Statement, TemplateCall,
};

/// What ended a list of statements.
enum Ending {
    /// The end of the text.
    Text,
    /// `end`.
    End,
    /// `else`, whose action goes on.
    Else(Span),
}

/// The keywords of actions.
const KEYWORDS: &[&str] = &["if", "with", "range", "else", "end", "define", "block", "template", "break", "continue"];

impl Parser<'_> {
    /// The whole text.
    pub(super) fn template(&mut self) -> Result<Vec<Statement>, Mistake> {
        let mut body = Vec::new();
        match self.statements(&mut body, true)? {
            (Ending::Text, _) => Ok(body),
            (Ending::End, span) => Self::mistake(span, "`end` closes nothing"),
            (Ending::Else(span), _) => Self::mistake(span, "`else` is in no block"),
        }
    }

    fn statements(&mut self, body: &mut Vec<Statement>, top: bool) -> Result<(Ending, Span), Mistake> {
        loop {
            let lexeme = self.next();
            match lexeme.token {
                Token::Text => body.push(Statement::Raw(lexeme.span)),
                Token::End => return Ok((Ending::Text, lexeme.span)),
                _ => {
                    if let Some(ending) = self.action(body, lexeme.span, top)? {
                        return Ok(ending);
                    }
                }
            }
        }
    }

    fn action(&mut self, body: &mut Vec<Statement>, open: Span, top: bool) -> Result<Option<(Ending, Span)>, Mistake> {
        let first = self.peek_solid();
        let word = if first.token == Token::Word { self.source(first.span) } else { "" };
        if !KEYWORDS.contains(&word) {
            body.push(self.plain()?);
            return Ok(None);
        }
        self.next_solid();
        let span = Span { start: open.start, end: first.span.end };
        match word {
            "end" => {
                self.close("end")?;
                return Ok(Some((Ending::End, span)));
            }
            "else" => return Ok(Some((Ending::Else(span), span))),
            "if" => body.push(self.choose(false, span)?),
            "with" => body.push(self.choose(true, span)?),
            "range" => body.push(self.range(span)?),
            "template" => body.push(self.call_template()?),
            "block" => body.push(self.block(span)?),
            "define" if top => self.define(span)?,
            "define" => return Self::mistake(span, "`define` must not stand inside another block"),
            _ => {
                self.close(word)?;
                if self.loops == 0 {
                    return Self::mistake(span, format!("`{word}` is in no `range`"));
                }
                body.push(if word == "break" { Statement::Break } else { Statement::Continue });
            }
        }
        Ok(None)
    }

    /// A pipeline by itself: written, or put into a variable.
    fn plain(&mut self) -> Result<Statement, Mistake> {
        let pipeline = self.pipeline(Token::Close, "command", 1)?;
        match pipeline.variables.as_slice() {
            [] => Ok(Statement::Print(pipeline.value)),
            [variable, ..] => {
                let (slot, value) = self.variable_slot(variable, pipeline.declares, pipeline.value);
                Ok(Statement::Assign(slot, value))
            }
        }
    }

    /// The slot of a variable that is declared, or of the one that is set, and what it is set to. One that is set and was
    /// never declared is known from there on, as in Go, and an error when it is run.
    pub(super) fn variable_slot(&mut self, variable: &Lexeme, declares: bool, value: Expression) -> (u32, Expression) {
        let name = self.source(variable.span);
        match self.scope.find(name) {
            Some(slot) if !declares => (slot, value),
            None if !declares => {
                let message = format!("the variable `{name}` is not declared");
                (self.scope.declare(name), Expression { span: variable.span, kind: Kind::Failing(message.into()) })
            }
            _ => (self.scope.declare(name), value),
        }
    }

    /// `if` and `with`, whose variables are known up to the last `end`.
    fn choose(&mut self, is_with: bool, span: Span) -> Result<Statement, Mistake> {
        self.deeper(span)?;
        let known = self.scope.visible.len();
        let elsewhere = self.scope.elsewhere.len();
        let mut node = Choose { branches: Vec::new(), otherwise: Vec::new() };
        let mut ending = self.branch(&mut node, is_with)?;
        loop {
            match ending.0 {
                Ending::End => break,
                Ending::Text => return Self::unclosed(span, if is_with { "with" } else { "if" }),
                Ending::Else(at) => {
                    let next = self.peek_solid();
                    let word = if next.token == Token::Word { self.source(next.span) } else { "" };
                    if word == "if" || word == "with" {
                        // As in Go: `else if` belongs to `if`, `else with` to `with`.
                        if (word == "with") != is_with {
                            return Self::mistake(next.span, format!("`else {word}` does not belong here"));
                        }
                        self.next_solid();
                        if node.branches.len() >= 200 {
                            return Self::mistake(next.span, "more than 200 branches");
                        }
                        ending = self.branch(&mut node, is_with)?;
                        continue;
                    }
                    self.close("else")?;
                    let inner = self.scope.visible.len();
                    let mut body = Vec::new();
                    let (end, _) = self.statements(&mut body, false)?;
                    self.scope.visible.truncate(inner);
                    node.otherwise = body;
                    match end {
                        Ending::End => break,
                        Ending::Text => return Self::unclosed(span, "else"),
                        Ending::Else(_) => return Self::mistake(at, "there is a second `else`"),
                    }
                }
            }
        }
        self.scope.visible.truncate(known);
        self.scope.elsewhere.truncate(elsewhere);
        self.depth -= 1;
        Ok(Statement::Choose(Box::new(node)))
    }

    fn branch(&mut self, node: &mut Choose, is_with: bool) -> Result<(Ending, Span), Mistake> {
        let Pipeline { variables, declares, value } =
            self.pipeline(Token::Close, if is_with { "with" } else { "if" }, 1)?;
        let (variable, value) = match variables.first() {
            Some(variable) => {
                let (slot, value) = self.variable_slot(variable, declares, value);
                (Some(slot), value)
            }
            None => (None, value),
        };
        let inner = self.scope.visible.len();
        let outer_dot = self.scope.dot;
        let dot = is_with.then(|| self.scope.slot("."));
        self.scope.dot = dot.unwrap_or(outer_dot);
        let mut body = Vec::new();
        let ending = self.statements(&mut body, false)?;
        self.scope.dot = outer_dot;
        self.scope.leave_branch(inner);
        node.branches.push(Branch { condition: value, variable, dot, body });
        Ok(ending)
    }

    fn range(&mut self, span: Span) -> Result<Statement, Mistake> {
        self.deeper(span)?;
        let known = self.scope.visible.len();
        let elsewhere = self.scope.elsewhere.len();
        let Pipeline { variables, declares, mut value } = self.pipeline(Token::Close, "range", 2)?;
        let mut slots = Vec::new();
        for variable in &variables {
            let slot;
            (slot, value) = self.variable_slot(variable, declares, value);
            slots.push(slot);
        }
        let (key, item) = match slots.as_slice() {
            [] => (None, None),
            [item] => (None, Some(*item)),
            [key, item, ..] => (Some(*key), Some(*item)),
        };
        let inner = self.scope.visible.len();
        let outer_dot = self.scope.dot;
        let dot = self.scope.slot(".");
        self.scope.dot = dot;
        self.loops += 1;
        let mut body = Vec::new();
        let (ending, _) = self.statements(&mut body, false)?;
        self.loops -= 1;
        self.scope.dot = outer_dot;
        self.scope.leave_branch(inner);
        let mut otherwise = Vec::new();
        match ending {
            Ending::End => {}
            Ending::Text => return Self::unclosed(span, "range"),
            Ending::Else(at) => {
                self.close("else")?;
                match self.statements(&mut otherwise, false)?.0 {
                    Ending::End => {}
                    Ending::Text => return Self::unclosed(span, "range"),
                    Ending::Else(_) => return Self::mistake(at, "there is a second `else`"),
                }
            }
        }
        self.scope.visible.truncate(known);
        self.scope.elsewhere.truncate(elsewhere);
        self.depth -= 1;
        Ok(Statement::Range(Box::new(Range { subject: value, key, value: item, dot, body, otherwise })))
    }

    fn unclosed<T>(span: Span, what: &str) -> Result<T, Mistake> {
        Self::mistake(span, format!("this `{what}` has no `end`"))
    }

    /// The name of a template: a constant.
    fn template_name(&mut self) -> Result<(Arc<str>, Span), Mistake> {
        let lexeme = self.next_solid();
        let source = self.source(lexeme.span);
        let name = match lexeme.token {
            Token::Quoted => literals::unquoted(source),
            Token::Raw => Some(source.trim_matches('`').to_owned()),
            _ => None,
        };
        match name {
            Some(name) => Ok((name.into(), lexeme.span)),
            None => Self::mistake(lexeme.span, "the name of a template in quotes is expected here"),
        }
    }

    fn argument(&mut self) -> Result<Option<Expression>, Mistake> {
        if self.peek_solid().token == Token::Close {
            self.next_solid();
            return Ok(None);
        }
        // A variable declared here would be seen by nobody.
        let known = self.scope.visible.len();
        let pipeline = self.pipeline(Token::Close, "template", 1)?;
        self.scope.visible.truncate(known);
        Ok(Some(pipeline.value))
    }

    fn call_template(&mut self) -> Result<Statement, Mistake> {
        let (name, span) = self.template_name()?;
        let argument = self.argument()?;
        Ok(Statement::Template(Box::new(TemplateCall { name, span, argument })))
    }

    fn define(&mut self, span: Span) -> Result<(), Mistake> {
        let (name, at) = self.template_name()?;
        self.close("define")?;
        self.routine(name, at, span, "define")
    }

    /// `block` declares a template and calls it.
    fn block(&mut self, span: Span) -> Result<Statement, Mistake> {
        let (name, at) = self.template_name()?;
        if self.peek_solid().token == Token::Close {
            return Self::mistake(span, "a `block` needs a value, such as `.`");
        }
        let argument = self.argument()?;
        self.routine(Arc::clone(&name), at, span, "block")?;
        Ok(Statement::Template(Box::new(TemplateCall { name, span: at, argument })))
    }

    /// The body of a template, with variables of its own.
    fn routine(&mut self, name: Arc<str>, at: Span, span: Span, what: &str) -> Result<(), Mistake> {
        self.deeper(span)?;
        let outer = std::mem::replace(&mut self.scope, Scope::new());
        let loops = std::mem::take(&mut self.loops);
        let mut body = Vec::new();
        let (ending, _) = self.statements(&mut body, false)?;
        match ending {
            Ending::End => {}
            Ending::Text => return Self::unclosed(span, what),
            Ending::Else(at) => return Self::mistake(at, format!("`else` does not belong into a `{what}`")),
        }
        self.loops = loops;
        let scope = std::mem::replace(&mut self.scope, outer);
        self.depth -= 1;
        let is_empty = self.is_empty(&body);
        let known = self.defines.iter().position(|known| known.name == name);
        match known.and_then(|known| self.defines.get(known)) {
            Some(other) if !other.is_empty && !is_empty => {
                return Self::mistake(at, format!("the template `{name}` is declared twice"));
            }
            Some(other) if !other.is_empty => return Ok(()),
            _ => {}
        }
        if let Some(known) = known {
            self.defines.remove(known);
        }
        let number = u32::try_from(self.macros.len()).unwrap_or(u32::MAX);
        let routine = Routine { body, names: scope.names };
        self.macros.push(Macro { name: Arc::clone(&name), parameters: Vec::new(), caller: 0, routine });
        self.defines.push(Define { name, number, is_empty });
        Ok(())
    }

    fn is_empty(&self, body: &[Statement]) -> bool {
        body.iter().all(|statement| match statement {
            Statement::Raw(span) => self.source(*span).chars().all(char::is_whitespace),
            _ => false,
        })
    }

    /// The next token.
    pub(super) fn next(&mut self) -> Lexeme {
        let lexeme = self.lexemes.get(self.at).copied();
        self.at += 1;
        lexeme.unwrap_or(Lexeme { token: Token::End, span: Span::default() })
    }

    pub(super) fn peek(&self) -> Lexeme {
        self.lexemes.get(self.at).copied().unwrap_or(Lexeme { token: Token::End, span: Span::default() })
    }

    /// The next token that is no space.
    pub(super) fn next_solid(&mut self) -> Lexeme {
        self.peek_solid();
        self.next()
    }

    pub(super) fn peek_solid(&mut self) -> Lexeme {
        while self.peek().token == Token::Space {
            self.at += 1;
        }
        self.peek()
    }

    fn close(&mut self, word: &str) -> Result<(), Mistake> {
        let lexeme = self.next_solid();
        if lexeme.token == Token::Close {
            return Ok(());
        }
        Self::mistake(lexeme.span, format!("`{}` is not expected after `{word}`", self.source(lexeme.span)))
    }
}

pub(super) fn unknown_variable(name: &str, span: Span) -> Mistake {
    Mistake { message: format!("the variable `{name}` is not declared"), span }
}

/// What a variable or the dot holds.
pub(super) fn slot(span: Span, slot: u32) -> Expression {
    Expression { span, kind: Kind::Slot(slot) }
}
