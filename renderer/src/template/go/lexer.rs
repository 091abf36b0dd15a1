//! The tokens of Go's text/template: text, trim marks, comments, and what is between the delimiters.
//!
//! Owns where actions begin and end and what their white space means. It reads the whole text once and never goes back.

use crate::template::program::Span;

/// One token of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// Text between actions, already trimmed; never empty.
    Text,
    /// `{{`.
    Open,
    /// `}}`.
    Close,
    /// White space inside an action: Go tells `a .b` from `a.b` by it.
    Space,
    /// `.name`.
    Field,
    /// `$` or `$name`.
    Variable,
    /// `.` alone.
    Dot,
    /// A word: a keyword, `true`, `nil` or a function.
    Word,
    /// `"text"`.
    Quoted,
    /// A raw string.
    Raw,
    /// `'c'`.
    Character,
    Number,
    Pipe,
    OpenBracket,
    CloseBracket,
    /// `:=`.
    Declare,
    /// `=`.
    Assign,
    Comma,
    /// The end of the text.
    End,
}

/// A token and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexeme {
    pub token: Token,
    pub span: Span,
}

/// What cannot be read, and where.
#[derive(Debug)]
pub(super) struct Mistake {
    pub message: String,
    pub span: Span,
}

/// The tokens of a text.
pub(super) fn tokens(text: &str) -> Result<Vec<Lexeme>, Mistake> {
    let mut lexer = Lexer { text, at: 0, found: Vec::with_capacity(text.len() / 8), brackets: 0 };
    lexer.run()?;
    Ok(lexer.found)
}

const SPACES: [char; 4] = [' ', '\t', '\r', '\n'];

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    found: Vec<Lexeme>,
    brackets: u32,
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

