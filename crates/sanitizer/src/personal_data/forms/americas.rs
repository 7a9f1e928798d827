//! The United States, Canada and Brazil.

use super::super::checksums::{check_digit, is_date, luhn, number, ssn, weighted};
use super::Form;

#[rustfmt::skip]
pub(super) const FORMS: &[Form] = &[
    Form { category: "us-ssn", shapes: &["999999999"],
        anywhere: &["999-99-9999", "999 99 9999", "999.99.9999"],
        on_line: &["999999999", "999-999999", "99999-9999"],
        labels: &["ssn", "ssns", "social security"], check: Some(ssn) },
    Form { category: "us-passport", shapes: &["A99999999"], anywhere: &[],
        on_line: &["A99999999"], labels: &["us passport"], check: None },
    Form { category: "us-itin", shapes: &["999999999"], anywhere: &["999-99-9999", "999 99 9999"],
        on_line: &[],
        labels: &["itin", "individual taxpayer"], check: Some(itin) },
    Form { category: "us-ein", shapes: &["999999999"], anywhere: &[], on_line: &[],
        labels: &["ein", "fein", "employer identification"], check: None },
    Form { category: "us-npi", shapes: &["9999999999"], anywhere: &[], on_line: &[],
        labels: &["npi", "national provider"], check: Some(npi) },
    Form { category: "us-mbi", shapes: MBI, anywhere: &["9AX9-AX9-AA99"], on_line: MBI,
        labels: &["mbi"], check: Some(mbi) },
    Form { category: "us-dea", shapes: &["AA9999999"], anywhere: &[], on_line: &["AA9999999"],
        labels: &["dea", "medical license"], check: Some(dea) },
    Form { category: "us-aba-routing", shapes: &["999999999"], anywhere: &[],
        on_line: &[], labels: &["aba", "rtn", "routing"], check: Some(routing) },
    Form { category: "us-clia", shapes: &["99A9999999"], anywhere: &[], on_line: &[],
        labels: &["clia", "laboratory"], check: None },
    Form { category: "ca-sin", shapes: &["999999999"], anywhere: &[],
        on_line: &["999999999", "999 999 999", "999-999-999"],
        labels: &["sin", "social insurance", "assurance sociale", "nas"], check: Some(sin) },
    Form { category: "ca-bn", shapes: &["999999999", "999999999AA9999"],
        anywhere: &[], on_line: &["999999999AA9999", "999999999 AA 9999"],
        labels: &["business number", "bn", "gst", "hst"], check: Some(luhn_of_nine) },
    Form { category: "br-cpf", shapes: &["99999999999"], anywhere: &["999.999.999-99"],
        on_line: &["99999999999"], labels: &["cpf"], check: Some(cpf) },
    Form { category: "br-cnpj", shapes: &["99999999999999"], anywhere: &["99.999.999/9999-99"],
        on_line: &["99999999999999"], labels: &["cnpj"], check: Some(cnpj) },
    Form { category: "mx-curp", shapes: &["AAAA999999AAAAAA99", "AAAA999999AAAAAAA9"],
        anywhere: &["AAAA999999AAAAAA99", "AAAA999999AAAAAAA9"], on_line: &[],
        labels: &["curp"], check: Some(curp) },
];

/// Checks a taxpayer's number of a person without a social security number: the first digit is 9,
/// and the fourth and fifth are in the ranges that are issued.
fn itin(digits: &[u8]) -> bool {
    let group = number(&digits[3..5]);
    digits[0] == b'9' && matches!(group, 50..=65 | 70..=88 | 90..=92 | 94..=99)
}

/// Checks a national provider identifier: Luhn, with the prefix 80840 of health applications.
fn npi(digits: &[u8]) -> bool {
    matches!(digits[0], b'1' | b'2') && luhn(&[b"80840", digits].concat())
}

/// The places of letters in a Medicare beneficiary identifier: the third and sixth character may be
/// a letter or a digit.
const MBI: &[&str] = &["9AX9AX9AA99"];

/// Checks a Medicare beneficiary identifier: it has none of the letters S, L, O, I, B and Z.
fn mbi(code: &[u8]) -> bool {
    code[0] != b'0' && !code.iter().any(|byte| b"SLOIBZ".contains(byte))
}

/// Checks a registration number of the Drug Enforcement Administration.
fn dea(code: &[u8]) -> bool {
    let digit = |at: usize| number(&code[at..=at]);
    let sum = digit(2) + digit(4) + digit(6) + 2 * (digit(3) + digit(5) + digit(7));
    b"ABCDEFGHJKLMPRSTUX".contains(&code[0]) && sum % 10 == digit(8)
}

/// Checks a routing number of the American Bankers Association.
fn routing(digits: &[u8]) -> bool {
    let district = number(&digits[..2]);
    matches!(district, 0..=12 | 21..=32 | 61..=72 | 80)
        && weighted(digits, &[3, 7, 1, 3, 7, 1, 3, 7, 1]).is_multiple_of(10)
        && digits.iter().any(|digit| *digit != b'0')
}

/// Checks a social insurance number of Canada. None begins with 0 or 8.
fn sin(digits: &[u8]) -> bool {
    digits[0] != b'8' && luhn(digits) && digits.iter().any(|digit| *digit != digits[0])
}

fn luhn_of_nine(code: &[u8]) -> bool {
    let (head, tail) = code.split_at(9);
    luhn(head) && (tail.is_empty() || matches!(&tail[..2], b"RC" | b"RM" | b"RP" | b"RT" | b"RZ"))
}

/// Checks a taxpayer's number of a person in Brazil, which has two check digits.
fn cpf(digits: &[u8]) -> bool {
    let weights = [11, 10, 9, 8, 7, 6, 5, 4, 3, 2];
    digits.iter().any(|digit| *digit != digits[0])
        && check_digit(digits, &weights[1..]) == number(&digits[9..10])
        && check_digit(digits, &weights) == number(&digits[10..])
}

/// Checks the number of an organization in Brazil, which has two check digits.
fn cnpj(digits: &[u8]) -> bool {
    let weights = [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2];
    digits.iter().any(|digit| *digit != digits[0])
        && check_digit(digits, &weights[1..]) == number(&digits[12..13])
        && check_digit(digits, &weights) == number(&digits[13..])
}

/// Checks the code of a resident of Mexico: a date of birth, and a sex.
fn curp(code: &[u8]) -> bool {
    let (year, month, day) = (number(&code[4..6]), number(&code[6..8]), number(&code[8..10]));
    is_date(1900 + year, month, day) && matches!(code[10], b'H' | b'M' | b'X')
}
