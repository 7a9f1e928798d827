//! Numbers that no form describes, next to a word that says that they are those of a person: of a
//! passport, an account, or a register of any country.

use std::ops::Range;

use super::candidates::{Candidate, from_first};
use super::context::Context;
use super::forms::refutes;
use super::labels::{ACCOUNT, IDENTITY, PASSPORT, REGISTERS, TECHNICAL};
use super::{NAMED, Numbers, is_delimited, personal};
use crate::Finding;

const PASSPORT_NUMBER: &str = "passport";
const BANK_ACCOUNT: &str = "bank-account";
const IDENTITY_NUMBER: &str = "identity-number";

/// The categories of these numbers.
pub(super) const CATEGORIES: [&str; 3] = [PASSPORT_NUMBER, BANK_ACCOUNT, IDENTITY_NUMBER];

/// Minimum digits of a number, and the lengths without separators.
const MIN_DIGITS: usize = 5;
const LENGTHS: Range<usize> = 6..24;

/// Lengths of a number after an abbreviation: shorter ones count other things, and longer ones are
/// no numbers of persons.
const ABBREVIATED: Range<usize> = 9..16;

/// Returns the named numbers among groups that overlap no known one.
pub(super) fn find(
    text: &str,
    groups: &[Range<usize>],
    excluded: &[&str],
    known: &Numbers,
) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut end = 0;
    for first in 0..groups.len() {
        if groups[first].start < end {
            continue;
        }
        let numbers = from_first(text, &groups[first..]);
        let longest = numbers.into_iter().find(|number| {
            is_number(number) && is_delimited(text, &number.span) && !known.has(&number.span)
        });
        let Some(number) = longest else { continue };
        let context = Context::of(text, &number.span);
        let named = category(&number, &context)
            .filter(|named| *named == BANK_ACCOUNT || !context.names_order())
            .filter(|_| !counts(&number, &context))
            .filter(|_| !refutes(&number, &context, excluded));
        if let Some(category) = named {
            end = number.span.end;
            found.push(personal(category, &number.span, NAMED));
        }
    }
    found
}

/// Whether the number has enough digits, all of its groups have some, and it is no date.
fn is_number(number: &Candidate<'_>) -> bool {
    let written = &number.text[number.span.clone()];
    let is_short_or_digits =
        |group: &str| group.len() <= 3 || group.bytes().any(|byte| byte.is_ascii_digit());
    LENGTHS.contains(&number.shape.length)
        && number.shape.digits() >= MIN_DIGITS
        && !written.contains(':')
        && written.matches('.').count() != 1
        && written.split([' ', '-', '.', '/']).all(is_short_or_digits)
        && !number.is_written_as(&["9999-99-99", "99.99.9999", "99/99/9999", "9999/99/99"])
}

/// Whether a word before a number says that it is one of these.
pub(super) fn is_named(context: &Context<'_>) -> bool {
    [&ACCOUNT, &PASSPORT, &IDENTITY].into_iter().any(|labels| context.has_label(labels))
}

fn category(number: &Candidate<'_>, context: &Context<'_>) -> Option<&'static str> {
    if context.has_label(&ACCOUNT) {
        Some(BANK_ACCOUNT)
    } else if context.has_label(&PASSPORT) {
        Some(PASSPORT_NUMBER)
    } else if context.has_label(&IDENTITY) || is_abbreviated(number, context) {
        Some(IDENTITY_NUMBER)
    } else {
        None
    }
}

/// Whether an abbreviation such as `ОГРН` precedes a long number: most registers have one. Times,
/// sizes and powers of two are no such numbers.
fn is_abbreviated(number: &Candidate<'_>, context: &Context<'_>) -> bool {
    let word = context.last_word();
    let length = word.chars().count();
    let is_abbreviation = (3..=6).contains(&length)
        && word.chars().all(char::is_uppercase)
        && !TECHNICAL.contains(&word)
        && (REGISTERS.contains(&word) || !word.is_ascii());
    let digits = number.compact();
    let is_digits = number.shape.digits() == digits.len()
        && digits.len() == number.span.len()
        && ABBREVIATED.contains(&digits.len());
    is_abbreviation && is_digits && !is_quantity(&digits)
}

/// Whether the number is a quantity: it has a unit, or is a time, round, or near a power of two.
pub(super) fn counts(number: &Candidate<'_>, context: &Context<'_>) -> bool {
    let digits = number.compact();
    let is_plain = digits.len() == number.span.len() && digits.iter().all(u8::is_ascii_digit);
    is_plain && (context.has_unit() || digits.len() < 20 && is_quantity(&digits))
}

/// Whether the digits are a time since 1970, a round number, or next to a power of two.
fn is_quantity(digits: &[u8]) -> bool {
    let value = digits.iter().fold(0_u64, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    let is_time = matches!(digits.len(), 10 | 13) && digits[0] == b'1' && digits[1] >= b'3';
    let is_round = digits.ends_with(b"0000");
    let near_power = [value, value + 1].iter().any(|value| value.is_power_of_two());
    is_time || is_round || near_power
}
