//! What a template means, once read: a tree that the evaluator walks, with names already resolved.
//!
//! Knows no syntax: whatever language a template was written in ends here. Owned, shared between threads, never changed.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::builtins::Builtin;
use super::go::functions::Function;
use super::jinja::tests::Test;
use crate::value::Value;

/// A stretch of the source, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub start: u32,
    pub end: u32,
}

/// One template.
#[derive(Debug)]
pub(super) struct Program {
    /// Path below `templates/`.
    pub name: Arc<str>,
    /// Path in the repository.
    pub file: Arc<str>,
    /// Its source, which raw text and messages quote.
    pub text: Arc<str>,
    /// Whether it is a text given to `tpl`, not a file.
    pub is_text: bool,
    pub routine: Routine,
    /// All macros of the file, nested ones and call blocks too.
    pub macros: Vec<Macro>,
    /// The bodies of recursive loops.
    pub loops: Vec<For>,
    /// Names that the top level gives to whoever imports it, with their slots.
    pub exports: Vec<(Arc<str>, u32)>,
    /// Templates that Go's `define` and `block` declare: those of `macros`.
    pub defines: Vec<Define>,
    /// Go: calls whose result cannot be what it is in Helm.
    pub unhonoured: Vec<(&'static str, Span)>,
    /// Go: the groups, versions and kinds that are asked for by name.
    pub asked: Vec<(Arc<str>, Span)>,
    /// Which syntax it is written in, for texts that it gives to `tpl`.
    pub syntax: Syntax,
    /// Where its lines end; found when somebody asks.
    pub line_ends: OnceLock<Box<[u32]>>,
}

/// The language of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    Jinja,
    Go,
}

/// A template that Go's `define` declares.
#[derive(Debug)]
pub(super) struct Define {
    pub name: Arc<str>,
    /// Which of the macros.
    pub number: u32,
    /// Whether it writes nothing: then it replaces no other of that name.
    pub is_empty: bool,
}

impl Program {
    /// The line of a position, from 1. Asked for every object, so it does not read the source each time.
    pub(super) fn line_at(&self, position: u32) -> u32 {
        let ends = self.line_ends.get_or_init(|| {
            self.text.match_indices('\n').map(|(at, _)| u32::try_from(at).unwrap_or(u32::MAX)).collect()
        });
        let before = ends.partition_point(|end| *end < position);
        u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// The source of a stretch.
    pub(super) fn source(&self, span: Span) -> &str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or_default()
    }
}

/// Statements that run with slots of their own.
#[derive(Debug, Default)]
pub(super) struct Routine {
    pub body: Vec<Statement>,
    /// The names of the slots; an inner name comes after the outer one it hides.
    pub names: Vec<Arc<str>>,
}

/// A macro, or the body of a call block.
#[derive(Debug)]
pub(super) struct Macro {
    pub name: Arc<str>,
    pub parameters: Vec<Parameter>,
    /// Where it expects its caller.
    pub caller: u32,
    pub routine: Routine,
}

/// A parameter of a macro.
#[derive(Debug)]
pub(super) struct Parameter {
    pub name: Arc<str>,
    pub span: Span,
    pub slot: u32,
    pub default: Option<Expression>,
}

/// Slots of a routine, from and up to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slots {
    pub start: u32,
    pub end: u32,
}

/// Something to do.
#[derive(Debug)]
pub(super) enum Statement {
    Raw(Span),
    Emit(Expression),
    If(Box<If>),
    For(Box<For>),
    /// A loop of the program's own table.
    Recursive(u32),
    With(Box<With>),
    Set(Target, Expression),
    Capture(Box<Capture>),
    /// A macro is declared: its slot and its number.
    Macro(u32, u32),
    Call(Box<CallBlock>),
    Import(Box<Import>),
    Include(Box<Include>),
    Do(Expression),
    Break,
    Continue,
    /// Go: what the expression gives is written as `fmt` writes it.
    Print(Expression),
    /// Go: a variable is declared or set.
    Assign(u32, Expression),
    /// Go: `if` and `with`.
    Choose(Box<Choose>),
    /// Go: `range`.
    Range(Box<Range>),
    /// Go: `template`.
    Template(Box<TemplateCall>),
}

