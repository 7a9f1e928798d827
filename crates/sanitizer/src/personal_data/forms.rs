//! The forms of numbers that states issue to persons and organizations, by country.

mod americas;
mod asia;
mod europe;
mod pacific_africa;
mod russia;

use std::sync::LazyLock;

use super::candidates::{Candidate, MAX_LENGTH, Pattern, Shape};
use super::context::Context;

/// A kind of number with its form, as its issuer describes it.
#[derive(Debug)]
pub(crate) struct Form {
    /// The code of the country and the name of the number: `us-ssn`.
    pub category: &'static str,
    /// The patterns without separators: `9` is a digit, `A` a letter, `X` either of them.
    pub shapes: &'static [&'static str],
    /// The patterns, with separators, that are found anywhere in a text.
    pub anywhere: &'static [&'static str],
    /// The patterns that are found if nothing else is on their line.
    pub on_line: &'static [&'static str],
    /// The words that name the number. With one of them before it, any separators are accepted.
    pub labels: &'static [&'static str],
    /// Checks the check digits and the ranges that are issued. The number has one of the shapes.
    /// Without a check, only a label tells the numbers from others.
    pub check: Option<fn(&[u8]) -> bool>,
}

impl Form {
    /// Whether a number of one of the shapes, without separators, has valid check digits.
    pub(super) fn accepts(&self, compact: &[u8]) -> bool {
        self.check.is_none_or(|check| check(compact))
    }
}

/// Returns all forms. Of forms that accept the same number, the first one names it.
pub(super) fn all() -> impl Iterator<Item = &'static Form> {
    [russia::FORMS, americas::FORMS, europe::FORMS, asia::FORMS, pacific_africa::FORMS]
        .into_iter()
        .flatten()
}

/// Returns the forms with a shape.
pub(super) fn with_shape(shape: Shape) -> impl Iterator<Item = &'static Form> {
    static BY_LENGTH: LazyLock<Vec<Vec<(Pattern, &Form)>>> = LazyLock::new(|| {
        let mut forms: Vec<Vec<(Pattern, &Form)>> = vec![Vec::new(); MAX_LENGTH + 1];
        for form in all() {
            for pattern in form.shapes.iter().copied().map(Pattern::of) {
                forms[pattern.length].push((pattern, form));
            }
        }
        forms
    });
    let same_length = BY_LENGTH[shape.length].iter();
    same_length.filter(move |(pattern, _)| pattern.fits(shape)).map(|(_, form)| *form)
}

/// Whether a form that is named before the number says that the number is not one of a person: it
/// has the form's shape, but other check digits.
pub(super) fn refutes(number: &Candidate<'_>, context: &Context<'_>, excluded: &[&str]) -> bool {
    let compact = number.compact();
    with_shape(number.shape).any(|form| {
        !excluded.contains(&form.category) && context.names(form.labels) && !form.accepts(&compact)
    })
}

