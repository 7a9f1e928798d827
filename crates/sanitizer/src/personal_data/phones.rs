//! Telephone numbers.

use phonenumber::country;

use super::context::Context;
use super::labels::{CALL, PHONE};
use super::named::is_named;

/// Countries whose formats are tried for numbers without a country code, by population.
#[rustfmt::skip]
const COUNTRIES: &[country::Id] = &[
    country::US, country::IN, country::CN, country::BR, country::RU, country::JP, country::MX,
    country::PH, country::TR, country::DE, country::TH, country::GB, country::FR, country::ZA,
    country::IT, country::ES, country::UA, country::KR, country::PL, country::AU, country::KZ,
    country::NL, country::SE, country::IL,
];

/// Whether the number is that of a telephone: by its country code, by the way in which it is
/// written in Russia or the United States, or by a word before it.
pub(super) fn is_phone(value: &str, shape: &str, context: &Context<'_>) -> bool {
    let valid = |country| phonenumber::parse(country, value).is_ok_and(|n| n.is_valid());
    if value.starts_with('+') {
        return valid(None);
    }
    #[rustfmt::skip]
    let is_american = matches!(
        shape,
        "(999) 999-9999" | "(999)999-9999" | "999-999-9999" | "999.999.9999" | "1-999-999-9999"
            | "(999) 999 9999" | "(999) 999.9999" | "1 (999) 999-9999"
    );
    is_american && valid(Some(country::US))
        || is_russian(value, shape)
        || (context.has_label(&PHONE)
            || context.has_label(&CALL) && !context.is_assigned() && !is_named(context))
            && COUNTRIES.iter().any(|country| valid(Some(*country)))
}

/// Whether the number is written as in Russia, with the prefix 8 or 7 of the country.
fn is_russian(value: &str, shape: &str) -> bool {
    // No area has a code that begins with 0, 1 or 2.
    let area = value.bytes().filter(u8::is_ascii_digit).nth(1);
    #[rustfmt::skip]
    let is_grouped = matches!(
        shape,
        "9 (999) 999-99-99" | "9(999)999-99-99" | "9 999 999-99-99" | "9-999-999-99-99"
            | "9 (999) 999 99 99" | "9(999) 999-99-99" | "9 (999)999-99-99"
            | "9 (999) 999-9999" | "9(999)9999999" | "9 (999) 9999999" | "9-999-999-9999"
            | "9(999)999-9999" | "9 (9999) 99-99-99" | "9 999 999-9999"
    );
    is_grouped && value.starts_with(['8', '7']) && area.is_some_and(|digit| digit >= b'3')
}
