//! The countries of Europe but Russia, and Turkey.

use super::super::checksums::{
    ean13, fiscal_code, is_date, iso7064_11_10, letter_value, luhn, machine_readable, number,
    weighted,
};
use super::Form;

#[rustfmt::skip]
pub(super) const FORMS: &[Form] = &[
    // United Kingdom.
    Form { category: "gb-nhs", shapes: &["9999999999"], anywhere: &["999 999 9999"],
        on_line: &["999-999-9999"], labels: &["nhs", "health service"],
        check: Some(nhs) },
    Form { category: "gb-nino", shapes: &["AA999999A"],
        anywhere: &["AA 99 99 99 A", "AA 999999 A", "AA-99-99-99-A"], on_line: &[],
        labels: &["nino", "national insurance", "ni number", "ni no"], check: Some(nino) },
    Form { category: "gb-driving-licence", shapes: &["AAAAA999999AA9AA", "AAAA9999999AA9AA",
            "AAA99999999AA9AA", "AA999999999AA9AA", "AAAAA999999A99AA"],
        anywhere: &["AAAAA999999AA9AA", "AAAA9999999AA9AA", "AAA99999999AA9AA",
            "AA999999999AA9AA", "AAAAA999999A99AA", "AAAAA 999999 AA9AA"],
        on_line: &[], labels: &["driving licence", "driver", "dvla"],
        check: Some(driving_licence) },
    Form { category: "gb-sort-code", shapes: &["999999"], anywhere: &[], on_line: &[],
        labels: &["sort code"], check: None },
    // Germany.
    Form { category: "de-tax-id", shapes: &["99999999999"], anywhere: &["99 999 999 999"],
        on_line: &["99999999999"],
        labels: &["steuer id", "steuerid", "steueridentifikationsnummer", "idnr"],
        check: Some(tax_id) },
    Form { category: "de-tax-number", shapes: &["9999999999", "99999999999", "9999999999999"],
        anywhere: &[], on_line: &["99/999/99999", "999/999/99999", "999/9999/9999"],
        labels: &["steuernummer", "steuer nr", "st nr", "tax number"], check: None },
    Form { category: "de-pension-number", shapes: &["99999999A999"],
        anywhere: &["99999999A999", "99 999999 A 999", "99999999 A 999"], on_line: &[],
        labels: &["sozialversicherung*", "rentenversicherung*", "versicherungsnummer", "svnr",
            "rvnr", "sv nummer"], check: Some(pension_number) },
    Form { category: "de-health-number", shapes: &["A999999999"], anywhere: &[],
        on_line: &["A999999999"],
        labels: &["kvnr", "krankenversicher*", "krankenkasse*", "versicherten*"],
        check: Some(health_number) },
    Form { category: "de-id-card", shapes: GERMAN_CARD, anywhere: &[], on_line: GERMAN_CARD,
        labels: &["personalausweis*", "ausweis*", "reisepass*", "pass nr", "passnummer"],
        check: Some(german_card) },
    Form { category: "de-driver-license", shapes: &["A99AA99AA99", "A99A99AAA99", "AA999999A99",
            "A9999999999", "A99AA99AA9A", "A99A999AA99"],
        anywhere: &[], on_line: &[], labels: &["führerschein*", "fahrerlaubnis*", "driver*",
            "driving*"], check: None },
    Form { category: "de-vat-id", shapes: &["AA999999999"], anywhere: &["AA999999999"],
        on_line: &["AA 999999999"], labels: &["ust id*", "ustid*", "umsatzsteuer*"],
        check: Some(german_vat) },
    Form { category: "de-doctor-number", shapes: &["999999999"], anywhere: &[], on_line: &[],
        labels: &["lanr", "bsnr", "arztnummer", "betriebsstättennummer"], check: None },
    // France.
    Form { category: "fr-nir", shapes: &["999999999999999", "999999A99999999"],
        anywhere: &["9 99 99 99 999 999 99", "9 99 99 9A 999 999 99"],
        on_line: &["999999999999999", "999999A99999999"],
        labels: &["nir", "sécurité sociale", "numéro de sécu", "insee"],
        check: Some(nir) },
    Form { category: "fr-siren", shapes: &["999999999"], anywhere: &[], on_line: &[],
        labels: &["siren", "rcs"], check: Some(luhn) },
    Form { category: "fr-siret", shapes: &["99999999999999"], anywhere: &[], on_line: &[],
        labels: &["siret"], check: Some(luhn) },
    // Spain.
    Form { category: "es-nif", shapes: &["99999999A"], anywhere: &["99999999A", "99999999-A"],
        on_line: &["99.999.999-A", "99999999 A"], labels: &["dni", "nif"], check: Some(nif) },
    Form { category: "es-nie", shapes: &["A9999999A"],
        anywhere: &["A9999999A", "A-9999999-A", "A9999999-A"], on_line: &[],
        labels: &["nie", "extranjer*", "nif"], check: Some(nie) },
    // Italy.
    Form { category: "it-fiscal-code", shapes: &["AAAAAA99A99A999A"],
        anywhere: &["AAAAAA99A99A999A", "AAA AAA 99A99 A999A"], on_line: &[],
        labels: &["codice fiscale", "fiscal code", "cf"], check: Some(fiscal_code) },
    Form { category: "it-vat-code", shapes: &["99999999999"], anywhere: &[],
        on_line: &["99999999999"], labels: &["partita iva", "p iva", "piva", "iva"],
        check: Some(italian_vat) },
    Form { category: "it-driver-license", shapes: &["AA9999999A", "A9AAAAAAAA", "A99999999A"],
        anywhere: &[], on_line: &["AA9999999A"], labels: &["patente", "driver*", "driving*"],
        check: None },
    Form { category: "it-identity-card", shapes: &["AA99999AA", "9999999AA", "AA9999999"],
        anywhere: &[], on_line: &["AA99999AA", "9999999AA"],
        labels: &["carta d identità", "carta identità", "carta di identità", "cie"], check: None },
    // Poland.
    Form { category: "pl-pesel", shapes: &["99999999999"], anywhere: &[],
        on_line: &["99999999999"], labels: &["pesel*"], check: Some(pesel) },
    Form { category: "pl-nip", shapes: &["9999999999"], anywhere: &["999-999-99-99"],
        on_line: &["999-99-99-999"], labels: &["nip"], check: Some(nip) },
    Form { category: "pl-regon", shapes: &["999999999"], anywhere: &[], on_line: &[],
        labels: &["regon"], check: Some(regon) },
    Form { category: "pl-id-card", shapes: &["AAA999999"], anywhere: &[],
        on_line: &["AAA999999", "AAA 999999"], labels: &["dowód*", "dowodu*"],
        check: Some(polish_card) },
    // The Nordic countries.
    Form { category: "se-personnummer", shapes: &["9999999999", "999999999999"],
        anywhere: &["999999-9999", "99999999-9999", "999999+9999"],
        on_line: &["9999999999", "999999999999"],
        labels: &["personnummer*", "personnr", "samordningsnummer", "pnr"],
        check: Some(personnummer) },
    Form { category: "se-organisation", shapes: &["9999999999"], anywhere: &["999999-9999"],
        on_line: &[], labels: &["organisationsnummer", "orgnr", "org nr"],
        check: Some(organisation) },
    Form { category: "fi-hetu", shapes: &["9999999999", "999999999A", "999999A9999", "999999A999A"],
        anywhere: &["999999-9999", "999999-999A", "999999+9999", "999999+999A", "999999A9999",
            "999999A999A"],
        on_line: &[], labels: &["henkilötunnus*", "hetu"], check: Some(hetu) },
    Form { category: "dk-cpr", shapes: &["9999999999"], anywhere: &[], on_line: &["999999-9999"],
        labels: &["cpr", "personnummer", "cpr nr"], check: Some(cpr) },
    Form { category: "no-fodselsnummer", shapes: &["99999999999"], anywhere: &["999999 99999"],
        on_line: &["99999999999"], labels: &["fødselsnummer", "personnummer", "fnr"],
        check: Some(fodselsnummer) },
    // Other countries.
    Form { category: "nl-bsn", shapes: &["999999999"], anywhere: &[], on_line: &[],
        labels: &["bsn", "burgerservicenummer", "sofinummer"], check: Some(bsn) },
    Form { category: "be-national-number", shapes: &["99999999999"],
        anywhere: &["99.99.99-999.99"], on_line: &["99999999999"],
        labels: &["rijksregisternummer", "registre national", "niss", "insz"],
        check: Some(belgian) },
    Form { category: "ch-ahv", shapes: &["9999999999999"], anywhere: &["999.9999.9999.99"],
        on_line: &["9999999999999"], labels: &["ahv*", "avs"], check: Some(ahv) },
    Form { category: "pt-nif", shapes: &["999999999"], anywhere: &[], on_line: &[],
        labels: &["nif", "contribuinte"], check: Some(portuguese) },
    Form { category: "cz-birth-number", shapes: &["9999999999"], anywhere: &["999999/9999"],
        on_line: &[], labels: &["rodné číslo", "rč", "birth number"], check: Some(czech) },
    Form { category: "tr-national-id", shapes: &["99999999999"], anywhere: &[],
        on_line: &["99999999999"], labels: &["kimlik*", "tckn", "tc", "t c", "turkish id"],
        check: Some(turkish) },
    Form { category: "tr-tax-id", shapes: &["9999999999"], anywhere: &[], on_line: &[],
        labels: &["vergi*", "vkn"], check: None },
    Form { category: "kz-iin", shapes: &["999999999999"], anywhere: &[], on_line: &[],
        labels: &["иин", "iin", "жсн"], check: None },
    Form { category: "ua-tax-id", shapes: &["9999999999"], anywhere: &[], on_line: &[],
        labels: &["рнокпп", "іпн"], check: None },
];