/// Returns the code of the country whose authorities issue the numbers of a category, in lower
/// case.
pub fn country(category: &str) -> Option<&'static str> {
    let form = all().find(|form| form.category == category)?;
    form.category.split('-').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_has_a_country_and_can_be_found() {
        for form in all() {
            assert_eq!(country(form.category).map(str::len), Some(2), "{}", form.category);
            assert!(!form.shapes.is_empty(), "{}", form.category);
            let patterns = form.anywhere.iter().chain(form.on_line);
            for pattern in patterns {
                let compact: String = pattern.chars().filter(char::is_ascii_alphanumeric).collect();
                let is_known = form.shapes.contains(&compact.as_str());
                assert!(is_known, "{}: {pattern} has none of the shapes", form.category);
            }
            assert!(!form.labels.is_empty(), "{}", form.category);
        }
        assert_eq!(country("email"), None);
        assert_eq!(country("ip-address"), None);
    }

    /// Numbers with valid check digits that issuers or standards use as examples, or generated.
    #[test]
    fn valid_numbers_are_accepted_and_others_are_not() {
        for (category, valid, invalid) in EXAMPLES {
            let form = all().find(|form| form.category == *category).expect(category);
            let is_valid = |number: &str| {
                let shape = Shape::of(number);
                form.shapes.iter().any(|pattern| Pattern::of(pattern).fits(shape))
                    && form.accepts(number.as_bytes())
            };
            assert!(is_valid(valid), "{category}: {valid}");
            assert!(!is_valid(invalid), "{category}: {invalid}");
        }
    }

    #[rustfmt::skip]
    const EXAMPLES: &[(&str, &str, &str)] = &[
        ("ru-inn", "7707083893", "7707083894"),
        ("ru-inn", "500100732259", "500100732258"),
        ("ru-ogrn", "1027700132195", "1027700132196"),
        ("ru-snils", "11223344595", "11223344596"),
        ("us-ssn", "536904399", "666904399"),
        ("us-itin", "912704321", "912004321"),
        ("us-npi", "1234567893", "1234567894"),
        ("us-mbi", "1EG4TE5MK73", "1EG4TE5MK7S"),
        ("us-dea", "AB1234563", "AB1234564"),
        ("us-aba-routing", "021000021", "021000022"),
        ("ca-sin", "046454286", "046454287"),
        ("br-cpf", "52998224725", "52998224726"),
        ("br-cnpj", "11222333000181", "11222333000182"),
        ("gb-nhs", "9434765919", "9434765918"),
        ("gb-nino", "AA123456C", "QQ123456C"),
        ("gb-driving-licence", "MORGA657054SM9IJ", "MORGA699054SM9IJ"),
        ("de-tax-id", "86095742719", "86095742718"),
        ("de-pension-number", "15070649C103", "15070649C104"),
        ("de-health-number", "A123456780", "A123456781"),
        ("de-id-card", "T220001293", "T220001294"),
        ("de-vat-id", "DE136695976", "DE136695977"),
        ("fr-nir", "255081416802538", "255081416802539"),
        ("fr-siren", "732829320", "732829321"),
        ("es-nif", "12345678Z", "12345678A"),
        ("es-nie", "X1234567L", "X1234567M"),
        ("it-fiscal-code", "RSSMRA85T10A562S", "RSSMRA85T10A562T"),
        ("it-vat-code", "00743110157", "00743110158"),
        ("pl-pesel", "44051401359", "44051401358"),
        ("pl-nip", "1234563218", "1234563219"),
        ("pl-regon", "123456785", "123456786"),
        ("pl-id-card", "ABA300000", "ABA300001"),
        ("se-personnummer", "8112189876", "8112189877"),
        ("fi-hetu", "131052308T", "131052308U"),
        ("dk-cpr", "0707614285", "3307614285"),
        ("nl-bsn", "111222333", "111222334"),
        ("ch-ahv", "7569217076985", "7569217076986"),
        ("tr-national-id", "10000000146", "10000000147"),
        ("in-aadhaar", "234123412346", "234123412347"),
        ("in-pan", "ABCPE1234F", "ABCXE1234F"),
        ("in-gstin", "27AAPFU0939F1ZV", "27AAPFU0939F1ZW"),
        ("sg-nric", "S1234567D", "S1234567E"),
        ("kr-rrn", "9001011234568", "9013011234568"),
        ("kr-brn", "1248100998", "1248100999"),
        ("th-national-id", "1234567890121", "1234567890122"),
        ("tw-national-id", "A123456789", "A123456788"),
        ("cn-resident-id", "11010519491231002X", "110105194912310021"),
        ("jp-my-number", "123456789018", "123456789019"),
        ("au-tfn", "123456782", "123456783"),
        ("au-abn", "51824753556", "51824753557"),
        ("au-acn", "004085616", "004085617"),
        ("au-medicare", "2123456701", "2123456711"),
        ("za-id", "8001015009087", "8001015009088"),
    ];
}
