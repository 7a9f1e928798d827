//! India, Singapore, Korea, Thailand, Taiwan, China, Japan and the Philippines.

use super::super::checksums::{aadhaar, is_date, letter_value, number, weighted};
use super::Form;

#[rustfmt::skip]
pub(super) const FORMS: &[Form] = &[
    Form { category: "in-aadhaar", shapes: &["999999999999"],
        anywhere: &["9999-9999-9999", "9999 9999 9999", "9999:9999:9999"],
        on_line: &["999999999999"], labels: &["aadhaar", "aadhar", "uidai", "आधार"],
        check: Some(aadhaar) },
    Form { category: "in-pan", shapes: &["AAAAA9999A"], anywhere: &["AAAAA9999A"], on_line: &[],
        labels: &["pan", "permanent account"], check: Some(pan) },
    Form { category: "in-gstin", shapes: &["99AAAAA9999AXAX"],
        anywhere: &["99AAAAA9999AXAX"], on_line: &[], labels: &["gstin", "gst"],
        check: Some(gstin) },
    Form { category: "in-voter-id", shapes: &["AAA9999999"], anywhere: &[],
        on_line: &["AAA9999999"], labels: &["voter*", "epic", "election card", "electoral"],
        check: None },
    Form { category: "in-vehicle", shapes: &["AA99AA9999", "AA9A9999", "AA99A9999", "AA9AA9999",
            "99AA9999AA", "99AA9999A"],
        anywhere: &["AA-99-AA-9999", "AA 99 AA 9999"], on_line: &["AA99AA9999", "AA99A9999"],
        labels: &["vehicle", "registration", "number plate", "car number", "car", "rto"],
        check: Some(indian_vehicle) },
    Form { category: "sg-nric", shapes: &["A9999999A"], anywhere: &["A9999999A"], on_line: &[],
        labels: &["nric", "fin"], check: Some(nric) },
    Form { category: "sg-uen", shapes: &["99999999A", "999999999A", "A99AA9999A"], anywhere: &[],
        on_line: &["A99AA9999A"], labels: &["uen", "entity number", "business registration"],
        check: None },
    Form { category: "kr-rrn", shapes: &["9999999999999"], anywhere: &[],
        on_line: &[],
        labels: &["rrn", "resident registration", "주민등록번호", "주민번호", "외국인등록번호",
            "foreigner registration", "alien registration", "frn", "arc"], check: Some(rrn) },
    Form { category: "kr-brn", shapes: &["9999999999"], anywhere: &["999-99-99999"], on_line: &[],
        labels: &["brn", "business registration", "사업자등록번호", "사업자번호"], check: Some(brn) },
    Form { category: "kr-driver-license", shapes: &["999999999999"],
        anywhere: &["99-99-999999-99"], on_line: &[],
        labels: &["driver license", "driver s license", "운전면허*", "면허번호"], check: None },
    Form { category: "th-national-id", shapes: &["9999999999999"],
        anywhere: &["9-9999-99999-99-9", "9 9999 99999 99 9"], on_line: &["9999999999999"],
        labels: &["thai id", "thai national id", "tnin",
            "เลขประจำตัวประชาชน", "บัตรประชาชน", "เลขบัตร"], check: Some(thai) },
    Form { category: "tw-national-id", shapes: &["A999999999"], anywhere: &[],
        on_line: &["A999999999"], labels: &["身分證", "身份證", "taiwan id"], check: Some(taiwanese) },
    Form { category: "cn-resident-id", shapes: &["999999999999999999", "99999999999999999A"],
        anywhere: &["999999999999999999", "99999999999999999A"], on_line: &[],
        labels: &["身份证", "身份证号", "resident id", "chinese id"], check: Some(chinese) },
    Form { category: "jp-my-number", shapes: &["999999999999"], anywhere: &[], on_line: &[],
        labels: &["マイナンバー", "個人番号", "my number"], check: Some(my_number) },
    Form { category: "ph-tin", shapes: &["999999999", "999999999999", "99999999999999"],
        anywhere: &[], on_line: &[],
        labels: &["tin", "tax identification"], check: None },
    Form { category: "ph-philhealth", shapes: &["999999999999"], anywhere: &["99-999999999-9"],
        on_line: &[], labels: &["philhealth"], check: None },
    Form { category: "ph-umid", shapes: &["999999999999"], anywhere: &[],
        on_line: &[], labels: &["umid", "crn", "common reference"], check: None },
];

/// Checks a permanent account number of India: the fourth letter is the kind of its holder.
fn pan(code: &[u8]) -> bool {
    b"ABCFGHJLPT".contains(&code[3]) && &code[5..9] != b"0000"
}