fn is_word(letter: char) -> bool {
    letter == '_' || letter.is_alphanumeric()
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn push(&mut self, token: Token, start: usize) {
        self.found.push(Lexeme { token, span: Span { start: offset(start), end: offset(self.at) } });
    }

    fn mistake<T>(&self, start: usize, message: impl Into<String>) -> Result<T, Mistake> {
        let end = self.at.max(start + 1);
        Err(Mistake { message: message.into(), span: Span { start: offset(start), end: offset(end) } })
    }

    fn run(&mut self) -> Result<(), Mistake> {
        let mut trim_left = false;
        loop {
            let start = self.at;
            let Some(open) = self.rest().find("{{") else {
                self.at = self.text.len();
                self.text_between(start, self.at, trim_left, false);
                self.push(Token::End, self.at);
                return Ok(());
            };
            let open = start + open;
            let trim_right = trims_before(&self.text[open + 2..]);
            self.text_between(start, open, trim_left, trim_right);
            self.at = open + 2 + if trim_right { 2 } else { 0 };
            trim_left = if self.rest().starts_with("/*") { self.comment(open)? } else { self.action(open)? };
        }
    }

    fn text_between(&mut self, start: usize, end: usize, trim_left: bool, trim_right: bool) {
        let (mut start, mut end) = (start, end);
        if trim_left {
            start += self.text[start..end].len() - self.text[start..end].trim_start_matches(SPACES).len();
        }
        if trim_right {
            end = start + self.text[start..end].trim_end_matches(SPACES).len();
        }
        if start < end {
            self.found.push(Lexeme { token: Token::Text, span: Span { start: offset(start), end: offset(end) } });
        }
    }

    /// A comment is an action of its own; gives back whether the text behind it is trimmed.
    fn comment(&mut self, open: usize) -> Result<bool, Mistake> {
        let Some(length) = self.rest().find("*/") else {
            return self.mistake(open, "the comment is not closed");
        };
        self.at += length + 2;
        if self.rest().starts_with("}}") {
            self.at += 2;
            return Ok(false);
        }
        let rest = self.rest();
        if rest.starts_with(SPACES) && rest.get(1..).is_some_and(|rest| rest.starts_with("-}}")) {
            self.at += 4;
            return Ok(true);
        }
        self.mistake(open, "a comment must end right before its `}}` or ` -}}`")
    }

    fn action(&mut self, open: usize) -> Result<bool, Mistake> {
        self.push(Token::Open, open);
        self.brackets = 0;
        loop {
            let start = self.at;
            let rest = self.rest();
            let trims = rest.starts_with(SPACES) && rest.get(1..).is_some_and(|rest| rest.starts_with("-}}"));
            if trims || rest.starts_with("}}") {
                if self.brackets > 0 {
                    return self.mistake(start, "a `(` is not closed");
                }
                self.at += if trims { 4 } else { 2 };
                self.push(Token::Close, start);
                return Ok(trims);
            }
            let Some(letter) = rest.chars().next() else {
                return self.mistake(open, "the action is not closed: `}}` is missing");
            };
            self.inside(letter, start)?;
        }
    }

    fn inside(&mut self, letter: char, start: usize) -> Result<(), Mistake> {
        match letter {
            ' ' | '\t' | '\r' | '\n' => {
                self.space(start);
                Ok(())
            }
            '=' => {
                self.single(Token::Assign);
                Ok(())
            }
            ':' => {
                if self.rest().starts_with(":=") {
                    self.at += 2;
                    self.push(Token::Declare, start);
                    return Ok(());
                }
                self.mistake(start, "a `:` must be followed by `=`")
            }
            '|' | ',' => {
                self.single(if letter == '|' { Token::Pipe } else { Token::Comma });
                Ok(())
            }
            '(' => {
                self.brackets += 1;
                self.single(Token::OpenBracket);
                Ok(())
            }
            ')' => {
                if self.brackets == 0 {
                    return self.mistake(start, "a `)` closes nothing");
                }
                self.brackets -= 1;
                self.single(Token::CloseBracket);
                Ok(())
            }
            '"' => self.quoted(start, '"', Token::Quoted),
            '\'' => self.quoted(start, '\'', Token::Character),
            '`' => {
                let Some(length) = self.rest()[1..].find('`') else {
                    return self.mistake(start, "the raw string is not closed");
                };
                self.at += length + 2;
                self.push(Token::Raw, start);
                Ok(())
            }
            '$' => {
                self.at += 1;
                self.word(start, Token::Variable)
            }
            '.' if !self.rest()[1..].starts_with(|next: char| next.is_ascii_digit()) => {
                self.at += 1;
                let token = if self.rest().starts_with(is_word) { Token::Field } else { Token::Dot };
                self.word(start, token)
            }
            '+' | '-' | '.' | '0'..='9' => self.number(start),
            letter if is_word(letter) => self.word(start, Token::Word),
            letter => {
                self.at += letter.len_utf8();
                self.mistake(start, format!("`{}` is not expected in an action", letter.escape_debug()))
            }
        }
    }

    /// White space; one that begins ` -}}` belongs to the delimiter.
    fn space(&mut self, start: usize) {
        let rest = self.rest();
        let spaces = rest.len() - rest.trim_start_matches(SPACES).len();
        let before_trim = spaces > 1 && rest[spaces..].starts_with("-}}");
        self.at += if before_trim { spaces - 1 } else { spaces };
        self.push(Token::Space, start);
    }

    fn single(&mut self, token: Token) {
        let start = self.at;
        self.at += 1;
        self.push(token, start);
    }

    fn quoted(&mut self, start: usize, quote: char, token: Token) -> Result<(), Mistake> {
        let mut letters = self.rest().char_indices().skip(1);
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\\' if letters.next().is_none_or(|(_, letter)| letter == '\n') => break,
                '\n' => break,
                letter if letter == quote => {
                    self.at = start + at + 1;
                    self.push(token, start);
                    return Ok(());
                }
                _ => {}
            }
        }
        self.mistake(start, "the text in quotes is not closed on its line")
    }

    /// A name up to where it must end.
    fn word(&mut self, start: usize, token: Token) -> Result<(), Mistake> {
        let rest = self.rest();
        self.at += rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
        self.push(token, start);
        self.terminated(start)
    }

    fn terminated(&self, start: usize) -> Result<(), Mistake> {
        let next = self.rest().chars().next();
        match next {
            None | Some(' ' | '\t' | '\r' | '\n' | '.' | ',' | '|' | ':' | ')' | '(' | '=') => Ok(()),
            Some(_) if self.rest().starts_with("}}") => Ok(()),
            Some(letter) => self.mistake(start, format!("`{}` cannot follow a name directly", letter.escape_debug())),
        }
    }

    fn number(&mut self, start: usize) -> Result<(), Mistake> {
        let rest = self.rest();
        let mut end = usize::from(rest.starts_with(['+', '-']));
        let mut before = ' ';
        let is_hex = rest[end..].starts_with("0x") || rest[end..].starts_with("0X");
        for letter in rest[end..].chars() {
            let sign = matches!(letter, '+' | '-')
                && if is_hex { matches!(before, 'p' | 'P') } else { matches!(before, 'e' | 'E') };
            if !(sign || letter == '.' || is_word(letter)) {
                break;
            }
            end += letter.len_utf8();
            before = letter;
        }
        self.at += end;
        if end == 0 || !self.text[start..self.at].contains(|letter: char| letter.is_ascii_digit()) {
            self.at = self.at.max(start + 1);
            return self.mistake(start, format!("`{}` is no number", &self.text[start..self.at]));
        }
        self.push(Token::Number, start);
        Ok(())
    }
}

/// Whether what follows `{{` begins with a trim mark: `-` and white space.
fn trims_before(rest: &str) -> bool {
    rest.starts_with('-') && rest[1..].starts_with(SPACES)
}
