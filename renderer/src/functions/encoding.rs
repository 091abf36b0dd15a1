//! Base64 and base32. What cannot be decoded comes back as Go's error text, which charts look for.

use data_encoding::{BASE32, BASE64, Encoding};

use crate::budget::Budget;
use crate::failure::Failure;
use crate::value::Value;

use super::Entry;
use super::arguments::text;

#[cfg(test)]
mod tests;

pub(super) static TABLE: &[Entry] = &[
    Entry::new("b64enc", 1, 1, base64_encode),
    Entry::new("b64dec", 1, 1, base64_decode),
    Entry::new("b32enc", 1, 1, base32_encode),
    Entry::new("b32dec", 1, 1, base32_decode),
];

const PADDING: u8 = b'=';

fn base64_encode(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    encode(budget, text(arguments, 0)?, &BASE64)
}

fn base32_encode(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    encode(budget, text(arguments, 0)?, &BASE32)
}

fn encode(budget: &Budget, subject: &str, encoding: &Encoding) -> Result<Value, Failure> {
    budget.memory(encoding.encode_len(subject.len()) as u64)?;
    Ok(encoding.encode(subject.as_bytes()).into())
}

fn base64_decode(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let subject = text(arguments, 0)?;
    budget.memory(subject.len() as u64)?;
    result("base64", base64_bytes(subject.as_bytes()))
}

fn base32_decode(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let subject = text(arguments, 0)?;
    budget.memory(subject.len() as u64 * 2)?;
    let plain: Vec<u8> = subject.bytes().filter(|byte| !is_line_end(*byte)).collect();
    result("base32", base32_bytes(&plain))
}

fn result(name: &str, decoded: Result<Vec<u8>, usize>) -> Result<Value, Failure> {
    match decoded {
        Ok(bytes) => String::from_utf8(bytes).map(Value::from).map_err(|_| {
            Failure::argument(format!("the {name} text holds bytes that are no text; leave it encoded and pass it on"))
        }),
        Err(at) => Ok(format!("illegal {name} data at input byte {at}").into()),
    }
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

/// Digits gathered until they make a group of bytes.
struct Gathered {
    bits: usize,
    number: usize,
    digits: usize,
    bytes: Vec<u8>,
}

impl Gathered {
    fn new(bits: usize, input: &[u8]) -> Self {
        Self { bits, number: 0, digits: 0, bytes: Vec::with_capacity(input.len() * bits / 8) }
    }

    fn push(&mut self, digit: usize, group: usize) {
        self.number = self.number << self.bits | digit;
        self.digits += 1;
        if self.digits == group {
            self.flush();
        }
    }

    /// Writes the whole bytes there are; bits left over are dropped.
    fn flush(&mut self) {
        let whole = self.digits * self.bits / 8;
        let number = self.number >> (self.digits * self.bits - whole * 8);
        for at in (0..whole).rev() {
            self.bytes.push(u8::try_from(number >> (8 * at) & 255).unwrap_or(0));
        }
        (self.number, self.digits) = (0, 0);
    }
}

/// The bytes, or where Go finds the first mistake.
fn base64_bytes(input: &[u8]) -> Result<Vec<u8>, usize> {
    let mut gathered = Gathered::new(6, input);
    let after_line_ends = |mut at: usize| {
        while input.get(at).copied().is_some_and(is_line_end) {
            at += 1;
        }
        at
    };
    let mut at = after_line_ends(0);
    while let Some(byte) = input.get(at) {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            &PADDING if gathered.digits >= 2 => {
                let mut end = after_line_ends(at + 1);
                if gathered.digits == 2 {
                    match input.get(end) {
                        None => return Err(input.len()),
                        Some(&PADDING) => end = after_line_ends(end + 1),
                        Some(_) => return Err(end - 1),
                    }
                }
                gathered.flush();
                return if end < input.len() { Err(end) } else { Ok(gathered.bytes) };
            }
            _ => return Err(at),
        };
        gathered.push(usize::from(digit), 4);
        at = after_line_ends(at + 1);
    }
    if gathered.digits > 0 { Err(input.len() - gathered.digits) } else { Ok(gathered.bytes) }
}

/// The same for base32, whose line ends are gone already.
fn base32_bytes(input: &[u8]) -> Result<Vec<u8>, usize> {
    let mut gathered = Gathered::new(5, input);
    for (at, byte) in input.iter().enumerate() {
        let rest = &input[at + 1..];
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'2'..=b'7' => byte - b'2' + 26,
            &PADDING if gathered.digits >= 2 && rest.len() < 8 => {
                let missing = 7 - gathered.digits;
                if rest.len() < missing {
                    return Err(input.len());
                }
                if let Some(wrong) = rest[..missing].iter().position(|byte| *byte != PADDING) {
                    return Err(at + wrong);
                }
                // So many digits end in the middle of a byte.
                if matches!(gathered.digits, 3 | 6) {
                    return Err(at);
                }
                gathered.flush();
                return Ok(gathered.bytes);
            }
            _ => return Err(at),
        };
        gathered.push(usize::from(digit), 8);
    }
    if gathered.digits > 0 { Err(input.len() - gathered.digits) } else { Ok(gathered.bytes) }
}
