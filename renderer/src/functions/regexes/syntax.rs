//! Go's regular expressions written in the syntax of the `regex` crate, and what they cost.
//!
//! The two differ in what they allow: in Go `\d`, `\w`, `\s` and `\b` are ASCII, `[` and `&&` mean nothing inside a class,
//! `{` that counts nothing is a brace, `\Q...\E` and octal escapes exist, and `a**` is a mistake. Everything that is not
//! plain is written out in a form that can be read in one way only. It never matches anything itself.

mod class;

/// How deep groups may be nested.
pub(super) const MAX_NESTING: u32 = 100;

/// Go's bound of counted repetitions, also of those inside each other.
const MAX_REPEAT: u64 = 1000;

/// Bytes of the longest character.
const LETTER: usize = 4;

/// How far to look for the end of a count: a `{` without one is a brace, and there may be many.
const MAX_COUNT: usize = 32;

/// A pattern of the `regex` crate.
#[derive(Debug)]
pub(super) struct Translated {
    pub(super) pattern: String,
    /// About how many states it has.
    pub(super) states: u64,
    /// How many bytes beyond the end of a match a search for it looks at, if there is a bound.
    pub(super) ahead: Option<usize>,
}

/// What can be repeated.
#[derive(Clone, Copy)]
struct Element {
    states: u64,
    /// Bytes of the longest text it matches.
    longest: Option<usize>,
    /// The largest product of counts inside each other.
    repeat: u64,
    is_repeat: bool,
    is_group: bool,
}

impl Element {
    const fn new(states: u64) -> Self {
        Self { states, longest: Some(LETTER), repeat: 1, is_repeat: false, is_group: false }
    }
}

/// A group under construction.
#[derive(Clone, Copy)]
struct Group {
    states: u64,
    /// Bytes of the longest text it matches; alternatives are added up.
    longest: Option<usize>,
    repeat: u64,
    last: Option<Element>,
}

impl Group {
    const EMPTY: Self = Self { states: 0, longest: Some(0), repeat: 1, last: None };

    fn settle(&mut self) {
        if let Some(element) = self.last.take() {
            self.states = self.states.saturating_add(element.states);
            self.longest = self.longest.zip(element.longest).map(|(one, other)| one.saturating_add(other));
            self.repeat = self.repeat.max(element.repeat);
        }
    }
}

struct Translator<'a> {
    rest: &'a str,
    out: String,
    group: Group,
    outer: Vec<Group>,
}

/// The pattern in the other syntax, or what is wrong with it.
pub(super) fn translate(pattern: &str) -> Result<Translated, String> {
    let mut translator = Translator {
        rest: pattern,
        out: String::with_capacity(pattern.len() * 2),
        group: Group::EMPTY,
        outer: Vec::new(),
    };
    while let Some(letter) = translator.next() {
        translator.element(letter)?;
    }
    if !translator.outer.is_empty() {
        return Err("a `)` is missing".into());
    }
    // Of one character, repeated or not, a match ends where the next one is another.
    let alone = translator.group.states == 0 && translator.group.last.is_some_and(|last| !last.is_group);
    translator.group.settle();
    let ahead = if alone { Some(LETTER) } else { translator.group.longest };
    Ok(Translated { pattern: translator.out, states: translator.group.states, ahead })
}

