//! Percent signs: which part of an address lets which characters stand.

/// A part of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    User,
    Host,
    /// The zone of an IPv6 address.
    Zone,
    Path,
    /// A value in a query, where a space is a plus.
    Query,
    Fragment,
}

fn stands(byte: u8, part: Part) -> bool {
    if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        return true;
    }
    let allowed: &[u8] = match part {
        Part::User => b"$&+,;=",
        Part::Host | Part::Zone => b"!$&'()*+,;=:[]<>\"",
        Part::Path => b"$&+,/:;=@",
        Part::Query => b"",
        Part::Fragment => b"$&+,/:;=?@!()*",
    };
    allowed.contains(&byte)
}

/// The text as it may stand in that part.
pub(super) fn escape(text: &str, part: Part) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for byte in text.bytes() {
        if stands(byte, part) {
            out.push(char::from(byte));
        } else if byte == b' ' && part == Part::Query {
            out.push('+');
        } else {
            out.push('%');
            out.extend([byte >> 4, byte & 15].map(digit));
        }
    }
    out
}

fn digit(half: u8) -> char {
    char::from_digit(u32::from(half), 16).unwrap_or('0').to_ascii_uppercase()
}

/// The text that stands in that part, or what is wrong with it.
pub(super) fn unescape(text: &str, part: Part) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            if matches!(part, Part::Host | Part::Zone) && first.is_ascii() && !stands(*first, part) {
                return Err(format!("`{}` cannot stand in a host", char::from(*first)));
            }
            bytes.push(*first);
            continue;
        }
        let escaped = after.get(..2).and_then(byte).ok_or("a `%` needs two hexadecimal digits")?;
        let allowed = match part {
            Part::Host => escaped == b'%' || !escaped.is_ascii(),
            Part::Zone => matches!(escaped, b'%' | b' ') || stands(escaped, Part::Host),
            Part::User | Part::Path | Part::Query | Part::Fragment => true,
        };
        if !allowed {
            return Err("a host cannot be escaped".into());
        }
        bytes.push(escaped);
        rest = &after[2..];
    }
    String::from_utf8(bytes).map_err(|_| "it is no text once its `%` are resolved".into())
}

fn byte(digits: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let number = digit(digits[0])? * 16 + digit(digits[1])?;
    u8::try_from(number).ok()
}
