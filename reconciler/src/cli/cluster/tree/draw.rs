//! A tree on lines.

use super::super::cell::paint;
use super::forest::Node;
use crate::cli::style::{Paint, Style};
use crate::cli::text::harmless;

/// What lines are made of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lines {
    Unicode,
    Ascii,
}

impl Lines {
    /// Before a child, and before what is below it; the last child has others.
    fn parts(self, last: bool) -> (&'static str, &'static str) {
        match (self, last) {
            (Self::Unicode, false) => ("├── ", "│   "),
            (Self::Unicode, true) => ("└── ", "    "),
            (Self::Ascii, false) => ("|-- ", "|   "),
            (Self::Ascii, true) => ("`-- ", "    "),
        }
    }
}

/// Writes a tree, its root at the left.
pub(super) fn draw(root: &Node, lines: Lines, style: Style, out: &mut String) {
    line(root, style, out);
    below(root, "", lines, style, out);
}

fn below(node: &Node, indent: &str, lines: Lines, style: Style, out: &mut String) {
    for (at, child) in node.children.iter().enumerate() {
        let (before, after) = lines.parts(at + 1 == node.children.len());
        out.push_str(&style.paint(Paint::Faint, &format!("{indent}{before}")));
        line(child, style, out);
        below(child, &format!("{indent}{after}"), lines, style, out);
    }
}

fn line(node: &Node, style: Style, out: &mut String) {
    out.push_str(&harmless(&node.name));
    if let Some(state) = node.state {
        out.push(' ');
        out.push_str(&style.paint(paint(state), &format!("{state:?}")));
    }
    for detail in &node.details {
        out.push(' ');
        out.push_str(&style.paint(Paint::Faint, &harmless(detail)));
    }
    if let Some(trouble) = &node.trouble {
        out.push_str(": ");
        out.push_str(&style.paint(Paint::Warning, &harmless(trouble)));
    }
    out.push('\n');
}
