//! Pipelines, commands and operands.

use std::sync::Arc;

use super::functions::{self, Function, Native};
use super::lexer::{Lexeme, Mistake, Token};
use super::statements::{slot, unknown_variable};
use super::{Parser, literals};
use crate::template::program::{Expression, Field, FunctionCall, Kind, Span, Step};
use crate::value::Value;

/// Commands of one pipeline, and arguments of one command.
const LONGEST: usize = 100;
const MOST_ARGUMENTS: usize = 1000;

/// A pipeline, with the variables that it sets.
pub(super) struct Pipeline {
    pub variables: Vec<Lexeme>,
    /// Whether they are declared by it.
    pub declares: bool,
    pub value: Expression,
}

/// An operand before it is known whether it is called.
enum Operand {
    /// A function by its name.
    Function(Function, Span),
    /// Fields of something.
    Chain(Expression, Vec<Step>, Span),
    /// A variable, or a pipeline in brackets.
    Bare(Expression),
    /// A constant or the dot, which no pipeline can go on with.
    Constant(Expression),
    Nil(Span),
}

impl Parser<'_> {
    /// A pipeline up to and with the token that ends it.
    pub(super) fn pipeline(&mut self, end: Token, context: &str, most: usize) -> Result<Pipeline, Mistake> {
        let (variables, declares) = self.declarations(most)?;
        let start = self.peek_solid().span;
        let mut value: Option<Expression> = None;
        let mut stages = 0;
        loop {
            let lexeme = self.peek_solid();
            if lexeme.token == end {
                self.next_solid();
                break;
            }
            stages += 1;
            if stages > LONGEST {
                return Self::mistake(lexeme.span, format!("a pipeline has more than {LONGEST} commands"));
            }
            value = Some(self.command(value, stages)?);
        }
        match value {
            Some(value) => Ok(Pipeline { variables, declares, value }),
            None => Self::mistake(start, format!("a value is missing for `{context}`")),
        }
    }

    /// `$x :=`, `$x =` and, in a loop, `$x, $y :=`.
    fn declarations(&mut self, most: usize) -> Result<(Vec<Lexeme>, bool), Mistake> {
        let mut variables = Vec::new();
        let begin = self.at;
        loop {
            let variable = self.peek_solid();
            if variable.token != Token::Variable {
                break;
            }
            self.next_solid();
            let next = self.peek_solid();
            match next.token {
                Token::Declare | Token::Assign => {
                    self.next_solid();
                    variables.push(variable);
                    return Ok((variables, next.token == Token::Declare));
                }
                Token::Comma if variables.len() + 1 < most => {
                    self.next_solid();
                    variables.push(variable);
                }
                Token::Comma => return Self::mistake(next.span, "too many variables are declared"),
                _ => break,
            }
        }
        if !variables.is_empty() {
            return Self::mistake(self.peek().span, "a variable and `:=` are expected here");
        }
        self.at = begin;
        Ok((variables, false))
    }

    /// One command; what the one before it gives is its last argument.
    fn command(&mut self, piped: Option<Expression>, stage: usize) -> Result<Expression, Mistake> {
        let start = self.peek_solid();
        let mut operands = Vec::new();
        loop {
            self.peek_solid();
            if let Some(operand) = self.operand()? {
                operands.push(operand);
            }
            let next = self.peek();
            match next.token {
                Token::Space => {}
                Token::Pipe => {
                    // As in Go, which takes a `|` with nothing behind it.
                    self.next();
                    break;
                }
                Token::Close | Token::CloseBracket => break,
                _ => {
                    let source = self.source(next.span);
                    return Self::mistake(next.span, format!("`{source}` is not expected here"));
                }
            }
            if operands.len() > MOST_ARGUMENTS {
                return Self::mistake(next.span, format!("a call has more than {MOST_ARGUMENTS} arguments"));
            }
        }
        if operands.is_empty() {
            return Self::mistake(start.span, "a command is empty");
        }
        let first = operands.remove(0);
        if stage > 1 && matches!(first, Operand::Constant(_) | Operand::Nil(_)) {
            return Self::mistake(start.span, format!("stage {stage} of the pipeline is nothing that can be called"));
        }
        let end = self.lexemes.get(self.at.saturating_sub(1)).map_or(start.span.end, |last| last.span.end);
        let span = Span { start: piped.as_ref().map_or(start.span.start, |piped| piped.span.start), end };
        let span = trimmed(self.text, span);
        let arguments = operands.into_iter().map(as_argument).chain(piped).collect();
        let command = called(first, arguments, span);
        self.asked.extend(asked(&command).map(|version| (version, span)));
        Ok(command)
    }

    fn operand(&mut self) -> Result<Option<Operand>, Mistake> {
        let Some(operand) = self.term()? else { return Ok(None) };
        if self.peek().token != Token::Field {
            return Ok(Some(operand));
        }
        let mut steps = Vec::new();
        while self.peek().token == Token::Field {
            let lexeme = self.next();
            let key = self.source(lexeme.span).trim_start_matches('.').into();
            steps.push(Step { key, end: lexeme.span.end });
            if steps.len() > LONGEST {
                return Self::mistake(lexeme.span, format!("more than {LONGEST} fields follow each other"));
            }
        }
        let end = steps.last().map_or(0, |step| step.end);
        match operand {
            Operand::Chain(root, mut before, span) => {
                before.append(&mut steps);
                Ok(Some(Operand::Chain(root, before, Span { end, ..span })))
            }
            Operand::Bare(root) => {
                let span = Span { start: root.span.start, end };
                Ok(Some(Operand::Chain(root, steps, span)))
            }
            Operand::Function(function, span) => {
                let call = called(Operand::Function(function, span), Vec::new(), span);
                Ok(Some(Operand::Chain(call, steps, Span { end, ..span })))
            }
            Operand::Constant(Expression { span, .. }) | Operand::Nil(span) => {
                Self::mistake(Span { end, ..span }, "a constant has no fields")
            }
        }
    }

    fn term(&mut self) -> Result<Option<Operand>, Mistake> {
        let lexeme = self.peek_solid();
        let (span, source) = (lexeme.span, self.source(lexeme.span));
        let constant = |value| Operand::Constant(Expression { span, kind: Kind::Constant(value) });
        let operand = match lexeme.token {
            Token::Word => match source {
                "true" => constant(Value::Bool(true)),
                "false" => constant(Value::Bool(false)),
                "nil" => Operand::Nil(span),
                name => match functions::find(name) {
                    Some(function) => {
                        self.unhonoured.extend(functions::unhonoured(function).map(|name| (name, span)));
                        Operand::Function(function, span)
                    }
                    None => return Err(unknown_function(name, span)),
                },
            },
            Token::Dot => Operand::Constant(slot(span, self.scope.dot)),
            Token::Field => {
                let step = Step { key: source.trim_start_matches('.').into(), end: span.end };
                let dot = Span { start: span.start, end: span.start };
                Operand::Chain(slot(dot, self.scope.dot), vec![step], span)
            }
            Token::Variable => match self.scope.find(source) {
                Some(found) => Operand::Bare(slot(span, found)),
                None if self.scope.is_elsewhere(source) => {
                    let message = format!("the variable `{source}` is declared in another branch");
                    Operand::Bare(Expression { span, kind: Kind::Failing(message.into()) })
                }
                None => return Err(unknown_variable(source, span)),
            },
            Token::Number => match literals::number(source) {
                Ok(value) => constant(value),
                Err(message) => return Self::mistake(span, message),
            },
            Token::Character => match literals::character(source) {
                Some(number) => constant(Value::Int(number)),
                None => return Self::mistake(span, "this is not one character"),
            },
            Token::Quoted => match literals::unquoted(source) {
                Some(text) => constant(Value::from(text)),
                None => return Self::mistake(span, "the text in quotes has an escape that is not known"),
            },
            Token::Raw => constant(Value::from(source.trim_matches('`').replace('\r', ""))),
            Token::OpenBracket => return self.in_brackets(span).map(Some),
            _ => return Ok(None),
        };
        self.next_solid();
        Ok(Some(operand))
    }

    /// A pipeline in brackets. It may set a variable, and gives what it sets.
    fn in_brackets(&mut self, span: Span) -> Result<Operand, Mistake> {
        self.next_solid();
        self.deeper(span)?;
        let known = self.scope.visible.len();
        let Pipeline { variables, declares, mut value } = self.pipeline(Token::CloseBracket, "brackets", 1)?;
        if let Some(variable) = variables.first().filter(|_| !declares) {
            let (slot, set) = self.variable_slot(variable, declares, value);
            value = Expression { span: set.span, kind: Kind::Assign(Box::new((slot, set))) };
        }
        self.scope.visible.truncate(known);
        self.depth -= 1;
        let end = self.lexemes.get(self.at.saturating_sub(1)).map_or(span.end, |last| last.span.end);
        Ok(Operand::Bare(Expression { span: Span { start: span.start, end }, ..value }))
    }
}