/// Go's `if` or `with`, with all that follows on `else`.
#[derive(Debug)]
pub(super) struct Choose {
    pub branches: Vec<Branch>,
    pub otherwise: Vec<Statement>,
}

/// One condition and what is done where it holds.
#[derive(Debug)]
pub(super) struct Branch {
    pub condition: Expression,
    /// The variable that is set to what the condition gives.
    pub variable: Option<u32>,
    /// Where `with` puts it as the dot.
    pub dot: Option<u32>,
    pub body: Vec<Statement>,
}

/// Go's `range`.
#[derive(Debug)]
pub(super) struct Range {
    pub subject: Expression,
    pub key: Option<u32>,
    pub value: Option<u32>,
    pub dot: u32,
    pub body: Vec<Statement>,
    pub otherwise: Vec<Statement>,
}

/// Go's `template`: runs a named template where it stands.
#[derive(Debug)]
pub(super) struct TemplateCall {
    pub name: Arc<str>,
    pub span: Span,
    pub argument: Option<Expression>,
}

/// `if`, with all its `elif`.
#[derive(Debug)]
pub(super) struct If {
    pub branches: Vec<(Expression, Vec<Statement>)>,
    pub otherwise: Vec<Statement>,
}

/// A loop.
#[derive(Debug)]
pub(super) struct For {
    pub target: Target,
    pub items: Expression,
    /// Whether the items are those of a map, and its two targets take key and value: then no pairs need be made.
    pub pairs: bool,
    pub filter: Option<Expression>,
    /// Its number in the program's table, if it may call itself.
    pub recursive: Option<u32>,
    /// Where `loop` lives.
    pub controls: u32,
    pub uses_controls: bool,
    pub body: Vec<Statement>,
    pub otherwise: Vec<Statement>,
    /// The names of one turn.
    pub own: Slots,
    /// The same and all names inside.
    pub all: Slots,
}

/// `with`.
#[derive(Debug)]
pub(super) struct With {
    pub assignments: Vec<(Target, Expression)>,
    pub body: Vec<Statement>,
    pub own: Slots,
}

/// Text written by statements is caught: by a set block or a filter block.
#[derive(Debug)]
pub(super) struct Capture {
    pub body: Vec<Statement>,
    /// Where the text is put for the filters to find.
    pub slot: u32,
    /// What becomes of it.
    pub result: Expression,
    /// Where it goes; it is written out if nowhere.
    pub target: Option<Target>,
}

/// `call`.
#[derive(Debug)]
pub(super) struct CallBlock {
    pub call: Expression,
    pub body: u32,
}

/// `import` and `from .. import`.
#[derive(Debug)]
pub(super) struct Import {
    pub template: Expression,
    pub whole: Option<u32>,
    pub names: Vec<(Arc<str>, u32, Span)>,
}

/// `include`.
#[derive(Debug)]
pub(super) struct Include {
    pub template: Expression,
    pub ignore_missing: bool,
}

/// Where a value goes.
#[derive(Debug)]
pub(super) enum Target {
    Slot(u32),
    /// A key of a namespace.
    Member(Variable, Arc<str>, Span),
    /// One item each.
    Each(Vec<Target>, Span),
}

/// A name. The first place that holds something wins; then whoever included the template; then the scope.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub name: Arc<str>,
    pub places: Box<[SlotRef]>,
}

/// A slot of this routine (level 0), or of the one its macro was declared in (1), and so on.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotRef {
    pub level: u32,
    pub slot: u32,
}

/// Something with a value.
#[derive(Debug)]
pub(super) struct Expression {
    pub span: Span,
    pub kind: Kind,
}

impl Expression {
    /// The map whose pairs this gives: `map | items` or `map.items()`.
    pub(super) fn map_of_items(&self) -> Option<&Expression> {
        let Kind::Call(call) = &self.kind else { return None };
        match (&call.callee, call.arguments.as_slice()) {
            (Callee::Builtin(Builtin::Jinja(function)), [Argument::Plain(map)]) if function.name == "items" => {
                Some(map)
            }
            (Callee::Method(map, name), []) if &**name == "items" => Some(map),
            _ => None,
        }
    }
}

