//! Check digits, as their issuers publish them. Unless noted otherwise, each function checks ASCII
//! digits.

/// Checks the number of a payment card (ISO/IEC 7812-1, annex B).
pub(super) fn luhn(digits: &[u8]) -> bool {
    let doubled = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let sum: u32 = (digits.iter().rev().enumerate())
        .map(|(at, &d)| if at % 2 == 1 { doubled(value(d)) } else { value(d) })
        .sum();
    sum.is_multiple_of(10)
}

/// Checks an IBAN (ISO 13616): letters and digits, without spaces.
pub(super) fn iban(code: &[u8]) -> bool {
    let Some((head, account)) = code.split_at_checked(4) else { return false };
    let mut rest = 0_u32;
    for &byte in account.iter().chain(head) {
        let number = if byte.is_ascii_digit() { value(byte) } else { u32::from(byte - b'A') + 10 };
        rest = (rest * if number > 9 { 100 } else { 10 } + number) % 97;
    }
    rest == 1
}

/// Checks a Russian taxpayer number of an organization (10 digits) or a person (12).
pub(super) fn inn(digits: &[u8]) -> bool {
    const WEIGHTS: [u32; 11] = [3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8];
    let check = |length: usize| {
        let weights = &WEIGHTS[WEIGHTS.len() - length..];
        weighted(digits, weights) % 11 % 10 == value(digits[length])
    };
    match digits.len() {
        10 => check(9),
        12 => check(10) && check(11),
        _ => false,
    }
}

/// Checks a Russian registration number of an organization (13 digits) or an entrepreneur (15).
pub(super) fn ogrn(digits: &[u8]) -> bool {
    let Some((&last, head)) = digits.split_last() else { return false };
    let modulus = match digits.len() {
        13 => 11,
        15 => 13,
        _ => return false,
    };
    let number = head.iter().fold(0_u64, |number, &digit| number * 10 + u64::from(value(digit)));
    number % modulus % 10 == u64::from(value(last))
}

/// Checks a Russian pension insurance number: eleven digits.
pub(super) fn snils(digits: &[u8]) -> bool {
    let sum = weighted(digits, &[9, 8, 7, 6, 5, 4, 3, 2, 1]);
    digits.len() == 11 && sum % 101 % 100 == value(digits[9]) * 10 + value(digits[10])
}

/// Checks an Indian Aadhaar number: twelve digits, the last by the Verhoeff algorithm. None begins
/// with 0 or 1.
pub(super) fn aadhaar(digits: &[u8]) -> bool {
    digits.len() == 12 && digits[0] > b'1' && verhoeff(digits)
}

/// Checks an Australian tax file number: nine digits.
pub(super) fn tfn(digits: &[u8]) -> bool {
    digits.len() == 9
        && digits.iter().any(|digit| *digit != digits[0])
        && weighted(digits, &[1, 4, 3, 7, 5, 8, 6, 9, 10]).is_multiple_of(11)
}

/// Checks a United States social security number. It has no check digit, but some areas, groups and
/// serials are never issued, and two numbers were used in advertisements.
pub(super) fn ssn(digits: &[u8]) -> bool {
    let unused = [&b"078051120"[..], &b"219099999"[..]];
    digits.len() == 9
        && !matches!(&digits[..3], b"000" | b"666")
        && digits[0] != b'9'
        && &digits[3..5] != b"00"
        && &digits[5..] != b"0000"
        && !unused.contains(&digits)
        && digits.iter().any(|digit| *digit != digits[0])
}

/// Checks an Italian codice fiscale: sixteen letters and digits, in upper case.
pub(super) fn fiscal_code(code: &[u8]) -> bool {
    const ODD: [u32; 26] = [
        1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24,
        23,
    ];
    let Some((&last, head)) = code.split_last() else { return false };
    let number = |byte: u8| {
        usize::from(if byte.is_ascii_digit() { byte - b'0' } else { byte.saturating_sub(b'A') })
    };
    let sum: u32 = (head.iter().enumerate())
        // The first position is odd.
        .map(|(index, &byte)| match number(byte) {
            number if index % 2 == 0 => ODD.get(number).copied().unwrap_or_default(),
            number => u32::try_from(number).unwrap_or_default(),
        })
        .sum();
    code.len() == 16 && sum % 26 == u32::from(last.saturating_sub(b'A'))
}

/// Checks the number of a product or a person in Switzerland (EAN-13).
pub(super) fn ean13(digits: &[u8]) -> bool {
    let sum = weighted(digits, &[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]);
    digits.len() == 13 && sum.is_multiple_of(10)
}

