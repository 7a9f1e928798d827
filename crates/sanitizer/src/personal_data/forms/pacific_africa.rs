//! Australia, South Africa, Nigeria and Kenya.

use super::super::checksums::{is_date, luhn, number, tfn, weighted};
use super::Form;

#[rustfmt::skip]
pub(super) const FORMS: &[Form] = &[
    Form { category: "au-tfn", shapes: &["999999999"], anywhere: &[],
        on_line: &["999999999", "999 999 999"], labels: &["tfn", "tax file"], check: Some(tfn) },
    Form { category: "au-abn", shapes: &["99999999999"], anywhere: &["99 999 999 999"],
        on_line: &["99999999999", "99-999-999-999"], labels: &["abn", "business number"],
        check: Some(abn) },
    Form { category: "au-acn", shapes: &["999999999"], anywhere: &[],
        on_line: &["999999999", "999 999 999"], labels: &["acn", "company number"],
        check: Some(acn) },
    Form { category: "au-medicare", shapes: &["9999999999", "99999999999"],
        anywhere: &["9999 99999 9"], on_line: &["9999999999", "9999-99999-9"],
        labels: &["medicare"], check: Some(medicare) },
    Form { category: "au-bank", shapes: &["999999", "99999999", "999999999"], anywhere: &[],
        on_line: &[], labels: &["bsb"], check: None },
    Form { category: "za-id", shapes: &["9999999999999"], anywhere: &["999999 9999 99 9"],
        on_line: &["9999999999999"],
        labels: &["south african id", "sa id", "rsa id"],
        check: Some(south_african) },
    Form { category: "za-tax", shapes: &["9999999999"], anywhere: &[], on_line: &[],
        labels: &["sars", "tax reference", "vat", "income tax"], check: None },
    Form { category: "ng-nin", shapes: &["99999999999"], anywhere: &[], on_line: &[],
        labels: &["nin", "bvn", "bank verification", "nimc", "national identification"],
        check: None },
    Form { category: "ke-national-id", shapes: &["9999999", "99999999"], anywhere: &[],
        on_line: &[], labels: &["national id", "kenyan id", "huduma", "kitambulisho"],
        check: None },
];

/// Checks a business number of Australia: two check digits of a modulus of 89.
fn abn(digits: &[u8]) -> bool {
    let sum = weighted(digits, &[10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19]);
    digits[0] != b'0' && (sum + 89 - 10).is_multiple_of(89)
}

/// Checks a company number of Australia.
fn acn(digits: &[u8]) -> bool {
    let sum = weighted(&digits[..8], &[8, 7, 6, 5, 4, 3, 2, 1]);
    digits.iter().any(|digit| *digit != digits[0]) && (10 - sum % 10) % 10 == number(&digits[8..])
}

/// Checks the number of a Medicare card of Australia. The last digits are the issue and the person.
fn medicare(digits: &[u8]) -> bool {
    let sum = weighted(&digits[..8], &[1, 3, 7, 9, 1, 3, 7, 9]);
    (b'2'..=b'6').contains(&digits[0]) && sum % 10 == number(&digits[8..9])
}

/// Checks an identity number of South Africa: a date of birth, a citizenship and a Luhn digit.
fn south_african(digits: &[u8]) -> bool {
    let (year, month, day) = (number(&digits[..2]), number(&digits[2..4]), number(&digits[4..6]));
    is_date(1900 + year, month, day) && matches!(digits[10], b'0'..=b'2') && luhn(digits)
}