/// What kind of expression.
#[derive(Debug)]
pub(super) enum Kind {
    Constant(Value),
    Variable(Variable),
    Path(Box<Path>),
    Item(Box<(Expression, Expression)>),
    Slice(Box<Slice>),
    Not(Box<Expression>),
    Negate(Box<Expression>),
    And(Box<(Expression, Expression)>),
    Or(Box<(Expression, Expression)>),
    Arithmetic(Arithmetic, Box<(Expression, Expression)>),
    Concat(Vec<Expression>),
    Compare(Box<Expression>, Vec<(Comparison, Expression)>),
    If(Box<(Expression, Expression, Option<Expression>)>),
    Test(Box<TestCall>),
    List(Vec<Expression>),
    Map(Vec<(Expression, Expression)>),
    Call(Box<Call>),
    /// Go: a variable or the dot.
    Slot(u32),
    /// Go: fields of something, or a method with its arguments.
    Field(Box<Field>),
    /// Go: `or` (true) and `and` (false).
    Either(bool, Vec<Expression>),
    /// Go: a function.
    Function(Box<FunctionCall>),
    /// Go: a pipeline in brackets that sets a variable, and gives what it sets.
    Assign(Box<(u32, Expression)>),
    /// Go: what can be read and never be run: the error of running it.
    Failing(Arc<str>),
}

/// `.a.b`, `$x.a.b` or `(..).a.b`, with arguments if the last is called.
#[derive(Debug)]
pub(super) struct Field {
    pub root: Expression,
    pub steps: Vec<Step>,
    pub arguments: Vec<Expression>,
}

/// A call of a function in Go's syntax.
#[derive(Debug)]
pub(super) struct FunctionCall {
    pub function: Function,
    pub arguments: Vec<Expression>,
}

/// Keys known beforehand, from a name or from something computed.
#[derive(Debug)]
pub(super) struct Path {
    pub root: Root,
    pub steps: Vec<Step>,
}

/// Where a path begins.
#[derive(Debug)]
pub(super) enum Root {
    Variable(Variable, Span),
    Computed(Expression),
}

/// One key of a path and where its source ends.
#[derive(Debug)]
pub(super) struct Step {
    pub key: Arc<str>,
    pub end: u32,
}

/// `subject[start:end:step]`.
#[derive(Debug)]
pub(super) struct Slice {
    pub subject: Expression,
    pub start: Option<Expression>,
    pub end: Option<Expression>,
    pub step: Option<Expression>,
}

/// `subject is test(arguments)`.
#[derive(Debug)]
pub(super) struct TestCall {
    pub test: Test,
    pub subject: Expression,
    pub arguments: Vec<Expression>,
}

/// Operators on numbers, and `+` and `*` on text and lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
    Power,
}

impl fmt::Display for Arithmetic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::FloorDivide => "//",
            Self::Remainder => "%",
            Self::Power => "**",
        })
    }
}

/// Operators with a truth for result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
}

/// A call of anything.
#[derive(Debug)]
pub(super) struct Call {
    pub callee: Callee,
    pub arguments: Vec<Argument>,
    /// Whether every argument is plain.
    pub plain: bool,
}

/// What is called.
#[derive(Debug)]
pub(super) enum Callee {
    Builtin(Builtin),
    /// A macro, `caller` or `loop`; the builtin if the name holds none of them.
    Variable(Variable, Option<Builtin>),
    /// A macro of a module, or a method of a value.
    Method(Expression, Arc<str>),
}

/// One argument.
#[derive(Debug)]
pub(super) enum Argument {
    Plain(Expression),
    Named(Arc<str>, Expression),
    /// The items of a list.
    Spread(Expression),
    /// The entries of a map, by name.
    SpreadNamed(Expression),
}

impl Argument {
    /// What it evaluates.
    pub(super) fn expression(&self) -> &Expression {
        match self {
            Self::Plain(expression)
            | Self::Named(_, expression)
            | Self::Spread(expression)
            | Self::SpreadNamed(expression) => expression,
        }
    }
}