fn digit(code: &[u8], at: usize) -> u32 {
    number(&code[at..=at])
}

fn is_varied(digits: &[u8]) -> bool {
    digits.iter().any(|digit| *digit != digits[0])
}

fn nhs(digits: &[u8]) -> bool {
    let check = 11 - weighted(&digits[..9], &[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    is_varied(digits) && check % 11 == digit(digits, 9)
}

/// Checks a national insurance number: some prefixes are not issued.
fn nino(code: &[u8]) -> bool {
    let unused = [b"BG", b"GB", b"NK", b"KN", b"TN", b"NT", b"ZZ"];
    !b"DFIQUV".contains(&code[0])
        && !b"DFIQUVO".contains(&code[1])
        && !unused.iter().any(|prefix| code.starts_with(*prefix))
        && (b'A'..=b'D').contains(&code[8])
}

/// Checks a driving licence: after five characters of the name are the decade, month and day of
/// birth, and the year. In the month, 5 is added for a woman.
fn driving_licence(code: &[u8]) -> bool {
    let name = code[..5].iter().skip_while(|byte| byte.is_ascii_uppercase());
    let month = number(&code[6..8]);
    let month = if month > 50 { month - 50 } else { month };
    name.clone().all(|byte| *byte == b'9') && is_date(2000, month, number(&code[8..10]))
}

/// Checks the tax identification number of a person: of the first ten digits, one is there twice or
/// three times, and the last is a check digit (ISO 7064, 11-10).
fn tax_id(digits: &[u8]) -> bool {
    let mut counts = [0_u8; 10];
    for digit in &digits[..10] {
        counts[usize::from(digit - b'0')] += 1;
    }
    let mut repeated = counts.into_iter().filter(|count| *count > 1);
    let is_one_repeated =
        repeated.next().is_some_and(|count| count <= 3) && repeated.next().is_none();
    digits[0] != b'0' && is_one_repeated && iso7064_11_10(digits)
}

/// Checks the number of the pension insurance: area, date of birth, letter, serial, check digit.
fn pension_number(code: &[u8]) -> bool {
    const WEIGHTS: [u32; 12] = [2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1];
    let letter = u32::from(code[8] - b'A') + 1;
    let head = code[..8].iter().map(|byte| u32::from(byte - b'0'));
    let digits = head.chain([letter / 10, letter % 10]).chain([digit(code, 9), digit(code, 10)]);
    let products = digits.zip(WEIGHTS).map(|(digit, weight)| digit * weight);
    let sum: u32 = products.map(|product| product / 10 + product % 10).sum();
    let month = number(&code[4..6]);
    (1..=12).contains(&month) && number(&code[2..4]) <= 81 && sum % 10 == digit(code, 11)
}

/// Checks the number of a person in the health insurance: a letter as two digits, eight digits, and
/// a check digit.
fn health_number(code: &[u8]) -> bool {
    let letter = u32::from(code[0] - b'A') + 1;
    let digits = [letter / 10, letter % 10].into_iter();
    let digits = digits.chain((1..9).map(|at| digit(code, at)));
    let sum: u32 = digits
        .enumerate()
        .map(|(at, digit)| digit * if at % 2 == 0 { 1 } else { 2 })
        .map(|product| product / 10 + product % 10)
        .sum();
    sum % 10 == digit(code, 9)
}

/// The shape of identity cards and passports with their check digit.
const GERMAN_CARD: &[&str] = &["AXXXXXXXX9"];

/// Checks the number of an identity card or a passport. It has no vowels.
fn german_card(code: &[u8]) -> bool {
    b"CFGHJKLMNPRTVWXYZ".contains(&code[0])
        && code.iter().all(|byte| byte.is_ascii_digit() || b"CFGHJKLMNPRTVWXYZ".contains(byte))
        && code.iter().filter(|byte| byte.is_ascii_digit()).count() >= 5
        && machine_readable(code)
}

fn german_vat(code: &[u8]) -> bool {
    code.starts_with(b"DE") && iso7064_11_10(&code[2..])
}

/// Checks the number of a person in France: sex, year and month of birth, place, and a key.
fn nir(code: &[u8]) -> bool {
    // In Corsica, the department is 2A or 2B, which count as 19 and 18.
    let digits = |byte: &u8| if byte.is_ascii_digit() { *byte } else { b'0' };
    let head: Vec<u8> = code[..13].iter().map(digits).collect();
    let value = head.iter().fold(0_u64, |sum, byte| sum * 10 + u64::from(byte - b'0'));
    let corsica = match code[6] {
        b'A' => 1_000_000,
        b'B' => 2_000_000,
        byte if byte.is_ascii_digit() => 0,
        _ => return false,
    };
    let month = number(&head[3..5]);
    let key = 97 - (value - corsica.min(value)) % 97;
    matches!(code[0], b'1' | b'2' | b'7' | b'8')
        && matches!(month, 1..=12 | 20 | 30..=42 | 50..=99)
        && key == u64::from(number(&code[13..]))
}

/// The check letters of identity numbers in Spain, by the remainder of 23.
const SPANISH_LETTERS: &[u8; 23] = b"TRWAGMYFPDXBNJZSQVHLCKE";

fn nif(code: &[u8]) -> bool {
    SPANISH_LETTERS[(number(&code[..8]) % 23) as usize] == code[8]
}

fn nie(code: &[u8]) -> bool {
    let prefix = match code[0] {
        b'X' => 0,
        b'Y' => 1,
        b'Z' => 2,
        _ => return false,
    };
    let number = prefix * 10_000_000 + number(&code[1..8]);
    SPANISH_LETTERS[(number % 23) as usize] == code[8]
}

fn italian_vat(digits: &[u8]) -> bool {
    luhn(digits) && number(&digits[..7]) > 0
}

/// Checks a number of the register of residents in Poland. The month has the century, too.
fn pesel(digits: &[u8]) -> bool {
    let (year, month, day) = (number(&digits[..2]), number(&digits[2..4]), number(&digits[4..6]));
    let sum = weighted(&digits[..10], &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3]);
    is_date(2000 + year, month % 20, day) && (10 - sum % 10) % 10 == digit(digits, 10)
}

fn nip(digits: &[u8]) -> bool {
    let rest = weighted(&digits[..9], &[6, 5, 7, 2, 3, 4, 5, 6, 7]) % 11;
    is_varied(digits) && rest == digit(digits, 9)
}

fn regon(digits: &[u8]) -> bool {
    let rest = weighted(&digits[..8], &[8, 9, 2, 3, 4, 5, 6, 7]) % 11 % 10;
    is_varied(digits) && rest == digit(digits, 8)
}

/// Checks the number of an identity card of Poland: the check digit is the fourth character.
fn polish_card(code: &[u8]) -> bool {
    const WEIGHTS: [u32; 9] = [7, 3, 1, 9, 7, 3, 1, 7, 3];
    let sum: u32 =
        code.iter().zip(WEIGHTS).map(|(byte, weight)| letter_value(*byte) * weight).sum();
    sum.is_multiple_of(10)
}

/// Checks the number of a person in Sweden: a date of birth and a Luhn digit. In coordination
/// numbers, 60 is added to the day.
fn personnummer(digits: &[u8]) -> bool {
    let short = &digits[digits.len() - 10..];
    let is_century = digits.len() == 10 || matches!(&digits[..2], b"18" | b"19" | b"20");
    let day = number(&short[4..6]);
    let day = if day > 60 { day - 60 } else { day };
    is_century && is_date(2000, number(&short[2..4]), day) && luhn(short)
}

/// Checks the number of an organization in Sweden: the third digit is at least 2.
fn organisation(digits: &[u8]) -> bool {
    digits[2] >= b'2' && matches!(digits[0], b'1'..=b'9') && luhn(digits)
}

/// Checks the code of a person in Finland: a date of birth, a letter or sign of the century, three
/// digits, and a check character.
fn hetu(code: &[u8]) -> bool {
    let (date, rest) = code.split_at(6);
    let rest = match rest.len() {
        5 if b"ABCDEFYXWVU".contains(&rest[0]) => &rest[1..],
        4 => rest,
        _ => return false,
    };
    let (day, month) = (number(&date[..2]), number(&date[2..4]));
    let all = number(date) * 1000 + number(&rest[..3]);
    is_date(2000, month, day) && b"0123456789ABCDEFHJKLMNPRSTUVWXY"[(all % 31) as usize] == rest[3]
}

/// Checks the number of a person in Denmark: a date of birth. Numbers since 2007 have no check
/// digit.
fn cpr(digits: &[u8]) -> bool {
    is_date(2000, number(&digits[2..4]), number(&digits[..2]))
}

/// Checks the number of a person in Norway, which has two check digits.
fn fodselsnummer(digits: &[u8]) -> bool {
    let first = weighted(&digits[..10], &[3, 7, 6, 1, 8, 9, 4, 5, 2, 1]);
    let second = weighted(digits, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1]);
    is_varied(digits) && first.is_multiple_of(11) && second.is_multiple_of(11)
}

