//! Refuses what the parser could not survive: texts too large, and expressions nested or chained too deep.
//!
//! The parser bounds brackets and blocks itself, but not `not not ..`, `--..`, `.. else ..`, `elif` and brackets around
//! names; and chains such as `a.b.c` or `a ~ b ~ c` become trees as deep as they are long, which recurse when dropped.

use minijinja::machinery::{Token, tokenize};

use super::{configuration, span};
use crate::template::program::Span;

/// Bytes of one template.
const LARGEST: usize = 1 << 20;
/// Lines, and characters of one line: the parser counts no further.
const LONGEST: usize = 60_000;
/// Operators, dots, filters and brackets inside each other.
const DEEPEST: usize = 256;
/// Brackets alone, which cost the parser the most.
const BRACKETS: usize = 32;
/// Blocks inside each other.
const BLOCKS: usize = 60;
/// `elif` branches of the blocks around a place.
const BRANCHES: usize = 100;

/// What is refused, and where.
#[derive(Debug)]
pub(super) struct Refusal {
    pub message: String,
    pub span: Span,
}

/// Looks at the tokens of a template.
pub(super) fn check(text: &str) -> Result<(), Refusal> {
    let refuse = |message: &str| Err(Refusal { message: message.to_owned(), span: Span::default() });
    if text.len() > LARGEST {
        return refuse("the template is larger than 1 MiB");
    }
    if text.split('\n').count() > LONGEST || text.split('\n').any(|line| line.len() > LONGEST) {
        return refuse("the template has more than 60000 lines, or a line of more than 60000 bytes");
    }
    let mut depth = Depth::default();
    for token in tokenize(text, false, configuration()) {
        // The parser meets the same mistake and words it better.
        let Ok((token, at)) = token else { return Ok(()) };
        if let Err(message) = depth.see(&token) {
            return Err(Refusal { message, span: span(at) });
        }
    }
    Ok(())
}

/// How deep the tree is at the token last seen, never less than it really is.
#[derive(Default)]
struct Depth {
    /// Links of the chain at each level of brackets.
    chains: Vec<usize>,
    total: usize,
    /// Branches of each open `if`.
    branches: Vec<usize>,
    branched: usize,
    /// Open blocks of any kind.
    blocks: usize,
    at_keyword: bool,
    /// Inside a `set` of which it is not known yet whether it opens a block.
    may_open: bool,
}

impl Depth {
    fn see(&mut self, token: &Token<'_>) -> Result<(), String> {
        let at_keyword = std::mem::take(&mut self.at_keyword);
        match token {
            Token::BlockStart | Token::VariableStart => {
                self.chains = vec![0];
                self.total = 0;
                self.at_keyword = matches!(token, Token::BlockStart);
            }
            Token::BlockEnd => {
                self.blocks += usize::from(std::mem::take(&mut self.may_open));
                return self.check_blocks();
            }
            Token::Ident(word) if at_keyword => return self.block(word),
            Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => {
                self.link();
                self.chains.push(0);
                if self.chains.len() > BRACKETS {
                    return Err(format!("brackets are nested more than {BRACKETS} levels deep"));
                }
            }
            Token::ParenClose | Token::BracketClose | Token::BraceClose => {
                self.total -= self.chains.pop().unwrap_or(0);
                if self.chains.is_empty() {
                    self.chains.push(0);
                }
            }
            Token::Comma | Token::Colon => {
                if let Some(chain) = self.chains.last_mut() {
                    self.total -= std::mem::take(chain);
                }
            }
            Token::Ident("not" | "if" | "else" | "is" | "and" | "or" | "in") => self.link(),
            Token::Ident(_)
            | Token::Str(_)
            | Token::String(_)
            | Token::Int(_)
            | Token::Int128(_)
            | Token::Float(_)
            | Token::TemplateData(_)
            | Token::VariableEnd => {}
            Token::Assign => self.may_open = false,
            _ => self.link(),
        }
        if self.total > DEEPEST {
            return Err(format!(
                "the expression has more than {DEEPEST} operators, filters and dots inside each other; use `set` for its parts"
            ));
        }
        Ok(())
    }

    fn link(&mut self) {
        if let Some(chain) = self.chains.last_mut() {
            *chain += 1;
            self.total += 1;
        }
    }

    fn check_blocks(&self) -> Result<(), String> {
        if self.blocks > BLOCKS {
            return Err(format!("blocks are nested more than {BLOCKS} levels deep"));
        }
        Ok(())
    }

    fn block(&mut self, word: &str) -> Result<(), String> {
        self.may_open = word == "set";
        match word {
            "for" | "with" | "macro" | "call" | "filter" | "block" | "autoescape" => self.blocks += 1,
            "if" => {
                self.blocks += 1;
                self.branches.push(0);
            }
            "elif" => {
                if let Some(branches) = self.branches.last_mut() {
                    *branches += 1;
                    self.branched += 1;
                }
            }
            "endif" => {
                self.blocks = self.blocks.saturating_sub(1);
                self.branched -= self.branches.pop().unwrap_or(0);
            }
            _ if word.starts_with("end") => self.blocks = self.blocks.saturating_sub(1),
            _ => {}
        }
        if self.branched > BRANCHES {
            return Err(format!("more than {BRANCHES} `elif` branches inside each other"));
        }
        Ok(())
    }
}
