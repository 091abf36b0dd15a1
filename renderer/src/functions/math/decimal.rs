//! Decimal numbers as exact as they need to be: digits and a power of ten.
//!
//! A float becomes the shortest decimal that names it, and the result becomes the nearest float again. Sums, differences
//! and products are exact; quotients have sixteen decimals.

use std::cmp::Ordering;

/// Decimals of a quotient.
const PRECISION: i64 = 16;

/// `digits * 10^exponent`, the digits from the least on, without zeros at the top.
#[derive(Clone, Debug)]
pub(super) struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    /// The shortest decimal that names the float; none for what is no number.
    pub(super) fn from_float(number: f64) -> Option<Self> {
        if !number.is_finite() {
            return None;
        }
        let text = format!("{:e}", number.abs());
        let (mantissa, exponent) = text.split_once('e')?;
        let decimals = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let digits: Vec<u8> = mantissa.bytes().rev().filter(u8::is_ascii_digit).map(|digit| digit - b'0').collect();
        let exponent = exponent.parse::<i64>().ok()? - i64::try_from(decimals).ok()?;
        Some(Self { negative: number < 0.0, digits: trimmed(digits), exponent })
    }

    /// The nearest float.
    pub(super) fn to_float(&self) -> f64 {
        let sign = if self.negative { "-" } else { "" };
        let digits: String = self.digits.iter().rev().map(|digit| char::from(b'0' + digit)).collect();
        let digits = if digits.is_empty() { "0" } else { &digits };
        let number = format!("{sign}{digits}e{}", self.exponent).parse().unwrap_or(0.0);
        if number == 0.0 { 0.0 } else { number }
    }

    /// Steps that an operation of the two takes.
    pub(super) fn cost(&self, other: &Self) -> u64 {
        let apart = self.exponent.abs_diff(other.exponent);
        let product = (self.digits.len() as u64 + apart).saturating_mul(other.digits.len() as u64 + 1);
        product.saturating_add(apart) / 32 + 1
    }

    pub(super) fn negated(&self) -> Self {
        Self { negative: !self.negative, ..self.clone() }
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        let exponent = self.exponent.min(other.exponent);
        let (left, right) = (self.shifted_to(exponent), other.shifted_to(exponent));
        let (negative, digits) = if self.negative == other.negative {
            (self.negative, sum(&left, &right))
        } else if compare(&left, &right) == Ordering::Less {
            (other.negative, difference(&right, &left))
        } else {
            (self.negative, difference(&left, &right))
        };
        Self { negative, digits, exponent }
    }

    pub(super) fn times(&self, other: &Self) -> Self {
        let mut product = vec![0u32; self.digits.len() + other.digits.len()];
        for (at, left) in self.digits.iter().enumerate() {
            let mut carry = 0;
            for (offset, right) in other.digits.iter().enumerate() {
                let place = product[at + offset] + u32::from(*left) * u32::from(*right) + carry;
                product[at + offset] = place % 10;
                carry = place / 10;
            }
            product[at + other.digits.len()] += carry;
        }
        let digits = product.into_iter().map(|digit| u8::try_from(digit).unwrap_or(0)).collect();
        Self {
            negative: self.negative != other.negative,
            digits: trimmed(digits),
            exponent: self.exponent + other.exponent,
        }
    }

    /// The quotient, rounded half away from zero; none when the divisor is zero.
    pub(super) fn divided_by(&self, divisor: &Self) -> Option<Self> {
        if divisor.digits.is_empty() {
            return None;
        }
        // Digits that the dividend needs below its last for the quotient to have its decimals.
        let below = self.exponent - divisor.exponent + PRECISION;
        let dividend = if below >= 0 { self.shifted_to(self.exponent - below) } else { self.digits.clone() };
        let divisor_digits =
            if below < 0 { divisor.shifted_to(divisor.exponent + below) } else { divisor.digits.clone() };
        let (mut quotient, remainder) = quotient(&dividend, &divisor_digits);
        if compare(&sum(&remainder, &remainder), &divisor_digits) != Ordering::Less {
            quotient = sum(&quotient, &[1]);
        }
        Some(Self { negative: self.negative != divisor.negative, digits: quotient, exponent: -PRECISION })
    }

    /// The digits with zeros appended, as many as bring the exponent down to this one.
    fn shifted_to(&self, exponent: i64) -> Vec<u8> {
        if self.digits.is_empty() {
            return Vec::new();
        }
        let zeros = usize::try_from(self.exponent - exponent).unwrap_or(0);
        let mut digits = vec![0; zeros];
        digits.extend_from_slice(&self.digits);
        digits
    }
}

fn trimmed(mut digits: Vec<u8>) -> Vec<u8> {
    while digits.last() == Some(&0) {
        digits.pop();
    }
    digits
}

fn compare(left: &[u8], right: &[u8]) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.iter().rev().cmp(right.iter().rev()))
}

fn sum(left: &[u8], right: &[u8]) -> Vec<u8> {
    let mut digits = Vec::with_capacity(left.len().max(right.len()) + 1);
    let mut carry = 0;
    for at in 0..left.len().max(right.len()) {
        let place = left.get(at).unwrap_or(&0) + right.get(at).unwrap_or(&0) + carry;
        digits.push(place % 10);
        carry = place / 10;
    }
    digits.push(carry);
    trimmed(digits)
}

/// Of a larger number and a smaller or equal one.
fn difference(left: &[u8], right: &[u8]) -> Vec<u8> {
    let mut digits = Vec::with_capacity(left.len());
    let mut borrowed = 0;
    for (at, digit) in left.iter().enumerate() {
        let taken = right.get(at).unwrap_or(&0) + borrowed;
        borrowed = u8::from(*digit < taken);
        digits.push(digit + 10 * borrowed - taken);
    }
    trimmed(digits)
}

/// The whole quotient and what remains.
fn quotient(dividend: &[u8], divisor: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut remainder: Vec<u8> = Vec::new();
    let mut digits = vec![0; dividend.len()];
    for at in (0..dividend.len()).rev() {
        remainder.insert(0, dividend[at]);
        remainder = trimmed(remainder);
        while compare(&remainder, divisor) != Ordering::Less {
            remainder = difference(&remainder, divisor);
            digits[at] += 1;
        }
    }
    (trimmed(digits), remainder)
}