fn bsn(digits: &[u8]) -> bool {
    let sum = weighted(&digits[..8], &[9, 8, 7, 6, 5, 4, 3, 2]);
    is_varied(digits) && sum % 11 == digit(digits, 8)
}

/// Checks the number of a person in Belgium: a date of birth, and the complement of the remainder
/// of 97. For those born since 2000, a 2 precedes the number.
fn belgian(digits: &[u8]) -> bool {
    let value = number(&digits[..9]);
    let key = number(&digits[9..]);
    let born = |prefix: u32| 97 - (value + prefix * 1_000_000_000) % 97;
    let month = number(&digits[2..4]) % 20;
    (1..=12).contains(&month) && (key == born(0) || key == born(2))
}

fn ahv(digits: &[u8]) -> bool {
    digits.starts_with(b"756") && ean13(digits)
}

fn portuguese(digits: &[u8]) -> bool {
    let rest = weighted(&digits[..8], &[9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    let check = if rest < 2 { 0 } else { 11 - rest };
    is_varied(digits) && check == digit(digits, 8)
}

/// Checks the birth number of the Czech Republic and Slovakia: a multiple of 11. In the month, 50
/// is added for a woman.
fn czech(digits: &[u8]) -> bool {
    let month = number(&digits[2..4]);
    let month = if month > 50 { month - 50 } else { month };
    let value = digits.iter().fold(0_u64, |sum, byte| sum * 10 + u64::from(byte - b'0'));
    is_date(2000, month, number(&digits[4..6])) && value.is_multiple_of(11)
}

/// Checks the number of a citizen of Turkey, which has two check digits.
fn turkish(digits: &[u8]) -> bool {
    let sum_from = |start: usize| (start..9).step_by(2).map(|at| digit(digits, at)).sum::<u32>();
    let tenth = (sum_from(0) * 7 + 90 - sum_from(1)) % 10;
    let all: u32 = (0..10).map(|at| digit(digits, at)).sum();
    digits[0] != b'0' && tenth == digit(digits, 9) && all % 10 == digit(digits, 10)
}
