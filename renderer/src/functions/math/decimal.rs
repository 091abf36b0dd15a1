//! Decimal numbers as exact as they need to be: digits and a power of ten.
//!
//! A float becomes the shortest decimal that names it, and the result becomes the nearest float again. Sums, differences
//! and products are exact; quotients have sixteen decimals.

use num_bigint::BigInt;

/// Decimals of a quotient.
const PRECISION: i64 = 16;

/// `digits * 10^exponent`.
#[derive(Clone, Debug)]
pub(super) struct Decimal {
    digits: BigInt,
    exponent: i64,
}

impl Decimal {
    /// The shortest decimal that names the float; none for what is no number.
    pub(super) fn from_float(number: f64) -> Option<Self> {
        if !number.is_finite() {
            return None;
        }
        let text = format!("{number:e}");
        let (mantissa, exponent) = text.split_once('e')?;
        let (whole, decimals) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let exponent = exponent.parse::<i64>().ok()? - i64::try_from(decimals.len()).ok()?;
        Some(Self { digits: format!("{whole}{decimals}").parse().ok()?, exponent })
    }

    /// The nearest float.
    pub(super) fn to_float(&self) -> f64 {
        let number = format!("{}e{}", self.digits, self.exponent).parse().unwrap_or(0.0);
        if number == 0.0 { 0.0 } else { number }
    }

    /// Steps that an operation of the two takes.
    pub(super) fn cost(&self, other: &Self) -> u64 {
        let apart = self.exponent.abs_diff(other.exponent);
        let length = |decimal: &Self| decimal.digits.bits() / 3 + 1;
        let product = (length(self) + apart).saturating_mul(length(other) + 1);
        product.saturating_add(apart) / 32 + 1
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        let exponent = self.exponent.min(other.exponent);
        Self { digits: self.shifted_to(exponent) + other.shifted_to(exponent), exponent }
    }

    pub(super) fn minus(&self, other: &Self) -> Self {
        let exponent = self.exponent.min(other.exponent);
        Self { digits: self.shifted_to(exponent) - other.shifted_to(exponent), exponent }
    }

    pub(super) fn times(&self, other: &Self) -> Self {
        Self { digits: &self.digits * &other.digits, exponent: self.exponent + other.exponent }
    }

    /// The quotient, rounded half away from zero; none when the divisor is zero.
    pub(super) fn divided_by(&self, divisor: &Self) -> Option<Self> {
        let exponent = self.exponent.min(divisor.exponent - PRECISION);
        let dividend = self.shifted_to(exponent);
        let divisor = divisor.shifted_to(exponent + PRECISION);
        let quotient = dividend.checked_div(&divisor)?;
        let rest = dividend - &quotient * &divisor;
        let is_half = 2u8 * rest.magnitude() >= *divisor.magnitude();
        let away = BigInt::from_biguint(rest.sign() * divisor.sign(), u8::from(is_half).into());
        Some(Self { digits: quotient + away, exponent: -PRECISION })
    }

    /// The digits with zeros appended, as many as bring the exponent down to this one.
    fn shifted_to(&self, exponent: i64) -> BigInt {
        let zeros = u32::try_from(self.exponent - exponent).unwrap_or(0);
        &self.digits * BigInt::from(10u8).pow(zeros)
    }
}