fn unknown_function(name: &str, span: Span) -> Mistake {
    let near = functions::nearest(name).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Mistake { message: format!("there is no function `{name}`{near}"), span }
}

/// What `.Capabilities.APIVersions.Has` is asked for, if it is written there.
fn asked(command: &Expression) -> Option<Arc<str>> {
    let Kind::Field(field) = &command.kind else { return None };
    let ([.., list, method], [wanted]) = (field.steps.as_slice(), field.arguments.as_slice()) else { return None };
    match &wanted.kind {
        Kind::Constant(Value::Text(wanted)) if &*list.key == "APIVersions" && &*method.key == "Has" => {
            Some(Arc::clone(wanted))
        }
        _ => None,
    }
}

/// An operand that is an argument.
fn as_argument(operand: Operand) -> Expression {
    match operand {
        Operand::Nil(span) => Expression { span, kind: Kind::Constant(Value::Null) },
        Operand::Function(_, span) | Operand::Chain(_, _, span) => called(operand, Vec::new(), span),
        Operand::Bare(expression) | Operand::Constant(expression) => expression,
    }
}

/// A command: its first operand with the others for arguments.
fn called(first: Operand, arguments: Vec<Expression>, span: Span) -> Expression {
    let failing = |message: &str| Expression { span, kind: Kind::Failing(Arc::from(message)) };
    match first {
        Operand::Function(Function::Native(Native::And), _) if !arguments.is_empty() => {
            Expression { span, kind: Kind::Either(false, arguments) }
        }
        Operand::Function(Function::Native(Native::Or), _) if !arguments.is_empty() => {
            Expression { span, kind: Kind::Either(true, arguments) }
        }
        Operand::Function(function, _) => {
            Expression { span, kind: Kind::Function(Box::new(FunctionCall { function, arguments })) }
        }
        Operand::Chain(root, steps, own) => {
            let span = if arguments.is_empty() { own } else { span };
            Expression { span, kind: Kind::Field(Box::new(Field { root, steps, arguments })) }
        }
        Operand::Nil(_) => failing("`nil` is no command"),
        Operand::Bare(_) | Operand::Constant(_) if !arguments.is_empty() => {
            failing("arguments are given to something that is no function")
        }
        Operand::Bare(expression) | Operand::Constant(expression) => expression,
    }
}

/// The stretch without white space and what ended it.
fn trimmed(text: &str, span: Span) -> Span {
    let source = text.get(span.start as usize..span.end as usize).unwrap_or_default();
    let shorter = source.trim_end_matches(['|', '}', ' ', '\t', '\r', '\n']);
    let shorter = if shorter.is_empty() { source } else { shorter };
    Span { start: span.start, end: span.start + u32::try_from(shorter.len()).unwrap_or(0) }
}
