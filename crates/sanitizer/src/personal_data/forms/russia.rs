//! Russia.

use super::super::checksums::{inn, ogrn, snils};
use super::Form;

#[rustfmt::skip]
pub(super) const FORMS: &[Form] = &[
    Form { category: "ru-inn", shapes: &["9999999999", "999999999999"], anywhere: &[],
        on_line: &[], labels: &["инн", "inn", "иннюл", "иннфл"], check: Some(inn) },
    Form { category: "ru-ogrn", shapes: &["9999999999999", "999999999999999"], anywhere: &[],
        on_line: &[], labels: &["огрн", "огрнип", "ogrn", "ogrnip"], check: Some(ogrn) },
    Form { category: "ru-snils", shapes: &["99999999999"], anywhere: &["999-999-999 99"],
        on_line: &["999-999-999-99"], labels: &["снилс", "снилса", "snils", "страхово* номер"],
        check: Some(snils) },
    Form { category: "ru-passport", shapes: &["9999999999"], anywhere: &[], on_line: &[],
        labels: &["паспорт*", "серия", "серию"], check: None },
    Form { category: "ru-driver-license", shapes: &["9999999999", "99AA999999"], anywhere: &[],
        on_line: &[], labels: &["водительск*", "в/у", "номер прав", "права номер"], check: None },
    Form { category: "ru-health-insurance", shapes: &["9999999999999999"], anywhere: &[],
        on_line: &[], labels: &["полис*", "омс", "енп"], check: None },
    Form { category: "ru-account", shapes: &["99999999999999999999"], anywhere: &[], on_line: &[],
        labels: &["счет*", "счёт*", "р/с", "р/сч", "к/с", "account", "rs"], check: Some(account) },
];

/// Checks the number of an account: twenty digits that begin with the group of the chart of
/// accounts, and the code of the currency.
fn account(digits: &[u8]) -> bool {
    let is_group = matches!(digits[0], b'3' | b'4');
    let is_currency = matches!(&digits[5..8], b"810" | b"840" | b"978" | b"156" | b"398" | b"643");
    is_group && is_currency
}
