//! From parser events to nodes.

use granit_parser::{Event, Parser, ScanError, Span as ParserSpan, Tag};

use super::build::Builder;
use super::{Content, Dialect, Document, Interner, Node, Options, Problem, Span};
use super::{fast_path, relax, scalar};
use crate::value::Value;

/// After so many problems of one text the rest is not looked at.
const MOST_PROBLEMS: usize = 100;

/// The documents of a text, with all that is wrong with them. Empty documents are left out. A syntax error ends the
/// reading: what a parser says after the first is guesswork.
pub fn documents(text: &str, options: &Options) -> Result<Vec<Node>, Vec<Problem>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut read = parsed(text, options);
    if options.dialect == Dialect::Strict {
        return read;
    }
    let mut relaxed: Option<String> = None;
    for _ in 0..relax::MOST {
        let Err(problems) = &read else { break };
        let Some(problem) = problems.last() else { break };
        let Some(next) = relax::relaxed(relaxed.as_deref().unwrap_or(text), problem) else { break };
        read = parsed(&next, options);
        relaxed = Some(next);
    }
    read
}

fn parsed(text: &str, options: &Options) -> Result<Vec<Node>, Vec<Problem>> {
    let mut builder = Builder::new(options.dialect, options.nodes);
    let end = unbroken_end(text, options.dialect);
    let mut reading = granit_parser::Options::default();
    reading.set_emit_comments(false);
    for event in Parser::new_from_str_with_options(text, reading) {
        if builder.problems.len() >= MOST_PROBLEMS {
            break;
        }
        match event {
            Ok((event, span)) => {
                match handle_event(&mut builder, unbroken(event, &span, end), &span, options.dialect) {
                    Ok(()) => {}
                    Err(stop) => {
                        builder.problems.push(stop);
                        break;
                    }
                }
            }
            Err(error) => {
                builder.problems.push(syntax(text, &error));
                break;
            }
        }
    }
    if builder.problems.is_empty() { Ok(builder.documents) } else { Err(builder.problems) }
}

/// The documents of a text as data. The same as [`documents`] without positions, and much faster for the usual style.
/// Texts that come again are shared with what was read before.
pub fn values(text: &str, options: &Options, interner: &mut Interner) -> Result<Vec<Document>, Vec<Problem>> {
    // What the plain style means is the same in every dialect; a block without a line break at its end is not of it.
    if let Some(documents) = fast_path::documents(text, options.nodes, interner) {
        return Ok(documents);
    }
    let value = |node: &Node| match node.to_value() {
        Ok(value) => Ok(Document { value, line: node.span.line }),
        Err(deep) => Err(vec![Problem::new("yaml-limit", node.span, deep.to_string())]),
    };
    documents(text, options)?.iter().map(value).collect()
}

/// Where a text ends, in characters, if its last line has no line break and Helm's reader is to see that.
fn unbroken_end(text: &str, dialect: Dialect) -> Option<usize> {
    let last = text.rsplit('\n').next().unwrap_or_default();
    (dialect == Dialect::Helm && !last.trim().is_empty()).then(|| text.chars().count())
}

/// A block of text whose last line has no line break holds none there either, for Helm's reader; the parser adds one.
fn unbroken<'e>(event: Event<'e>, at: &ParserSpan, end: Option<usize>) -> Event<'e> {
    use granit_parser::ScalarStyle::{Folded, Literal};
    match event {
        Event::Scalar(text, style @ (Literal | Folded), anchor, tag) if Some(at.end.index()) == end => {
            let text = match text.strip_suffix('\n') {
                Some(without) => without.to_owned().into(),
                None => text,
            };
            Event::Scalar(text, style, anchor, tag)
        }
        event => event,
    }
}

fn handle_event(builder: &mut Builder, event: Event<'_>, at: &ParserSpan, dialect: Dialect) -> Result<(), Problem> {
    let span = span_of(at);
    match event {
        Event::Scalar(text, style, anchor, tag) => {
            let plain = style == granit_parser::ScalarStyle::Plain;
            let value = scalar(builder, &text, plain, tag.as_deref(), span, dialect);
            builder.scalar(Node { span, content: Content::Scalar(value) }, &text, plain, anchor)
        }
        Event::SequenceStart(_, anchor, tag) => {
            collection_tag(builder, tag.as_deref(), "seq", span, dialect);
            builder.open(span, false, anchor)
        }
        Event::MappingStart(_, anchor, tag) => {
            collection_tag(builder, tag.as_deref(), "map", span, dialect);
            builder.open(span, true, anchor)
        }
        Event::SequenceEnd | Event::MappingEnd => builder.close(),
        Event::Alias(anchor) => builder.alias(anchor, span),
        Event::DocumentEnd => {
            builder.end_document();
            Ok(())
        }
        _ => Ok(()),
    }
}