/// Checks the tax number of a business in India, whose last character is a checksum in base 36.
fn gstin(code: &[u8]) -> bool {
    let values = code.iter().map(|byte| letter_value(*byte));
    let sum: u32 = (values.take(14).enumerate())
        .map(|(at, value)| value * if at % 2 == 0 { 1 } else { 2 })
        .map(|product| product / 36 + product % 36)
        .sum();
    let state = number(&code[..2]);
    let is_state = matches!(state, 1..=38 | 97 | 99);
    is_state && code[13] == b'Z' && (36 - sum % 36) % 36 == letter_value(code[14])
}

/// The codes of the states and territories of India on plates of vehicles.
#[rustfmt::skip]
const STATES: [&[u8; 2]; 39] = [
    b"AN", b"AP", b"AR", b"AS", b"BR", b"CG", b"CH", b"DD", b"DL", b"DN", b"GA", b"GJ", b"HP",
    b"HR", b"JH", b"JK", b"KA", b"KL", b"LA", b"LD", b"MH", b"ML", b"MN", b"MP", b"MZ", b"NL",
    b"OD", b"OR", b"PB", b"PY", b"RJ", b"SK", b"TG", b"TN", b"TR", b"TS", b"UK", b"UP", b"WB",
];

/// Checks the registration of a vehicle in India: the code of a state, or the series BH.
fn indian_vehicle(code: &[u8]) -> bool {
    STATES.iter().any(|state| code.starts_with(*state)) || &code[2..4] == b"BH"
}

/// Checks an identity number of Singapore: the letter of its series, seven digits and a letter.
fn nric(code: &[u8]) -> bool {
    let offset = match code[0] {
        b'T' | b'G' => 4,
        b'S' | b'F' => 0,
        b'M' => 3,
        _ => return false,
    };
    let rest = (weighted(&code[1..8], &[2, 7, 6, 5, 4, 3, 2]) + offset) % 11;
    let letters = match code[0] {
        b'S' | b'T' => b"JZIHGFEDCBA",
        b'F' | b'G' => b"XWUTRQPNMLK",
        _ => b"KLJNPQRTUWX",
    };
    let index = if code[0] == b'M' { 10 - rest } else { rest };
    letters[index as usize] == code[8]
}

/// Checks the number of a resident or a foreigner in Korea: a date of birth, and the century and
/// sex. Numbers since October 2020 have no check digit.
fn rrn(digits: &[u8]) -> bool {
    let century = match digits[6] {
        b'9' | b'0' => 1800,
        b'1' | b'2' | b'5' | b'6' => 1900,
        _ => 2000,
    };
    let year = century + number(&digits[..2]);
    is_date(year, number(&digits[2..4]), number(&digits[4..6])) && year < 2030
}

/// Checks the registration of a business in Korea.
fn brn(digits: &[u8]) -> bool {
    let sum = weighted(&digits[..9], &[1, 3, 7, 1, 3, 7, 1, 3, 5]);
    let ninth = number(&digits[8..9]) * 5 / 10;
    (10 - (sum + ninth) % 10) % 10 == number(&digits[9..])
}

/// Checks the number of a citizen of Thailand.
fn thai(digits: &[u8]) -> bool {
    let sum = weighted(&digits[..12], &[13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2]);
    (b'1'..=b'8').contains(&digits[0]) && (11 - sum % 11) % 10 == number(&digits[12..])
}

/// Checks the number of a citizen or a resident of Taiwan. The letter is a region.
fn taiwanese(code: &[u8]) -> bool {
    // The regions of the letters A to Z are numbered from 10, in the order in which they were made.
    const REGIONS: [u32; 26] = [
        10, 11, 12, 13, 14, 15, 16, 17, 34, 18, 19, 20, 21, 22, 35, 23, 24, 25, 26, 27, 28, 29, 32,
        30, 31, 33,
    ];
    let region = REGIONS[usize::from(code[0] - b'A')];
    let sum = region / 10 + region % 10 * 9 + weighted(&code[1..], &[8, 7, 6, 5, 4, 3, 2, 1, 1]);
    matches!(code[1], b'1' | b'2' | b'8' | b'9') && sum.is_multiple_of(10)
}

/// Checks the number of a resident of China: a date of birth and a check digit (ISO 7064, 11-2).
fn chinese(code: &[u8]) -> bool {
    const WEIGHTS: [u32; 17] = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
    let born = (number(&code[6..10]), number(&code[10..12]), number(&code[12..14]));
    let check = b"10X98765432"[(weighted(&code[..17], &WEIGHTS) % 11) as usize];
    (1880..2040).contains(&born.0) && is_date(born.0, born.1, born.2) && check == code[17]
}

/// Checks the individual number of Japan.
fn my_number(digits: &[u8]) -> bool {
    let rest = weighted(&digits[..11], &[6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
    let check = if rest <= 1 { 0 } else { 11 - rest };
    check == number(&digits[11..])
}