/// Checks digits whose last one is the check digit of ISO 7064, modulus 11, 10.
pub(super) fn iso7064_11_10(digits: &[u8]) -> bool {
    let Some((&last, head)) = digits.split_last() else { return false };
    let product = head.iter().fold(10, |product, digit| {
        let sum = (product + value(*digit)) % 10;
        (if sum == 0 { 10 } else { sum }) * 2 % 11
    });
    (11 - product) % 10 == value(last)
}

/// Checks letters and digits whose last digit is that of the machine-readable zone of documents
/// (ICAO 9303).
pub(super) fn machine_readable(code: &[u8]) -> bool {
    let Some((&last, head)) = code.split_last() else { return false };
    let weights = [7, 3, 1].into_iter().cycle();
    let sum: u32 =
        head.iter().zip(weights).map(|(byte, weight)| letter_value(*byte) * weight).sum();
    last.is_ascii_digit() && sum % 10 == value(last)
}

/// Returns the check digit of the first digits, one for each weight: zero, or the complement of the
/// remainder of eleven.
pub(super) fn check_digit(digits: &[u8], weights: &[u32]) -> u32 {
    let rest = weighted(digits, weights) % 11;
    if rest < 2 { 0 } else { 11 - rest }
}

/// Whether a day is one of the calendar.
pub(super) fn is_date(year: u32, month: u32, day: u32) -> bool {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// Returns the number of at most nine digits.
pub(super) fn number(digits: &[u8]) -> u32 {
    digits.iter().fold(0, |sum, digit| sum * 10 + value(*digit))
}

/// Returns the value of a digit, or of a letter from 10 on.
pub(super) fn letter_value(byte: u8) -> u32 {
    if byte.is_ascii_digit() { value(byte) } else { u32::from(byte.saturating_sub(b'A')) + 10 }
}

pub(super) fn weighted(digits: &[u8], weights: &[u32]) -> u32 {
    digits.iter().zip(weights).map(|(&digit, weight)| value(digit) * weight).sum()
}

fn value(digit: u8) -> u32 {
    u32::from(digit - b'0')
}

/// Verhoeff algorithm: the digits, permuted by position and multiplied in the dihedral group of
/// order 10, give its neutral element.
fn verhoeff(digits: &[u8]) -> bool {
    const PERMUTATION: [u32; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    let permuted = |digit: u32, times: usize| {
        (0..times % 8).fold(digit, |digit, _| PERMUTATION[digit as usize])
    };
    // Elements below 5 are rotations, the others are reflections.
    let product = |a: u32, b: u32| match (a < 5, b < 5) {
        (true, true) => (a + b) % 5,
        (true, false) => 5 + (a + b - 5) % 5,
        (false, true) => 5 + (a - 5 + 5 - b) % 5,
        (false, false) => (a + 5 - b) % 5,
    };
    let folded = (digits.iter().rev().enumerate())
        .fold(0, |folded, (at, &digit)| product(folded, permuted(value(digit), at)));
    folded == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that a number is valid, and invalid with any single digit changed.
    #[track_caller]
    fn assert_check(check: fn(&[u8]) -> bool, valid: &str) {
        assert!(check(valid.as_bytes()), "{valid}");
        for at in 0..valid.len() {
            let mut wrong = valid.as_bytes().to_vec();
            if wrong[at].is_ascii_digit() {
                wrong[at] = b'0' + (wrong[at] - b'0' + 1) % 10;
                assert!(!check(&wrong), "{}", String::from_utf8_lossy(&wrong));
            }
        }
    }

    #[test]
    fn issuers_examples_are_valid_until_a_digit_changes() {
        assert_check(luhn, "4012888888881881");
        assert_check(luhn, "378282246310005");
        assert_check(iban, "GB82WEST12345698765432");
        assert_check(iban, "DE89370400440532013000");
        assert_check(inn, "7707083893");
        assert_check(snils, "11223344595");
        assert_check(aadhaar, "234123412346");
        assert_check(tfn, "123456782");
        assert!(inn(b"500100732259") && !inn(b"500100732258"));
        assert!(ogrn(b"1027700132195") && !ogrn(b"1027700132196"));
        assert!(ogrn(b"304500116000157") && !ogrn(b"304500116000158"));
        assert!(fiscal_code(b"RSSMRA85T10A562S") && !fiscal_code(b"RSSMRA85T10A562T"));
    }

    #[test]
    fn numbers_that_are_never_issued_are_invalid() {
        for number in ["000123456", "666123456", "900123456", "123004567", "123450000", "078051120"]
        {
            assert!(!ssn(number.as_bytes()), "{number}");
        }
        assert!(ssn(b"536904399"));
        assert!(!iban(b"GB8") && !fiscal_code(b"") && !ogrn(b"") && !inn(b"1"));
    }
}
