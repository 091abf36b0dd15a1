//! Regular expressions of schemas, in the syntax that ECMAScript and Go share, matched in linear time.
//!
//! Look-around and back-references need backtracking, which a hostile text can make endless: they are refused. What all
//! patterns of a file may take together is bounded, and so is each.

use std::collections::HashMap;
use std::sync::Arc;

use regex::{Regex, RegexBuilder};

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    regex: Regex,
    /// As it is written.
    pub(super) source: Arc<str>,
    weight: u64,
}

impl Pattern {
    /// What a match against a text may cost, in steps.
    pub(super) fn cost(&self, text: &str) -> u64 {
        (text.len() as u64).saturating_mul(self.weight) / 4 + 1
    }

    /// Whether some part of the text matches.
    pub(super) fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

/// Bytes that a pattern may compile to, and how much more a match costs then. The smallest that does is paid for.
const SIZES: [(usize, u64); 3] = [(16 << 10, 1), (128 << 10, 8), (1 << 20, 64)];

/// Bytes of a pattern as written: a class such as `\p{L}` grows a thousandfold when it is read.
const LONGEST: usize = 4096;

/// Bytes that all patterns of a file may compile to.
const TOTAL: usize = 32 << 20;

/// Compiles the patterns of a file, each only once.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    known: HashMap<Arc<str>, Result<Pattern, Refused>>,
    spent: usize,
}

/// Why a pattern cannot be used.
#[derive(Clone, Debug)]
pub(super) struct Refused {
    pub(super) message: String,
    pub(super) help: Option<&'static str>,
}

impl Patterns {
    /// The pattern that is written so.
    pub(super) fn compile(&mut self, source: &Arc<str>) -> Result<Pattern, Refused> {
        if let Some(known) = self.known.get(source) {
            return known.clone();
        }
        let compiled = self.fresh(source);
        self.known.insert(source.clone(), compiled.clone());
        compiled
    }

    fn fresh(&mut self, source: &Arc<str>) -> Result<Pattern, Refused> {
        if source.len() > LONGEST {
            let message = format!("the pattern is longer than {LONGEST} bytes");
            return Err(Refused { message, help: None });
        }
        let translated = translate(source);
        // What fails is paid for as well: it cost the time to find out.
        for (size, weight) in SIZES {
            if self.spent + size > TOTAL {
                break;
            }
            let built =
                RegexBuilder::new(&translated).size_limit(size).dfa_size_limit(size * 4).nest_limit(100).build();
            match built {
                Ok(regex) => {
                    self.spent += size;
                    return Ok(Pattern { regex, source: source.clone(), weight });
                }
                Err(regex::Error::CompiledTooBig(_)) => {}
                Err(error) => {
                    self.spent += SIZES[0].0;
                    return Err(refused(&error));
                }
            }
        }
        self.spent = self.spent.saturating_add(SIZES[2].0);
        let message = "the pattern, with all others of the file, is too large".to_owned();
        Err(Refused { message, help: Some("use smaller repetitions, and `maxLength` for the length") })
    }
}

fn refused(error: &regex::Error) -> Refused {
    let said = error.to_string();
    if said.contains("look-around") {
        return Refused {
            message: "the pattern looks ahead or behind, which is not supported".to_owned(),
            help: Some("write it as several patterns under `allOf`, with `not` for what must not match"),
        };
    }
    if said.contains("backreference") {
        return Refused {
            message: "the pattern refers back to a group, which is not supported".to_owned(),
            help: None,
        };
    }
    let reason = said.lines().last().unwrap_or_default();
    let reason = reason.strip_prefix("error: ").unwrap_or(reason);
    Refused { message: format!("the pattern cannot be read: {reason}"), help: None }
}