impl Translator<'_> {
    fn next(&mut self) -> Option<char> {
        let letter = self.rest.chars().next()?;
        self.rest = &self.rest[letter.len_utf8()..];
        Some(letter)
    }

    fn eat(&mut self, prefix: &str) -> bool {
        self.rest.strip_prefix(prefix).map(|rest| self.rest = rest).is_some()
    }

    fn push(&mut self, written: &str, states: u64) {
        self.group.settle();
        self.out.push_str(written);
        self.group.last = Some(Element::new(states));
    }

    fn literal(&mut self, letter: char) {
        self.group.settle();
        if letter.is_ascii_punctuation() && !matches!(letter, '<' | '>') {
            self.out.push('\\');
        }
        self.out.push(letter);
        self.group.last = Some(Element::new(letter.len_utf8() as u64));
    }

    fn element(&mut self, letter: char) -> Result<(), String> {
        match letter {
            '(' => return self.open(),
            ')' => return self.close(),
            '|' => {
                self.group.settle();
                self.out.push('|');
            }
            '^' => self.push("^", 1),
            '$' => self.push("$", 1),
            '.' => self.push(".", 8),
            '[' => {
                let (written, states) = class::bracketed(&mut self.rest)?;
                self.push(&written, states);
            }
            '*' | '+' | '?' => {
                self.out.push(letter);
                return self.repeat(1, (letter == '?').then_some(1));
            }
            '{' => return self.counted(),
            '\\' => return self.escape(),
            other => self.literal(other),
        }
        Ok(())
    }

    fn open(&mut self) -> Result<(), String> {
        self.group.settle();
        if !self.eat("?") {
            self.out.push('(');
            return self.nest();
        }
        if self.eat("P<") || self.eat("<") {
            let Some((name, rest)) = self.rest.split_once('>') else { return Err("a group's name has no end".into()) };
            if name.is_empty() || !name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()) {
                return Err("a group's name is made of letters, digits and `_`".into());
            }
            self.rest = rest;
            self.out.extend(["(?P<", name, ">"]);
            return self.nest();
        }
        let end = self.rest.find([':', ')']).ok_or("a `)` is missing")?;
        let flags = &self.rest[..end];
        let (on, off) = flags.split_once('-').unwrap_or((flags, "i"));
        if off.is_empty() || !on.bytes().chain(off.bytes()).all(|flag| b"imsU".contains(&flag)) {
            return Err(format!("`(?{}` is not known", flags.chars().take(8).collect::<String>()));
        }
        let starts_group = self.rest[end..].starts_with(':');
        if starts_group || !flags.is_empty() {
            self.out.push_str("(?");
            self.out.push_str(&self.rest[..=end]);
        }
        self.rest = &self.rest[end + 1..];
        if starts_group { self.nest() } else { Ok(()) }
    }

    fn nest(&mut self) -> Result<(), String> {
        if self.outer.len() >= MAX_NESTING as usize {
            return Err("it is nested too deep".into());
        }
        self.outer.push(std::mem::replace(&mut self.group, Group::EMPTY));
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        let outer = self.outer.pop().ok_or("a `(` is missing")?;
        let mut inner = std::mem::replace(&mut self.group, outer);
        inner.settle();
        self.out.push(')');
        self.group.last = Some(Element {
            states: inner.states + 2,
            longest: inner.longest,
            repeat: inner.repeat,
            is_repeat: false,
            is_group: true,
        });
        Ok(())
    }

    fn counted(&mut self) -> Result<(), String> {
        let Some((least, most, rest)) = counts(self.rest) else {
            self.literal('{');
            return Ok(());
        };
        let largest = most.unwrap_or(least).max(least);
        if largest > MAX_REPEAT || most.is_some_and(|most| most < least) {
            return Err("a repetition counts too far".into());
        }
        self.out.push('{');
        self.out.push_str(&self.rest[..self.rest.len() - rest.len()]);
        self.rest = rest;
        self.repeat(largest, most)
    }

    /// Repeats what was last, which costs as many times as much; `most` is how often at most it may come.
    fn repeat(&mut self, count: u64, most: Option<u64>) -> Result<(), String> {
        let element = self.group.last.ok_or("there is nothing to repeat")?;
        if element.is_repeat {
            return Err("a repetition is repeated".into());
        }
        if self.eat("?") {
            self.out.push('?');
        }
        let repeat = if count >= 2 { element.repeat.saturating_mul(count) } else { element.repeat };
        if repeat > MAX_REPEAT {
            return Err("a repetition counts too far".into());
        }
        let states = element.states.saturating_mul(count.max(1)).saturating_add(1);
        let most = most.and_then(|most| usize::try_from(most).ok());
        let longest = element.longest.zip(most).map(|(longest, most)| longest.saturating_mul(most));
        self.group.last = Some(Element { states, longest, repeat, is_repeat: true, is_group: element.is_group });
        Ok(())
    }

    fn escape(&mut self) -> Result<(), String> {
        if let Some((written, states)) = class::escaped(&mut self.rest, false)? {
            self.push(&written, states);
            return Ok(());
        }
        let Some(letter) = self.rest.chars().next() else { return Err("it ends with a backslash".into()) };
        match letter {
            'A' => self.push(r"\A", 1),
            'z' => self.push(r"\z", 1),
            'b' => self.push(r"(?-u:\b)", 1),
            'B' => self.push(r"(?-u:\B)", 1),
            'Q' => {
                let quoted = &self.rest[1..];
                let (literal, rest) = quoted.split_once(r"\E").unwrap_or((quoted, ""));
                for letter in literal.chars() {
                    self.literal(letter);
                }
                self.rest = rest;
                return Ok(());
            }
            _ => {
                let letter = class::character(&mut self.rest)?;
                self.literal(letter);
                return Ok(());
            }
        }
        self.rest = &self.rest[1..];
        Ok(())
    }
}

/// The least and the most of `3}`, `3,}` or `3,5}`, and what follows.
fn counts(text: &str) -> Option<(u64, Option<u64>, &str)> {
    let end = text[..text.floor_char_boundary(MAX_COUNT)].find('}')?;
    let (inside, rest) = (&text[..end], &text[end + 1..]);
    let number = |digits: &str| -> Option<u64> {
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let padded = digits.len() > 1 && digits.starts_with('0');
        (plain && !padded).then(|| digits.parse().unwrap_or(u64::MAX))
    };
    match inside.split_once(',') {
        None => number(inside).map(|count| (count, Some(count), rest)),
        Some((least, "")) => Some((number(least)?, None, rest)),
        Some((least, most)) => Some((number(least)?, Some(number(most)?), rest)),
    }
}