fn scalar(builder: &mut Builder, text: &str, plain: bool, tag: Option<&Tag>, span: Span, dialect: Dialect) -> Value {
    let Some(tag) = tag else {
        if !plain {
            return Value::from(text);
        }
        return scalar::plain(text, dialect).unwrap_or_else(|refused| {
            let problem = Problem::new("yaml-ambiguous", span, refused.message).help(refused.help);
            builder.problems.push(problem);
            Value::from(text)
        });
    };
    if dialect == Dialect::Helm && !RESOLVED.iter().any(|known| core(tag) == Some(known)) {
        // As Go's reader: text, whatever the tag.
        return Value::from(text);
    }
    let meant = match core(tag) {
        Some("str") => return Value::from(text),
        Some("null") if matches!(text, "" | "~" | "null" | "Null" | "NULL") => return Value::Null,
        Some("int") => scalar::plain(text, dialect).ok().filter(|value| matches!(value, Value::Int(_))),
        Some("bool") => scalar::plain(text, dialect).ok().filter(|value| matches!(value, Value::Bool(_))),
        #[expect(clippy::cast_precision_loss, reason = "the tag asks for a float")]
        Some("float") => match scalar::plain(text, dialect) {
            Ok(Value::Int(number)) => Some(Value::Float(number as f64)),
            Ok(Value::Float(number)) => Some(Value::Float(number)),
            _ => None,
        },
        _ => None,
    };
    meant.unwrap_or_else(|| {
        builder.problems.push(unknown_tag(tag, span));
        Value::from(text)
    })
}

/// The tags of scalars by which their text is read.
const RESOLVED: &[&str] = &["str", "null", "int", "bool", "float"];

fn core(tag: &Tag) -> Option<&str> {
    (tag.handle() == "tag:yaml.org,2002:").then(|| tag.suffix())
}

fn collection_tag(builder: &mut Builder, tag: Option<&Tag>, wanted: &str, span: Span, dialect: Dialect) {
    if dialect != Dialect::Helm
        && let Some(tag) = tag
        && core(tag) != Some(wanted)
    {
        builder.problems.push(unknown_tag(tag, span));
    }
}

fn unknown_tag(tag: &Tag, span: Span) -> Problem {
    let name = match core(tag) {
        Some(name) => format!("!!{name}"),
        None => format!("{}{}", tag.handle(), tag.suffix()),
    };
    Problem::new("yaml-tag", span, format!("the tag `{name}` cannot be used here"))
        .help("remove the tag; text, numbers, booleans, lists and maps need none")
}

fn number(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn span_of(at: &ParserSpan) -> Span {
    if let Some(tag) = at.tag_start() {
        return Span { line: number(tag.line()), column: number(tag.col()) + 1, length: 1 };
    }
    let length = if at.end.line() == at.start.line() { at.end.col().saturating_sub(at.start.col()) } else { 1 };
    Span { line: number(at.start.line()), column: number(at.start.col()) + 1, length: number(length).max(1) }
}

fn syntax(text: &str, error: &ScanError) -> Problem {
    let at = error.marker();
    let span = Span { line: number(at.line()).max(1), column: number(at.col()) + 1, length: 1 };
    let line = text.lines().nth(at.line().saturating_sub(1)).unwrap_or_default();
    let indent: &str = &line[..line.len() - line.trim_start().len()];
    if let Some(tab) = indent.find('\t') {
        let span = Span { column: number(tab) + 1, ..span };
        return Problem::new("yaml-syntax", span, "a tab is used for indentation").help("indent with spaces");
    }
    let said = error.to_string();
    let said = [" at byte ", " at char "].iter().fold(&*said, |said, at| said.split(at).next().unwrap_or(said));
    Problem::new("yaml-syntax", span, format!("this is not YAML: {said}"))
}