/// The same pattern for our engine: ASCII classes, and literals where the others take a character for one.
fn translate(source: &str) -> String {
    let mut out = String::with_capacity(source.len() + 16);
    let mut rest = source;
    // How many characters of a class were seen; `None` outside of one.
    let mut class: Option<usize> = None;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let mut taken = c.len_utf8();
        let inside = class.is_some();
        match (c, class) {
            ('\\', _) => taken += escape(&mut out, after, class.is_some()),
            ('[', None) => {
                out.push('[');
                class = Some(0);
                if after.starts_with('^') {
                    out.push('^');
                    taken += 1;
                }
            }
            ('[', Some(_)) if after.starts_with(':') && after.contains(":]") => {
                let end = after.find(":]").map_or(0, |end| end + 2);
                out.push('[');
                out.push_str(&after[..end]);
                taken += end;
            }
            (']', Some(seen)) if seen > 0 => {
                out.push(']');
                class = None;
            }
            ('[' | '&' | '~', Some(_)) => {
                out.push('\\');
                out.push(c);
            }
            ('-', Some(0)) => out.push_str("\\-"),
            ('-', Some(_)) if after.starts_with('-') => {
                out.push_str("-\\-");
                taken += 1;
            }
            ('{', None) if !is_repetition(after) => out.push_str("\\{"),
            (c, _) => out.push(c),
        }
        if inside && let Some(seen) = class.as_mut() {
            *seen += 1;
        }
        rest = &rest[taken..];
    }
    out
}

/// Writes the meaning of what follows a backslash; gives the bytes it took.
fn escape(out: &mut String, after: &str, in_class: bool) -> usize {
    let Some(c) = after.chars().next() else {
        out.push('\\');
        return 0;
    };
    match c {
        'd' => out.push_str("[0-9]"),
        'D' => out.push_str("[^0-9]"),
        'w' => out.push_str("[0-9A-Za-z_]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        'b' if in_class => out.push_str("\\x08"),
        'b' => out.push_str("(?-u:\\b)"),
        'c' => {
            if let Some(letter) = after.chars().nth(1).filter(char::is_ascii_alphabetic) {
                out.push(char::from(letter as u8 % 32));
                return 2;
            }
            out.push_str("\\c");
        }
        c => {
            out.push('\\');
            out.push(c);
            // The braces of `\p{L}` and `\u{1F600}` are no repetition.
            if let ('p' | 'P' | 'u' | 'x', Some(end)) = (c, braces(&after[c.len_utf8()..])) {
                out.push_str(&after[c.len_utf8()..c.len_utf8() + end]);
                return c.len_utf8() + end;
            }
        }
    }
    c.len_utf8()
}

/// The length of the braces that a text begins with.
fn braces(text: &str) -> Option<usize> {
    text.strip_prefix('{').and_then(|inside| inside.find('}')).map(|end| end + 2)
}

/// Whether a brace is followed by the rest of `{2}`, `{2,}` or `{2,3}`.
fn is_repetition(after: &str) -> bool {
    let Some((inside, _)) = after.split_once('}') else { return false };
    let (least, most) = inside.split_once(',').unwrap_or((inside, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    !least.is_empty() && digits(least) && digits(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(source: &str, text: &str) -> bool {
        Patterns::default()
            .compile(&source.into())
            .unwrap_or_else(|refused| panic!("{source}: {refused:?}"))
            .matches(text)
    }

    #[test]
    fn patterns_mean_what_they_mean_in_ecmascript_and_go() {
        assert!(!matches(r"^\d$", "߀") && matches(r"^\d$", "7"));
        assert!(!matches(r"^\w$", "é") && matches(r"^\W$", "é"));
        assert!(matches(r"^[\w.]+$", "a.b") && !matches(r"^[^\d]+$", "a1"));
        assert!(matches(r"^[[a]$", "[") && matches(r"^[a&&b]$", "&") && matches(r"^[[:alpha:]]$", "x"));
        assert!(matches(r"^{{ .* }}$", "{{ x }}") && matches(r"^a{2}$", "aa") && !matches(r"^a{2}$", "a{2}"));
        assert!(matches(r"^[+--]$", ",") && matches(r"^[-a]$", "-") && matches(r"^[a-]$", "-"));
        assert!(matches(r"^\/a$", "/a") && matches(r"^\cA$", "\u{1}") && matches(r"\bx\b", "a x b"));
        assert!(matches(r"^[]a]$", "]") && matches(r"^[^]a]$", "b"));
        assert!(matches(r"^\p{Letter}[\p{L}\u{41}]$", "éA") && matches(r"^\u0041\x41$", "AA"));
        assert!(!matches("^a$", "a\n"));
    }

    #[test]
    fn all_patterns_of_a_file_together_are_bounded() {
        let mut patterns = Patterns::default();
        assert!(patterns.compile(&r"(\p{L}{1000}){1000}".into()).is_err());
        let refused = (0..5_000).find(|n| patterns.compile(&format!("^a{n}$").into()).is_err());
        assert!(refused.is_some_and(|n| n > 1_000), "{refused:?}");
    }
}
