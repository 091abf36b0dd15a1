//! Checksums of text, in hexadecimal or, for Adler, in decimal digits.

use data_encoding::HEXLOWER;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use crate::budget::Budget;
use crate::failure::Failure;
use crate::value::Value;

use super::Entry;
use super::arguments::text;
use super::numbers::scan;

pub(super) static TABLE: &[Entry] = &[
    Entry::new("sha1sum", 1, 1, sha1sum),
    Entry::new("sha256sum", 1, 1, sha256sum),
    Entry::new("sha512sum", 1, 1, sha512sum),
    Entry::new("adler32sum", 1, 1, adler32sum),
];

fn sha1sum(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    hexadecimal::<Sha1>(budget, arguments)
}

fn sha256sum(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    hexadecimal::<Sha256>(budget, arguments)
}

fn sha512sum(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    hexadecimal::<Sha512>(budget, arguments)
}

fn hexadecimal<D: Digest>(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let subject = text(arguments, 0)?;
    scan(budget, subject.len())?;
    let sum = D::digest(subject);
    budget.memory(sum.len() as u64 * 2)?;
    Ok(HEXLOWER.encode(&sum).into())
}

fn adler32sum(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    const MODULUS: u32 = 65_521;
    let subject = text(arguments, 0)?;
    scan(budget, subject.len())?;
    let (low, high) = subject.bytes().fold((1, 0), |(low, high), byte| {
        let low = (low + u32::from(byte)) % MODULUS;
        (low, (high + low) % MODULUS)
    });
    Ok((high << 16 | low).to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Limits;

    fn sum(call: super::super::Function, subject: &str) -> Value {
        call(&Budget::new(Limits::default()), &[Value::from(subject)]).unwrap()
    }

    #[test]
    fn sums_are_those_of_the_published_test_vectors() {
        assert_eq!(sum(sha1sum, "abc"), Value::from("a9993e364706816aba3e25717850c26c9cd0d89d"));
        assert_eq!(
            sum(sha256sum, "abc"),
            Value::from("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        );
        assert!(sum(sha512sum, "abc").as_text().unwrap().starts_with("ddaf35a193617abacc417349ae204131"));
        assert_eq!(sum(adler32sum, "Wikipedia"), Value::from("300286872"));
    }

    #[test]
    fn the_sum_of_a_long_text_does_not_overflow() {
        assert_eq!(sum(adler32sum, &"\u{7f}".repeat(1_000_000)), Value::from("3628683087"));
    }
}
