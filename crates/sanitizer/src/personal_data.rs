//! Personal data: text that reaches or identifies a person. A number counts if its check digits are
//! valid and its shape, or a word before it, identifies it.

mod checksums;
mod digits;

use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use std::sync::LazyLock;

use phonenumber::country;
use regex::Regex;

use crate::{Class, Finding};

/// Bytes before a number, on its line, in which a word may name its kind.
const CONTEXT_BYTES: usize = 64;

const PASSPORT_WORDS: &[&str] = &["passport", "travel document"];
const SNILS_WORDS: &[&str] = &["снилс", "snils"];
#[rustfmt::skip]
const PHONE_WORDS: &[&str] = &[
    "phone", "telephone", "tel", "mobile", "cell", "fax", "call", "whatsapp", "number is",
    "телефон", "тел", "моб", "звонить", "факс",
];

/// Words for numbers of documents, which are neither cards nor phones.
#[rustfmt::skip]
const ORDER_WORDS: &[&str] = &[
    "order", "orders", "invoice", "bestellung", "bestellnummer", "auftragsnummer", "rechnung",
    "rechnungsnummer", "заказ", "заказа", "заказу", "заказе", "заказом", "заказы", "счёт", "счет",
];
/// Words that may stand between them and the number.
#[rustfmt::skip]
const NUMBER_WORDS: &[&str] = &["number", "no", "nr", "num", "id", "ref", "is", "номер", "номером"];

static IP_ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    compile(r"(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f.]{1,15}|[0-9]{1,3}(?:\.[0-9]{1,3}){3}")
});
/// Codes with letters: an Italian fiscal code, an IBAN, a passport number.
static CODE: LazyLock<Regex> = LazyLock::new(|| {
    compile(concat!(
        r"[A-Z]{6}[0-9]{2}[A-Z][0-9]{2}[A-Z][0-9]{3}[A-Z]",
        r"|[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?",
        r"|[A-Z][0-9]{8}"
    ))
});
static NUMBER: LazyLock<Regex> =
    LazyLock::new(|| compile(r"[+(]{0,2}[0-9](?:[ .:()-]{0,2}[0-9]){7,18}"));

fn compile(text: &str) -> Regex {
    Regex::new(text).expect("a valid regex")
}

/// The categories of personal data.
#[rustfmt::skip]
pub(crate) const CATEGORIES: [&str; 14] = [
    "email", "phone", "card", "iban", "passport", ADDRESS, "it-fiscal-code", "ru-inn", "ru-ogrn",
    "ru-snils", "ru-passport", "in-aadhaar", "au-tfn", "us-ssn",
];

/// The category of IP addresses, which are searched only if the policy does not allow them.
pub(crate) const ADDRESS: &str = "ip-address";

/// Returns the personal data in `text`; spans may overlap.
pub(crate) fn find(text: &str, ip_addresses: bool) -> Vec<Finding> {
    let mut found: Vec<Finding> = emails(text).collect();
    let mut search = |regex: &Regex, window: Range<usize>, judge: Judge| {
        for candidate in regex.find_iter(&text[window.clone()]) {
            let (start, end) = (window.start + candidate.start(), window.start + candidate.end());
            let mut whole = parts(text, start..end).filter(|span| is_delimited(text, span));
            found.extend(whole.find_map(|span| judge(text, &span)));
        }
    };
    for window in digits::dense_windows(text) {
        search(&CODE, window.clone(), code);
        search(&NUMBER, window, number);
    }
    if ip_addresses {
        search(&IP_ADDRESS, 0..text.len(), ip_address);
    }
    found
}

/// Returns the finding at a candidate's span, if it is one.
type Judge = fn(&str, &Range<usize>) -> Option<Finding>;

/// Confidence if check digits are valid or the format is unique.
const CHECKED: f32 = 0.95;
/// Confidence if the shape, or a word before it, names its kind.
const NAMED: f32 = 0.75;

fn personal(category: &'static str, span: &Range<usize>, confidence: f32) -> Finding {
    Finding { class: Class::Personal, category, span: span.clone(), confidence }
}

/// Returns the span, then its parts between spaces: `078-05-1123 078-05-1124` may be one number or
/// two.
fn parts(text: &str, span: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let length = span.len();
    let parts = text[span.clone()].split(' ').filter(move |part| part.len() < length);
    let parts = parts.map(move |part| {
        let start = part.as_ptr() as usize - text.as_ptr() as usize;
        start..start + part.len()
    });
    std::iter::once(span).chain(parts)
}

/// Whether no letter, digit or punctuation of a longer name touches the span.
fn is_delimited(text: &str, span: &Range<usize>) -> bool {
    let before = text[..span.start].chars().next_back();
    !before.is_some_and(|c| joins(c) || matches!(c, '-' | '.' | '/' | '#' | '$' | '\\'))
        && ends(text, span.end)
}

/// Whether the word ends at `end`.
fn ends(text: &str, end: usize) -> bool {
    let mut after = text[end..].chars();
    let (next, second) = (after.next(), after.next());
    let continues = next == Some('-') && second.is_some_and(joins)
        || matches!(next, Some('.' | ':')) && second.is_some_and(|c| c.is_ascii_digit());
    !next.is_some_and(joins) && !continues
}

fn joins(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// File extensions that may follow an `@`, as in `icons/cart@2x.png`.
const FILE_EXTENSIONS: [&str; 15] = [
    ".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".avif", ".ico", ".tgz", ".zip", ".js",
    ".ts", ".css", ".map", ".json",
];

fn emails(text: &str) -> impl Iterator<Item = Finding> + '_ {
    let is_user = |b: &&u8| b.is_ascii_alphanumeric() || b"._%+-".contains(*b);
    let is_domain = |b: &&u8| b.is_ascii_alphanumeric() || matches!(**b, b'-' | b'.');
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'@', bytes).filter_map(move |at| {
        let user = bytes[..at].iter().rev().take(65).take_while(is_user).count();
        let domain = bytes[at + 1..].iter().take(254).take_while(is_domain).count();
        let domain = text[at + 1..at + 1 + domain].trim_end_matches(['.', '-']).len();
        let span = at - user..at + 1 + domain;
        // In a path, an address may follow a slash. After two slashes, it is a user of a host.
        let before = &text[..span.start];
        let in_path = before.ends_with('/') && !before.ends_with("//") && ends(text, span.end);
        let in_path = in_path && !FILE_EXTENSIONS.iter().any(|end| text[..span.end].ends_with(end));
        let is_whole = in_path || is_delimited(text, &span);
        ((1..=64).contains(&user) && is_whole && is_email(text, &span))
            .then(|| personal("email", &span, CHECKED))
    })
}

fn is_email(text: &str, span: &Range<usize>) -> bool {
    let Some((user, domain)) = text[span.clone()].split_once('@') else { return false };
    let domain = domain.to_ascii_lowercase();
    let Some((rest, top)) = domain.rsplit_once('.') else { return false };
    let reserved = matches!(top, "example" | "test" | "invalid" | "localhost" | "local")
        || ["example.com", "example.org", "example.net"].iter().any(|name| {
            domain.strip_suffix(name).is_some_and(|s| s.is_empty() || s.ends_with('.'))
        });
    let is_name = top.len() >= 2
        && top.bytes().all(|b| b.is_ascii_alphabetic())
        && rest.split('.').all(|label| !label.is_empty());
    // `git@host:path` and `user@host.com/path` in a URL name a host.
    let names_host = user == "git" || text[span.end..].starts_with([':', '/']);
    is_name && !reserved && !names_host && !user.starts_with('.')
}

fn ip_address(text: &str, span: &Range<usize>) -> Option<Finding> {
    let value = &text[span.clone()];
    // A network does not identify a person.
    let is_network = text[span.end..].starts_with('/')
        && text[span.end + 1..].starts_with(|c: char| c.is_ascii_digit());
    let is_host = match (value.parse::<Ipv4Addr>(), value.parse::<Ipv6Addr>()) {
        (Ok(v4), _) => {
            let [a, b, c, d] = v4.octets();
            // 1.1.1.1 and similar ones are public services; versions such as 1.2.0.0 look the same.
            let is_common = a == b && b == c && c == d;
            !v4.is_loopback() && !v4.is_documentation() && !is_common && a != 0 && (c, d) != (0, 0)
        }
        (_, Ok(v6)) => {
            // `dead::beef` is a path in many languages.
            let has_digit = value.bytes().any(|b| b.is_ascii_digit());
            !v6.is_loopback() && !v6.is_unspecified() && has_digit
        }
        _ => false,
    };
    (is_host && !is_network).then(|| personal(ADDRESS, span, NAMED))
}

fn code(text: &str, span: &Range<usize>) -> Option<Finding> {
    let value = &text[span.clone()];
    let compact: Vec<u8> = value.bytes().filter(|b| *b != b' ').collect();
    if compact.len() == 9 {
        let context = Context::of(text, span);
        let is_named = context.is_whole_line || context.names(PASSPORT_WORDS);
        return is_named.then(|| personal("passport", span, NAMED));
    }
    if checksums::fiscal_code(&compact) {
        return Some(personal("it-fiscal-code", span, CHECKED));
    }
    let is_iban = (15..=34).contains(&compact.len()) && checksums::iban(&compact);
    is_iban.then(|| personal("iban", span, CHECKED))
}

fn number(text: &str, span: &Range<usize>) -> Option<Finding> {
    let value = &text[span.clone()];
    let digits: Vec<u8> = value.bytes().filter(u8::is_ascii_digit).collect();
    let shape: String = value.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    let context = Context::of(text, span);
    if context.names_order() {
        return None;
    }
    if is_card(&digits, &shape) {
        return Some(personal("card", span, CHECKED));
    }
    identifier(&digits, &shape, &context)
        .or_else(|| is_phone(value, &shape, &context).then_some("phone"))
        .map(|category| personal(category, span, NAMED))
}

/// Returns the category of a number that a state issues to a person or an organization.
fn identifier(digits: &[u8], shape: &str, context: &Context) -> Option<&'static str> {
    let named = |words: &[&str]| context.names(words);
    let is_bare = shape.bytes().all(|b| b == b'9');
    let is_alone = is_bare && context.is_whole_line;
    let is_shaped_ssn = || {
        matches!(shape, "999-99-9999" | "999 99 9999" | "999.99.9999")
            || matches!(shape, "999-999999" | "99999-9999") && context.is_first
    };
    let is_shaped_aadhaar =
        || matches!(shape, "9999-9999-9999" | "9999 9999 9999" | "9999:9999:9999");
    let is_shaped_tfn = || shape == "999 999 999" && context.is_whole_line;
    if checksums::inn(digits) && named(&["инн", "inn"]) {
        Some("ru-inn")
    } else if checksums::ogrn(digits) && named(&["огрн", "огрнип", "ogrn"]) {
        Some("ru-ogrn")
    } else if checksums::snils(digits) && (shape == "999-999-999 99" || named(SNILS_WORDS)) {
        Some("ru-snils")
    } else if digits.len() == 10 && named(&["паспорт"]) {
        Some("ru-passport")
    } else if checksums::aadhaar(digits)
        && (is_alone || is_shaped_aadhaar() || named(&["aadhaar", "aadhar"]))
    {
        Some("in-aadhaar")
    } else if digits.len() == 9 && is_bare && named(PASSPORT_WORDS) {
        Some("passport")
    } else if checksums::tfn(digits) && (is_alone || is_shaped_tfn() || named(&["tfn", "tax file"]))
    {
        Some("au-tfn")
    } else if checksums::ssn(digits)
        && (is_alone || is_shaped_ssn() || named(&["ssn", "social security"]))
    {
        Some("us-ssn")
    } else {
        None
    }
}

/// Whether a number is that of a payment card, by the networks' first digits and lengths.
fn is_card(digits: &[u8], shape: &str) -> bool {
    let number = |length: usize| {
        digits.get(..length).unwrap_or_default().iter().fold(0, |n, d| n * 10 + u32::from(d - b'0'))
    };
    let network = match digits.len() {
        13 | 19 => number(1) == 4,
        14 => matches!(number(3), 300..=305) || matches!(number(2), 36 | 38 | 39),
        15 => matches!(number(2), 34 | 37),
        16 => {
            number(1) == 4
                || matches!(number(2), 35 | 51..=55 | 62 | 65)
                || matches!(number(4), 2200..=2204 | 2221..=2720 | 6011)
        }
        _ => false,
    };
    let printed = shape.split([' ', '-']).all(|group| {
        !group.is_empty()
            && group.bytes().all(|b| b == b'9')
            && (group.len() >= 4 || digits.len() == 19)
    });
    network && printed && checksums::luhn(digits) && digits.iter().any(|d| *d != digits[0])
}

/// Countries whose formats are tried for numbers without a country code, by population.
#[rustfmt::skip]
const COUNTRIES: &[country::Id] = &[
    country::US, country::IN, country::CN, country::BR, country::RU, country::JP, country::DE,
    country::GB, country::FR, country::IL, country::UA, country::KZ, country::PL, country::ES,
    country::IT, country::NL, country::KR, country::AU,
];

fn is_phone(value: &str, shape: &str, context: &Context) -> bool {
    let valid = |country| phonenumber::parse(country, value).is_ok_and(|n| n.is_valid());
    if value.starts_with('+') {
        return valid(None);
    }
    let american = matches!(
        shape,
        "(999) 999-9999" | "(999)999-9999" | "999-999-9999" | "999.999.9999" | "1-999-999-9999"
    );
    american && valid(Some(country::US))
        || context.names(PHONE_WORDS) && COUNTRIES.iter().any(|country| valid(Some(*country)))
}

/// The text around a number.
struct Context {
    /// The text before the number on its line, in lower case.
    before: String,
    /// Whether the number is the only text on its line.
    is_whole_line: bool,
    /// Whether the number is the first text on its line.
    is_first: bool,
}

impl Context {
    /// Reads the text around the span. The bytes read are bounded, since a line may have megabytes
    /// of numbers.
    fn of(text: &str, span: &Range<usize>) -> Self {
        let is_space = |c: char| c.is_whitespace() && c != '\n';
        let (before, after) = (&text[..span.start], &text[span.end..]);
        let start = before.trim_end_matches(is_space);
        let end = after.trim_start_matches(is_space);
        let is_first = start.is_empty() || start.ends_with('\n');
        let near =
            &before[before.floor_char_boundary(before.len().saturating_sub(CONTEXT_BYTES))..];
        let on_line = near.rsplit('\n').next().unwrap_or_default();
        Self {
            before: on_line.to_lowercase(),
            is_whole_line: is_first && (end.is_empty() || end.starts_with('\n')),
            is_first,
        }
    }

    /// Whether the last word before the number names an order.
    fn names_order(&self) -> bool {
        let is_sign = |c: char| " \t:=#№.'\"_-".contains(c);
        let mut words = self.before.rsplit(is_sign).filter(|word| !word.is_empty());
        let last = words.find(|word| !NUMBER_WORDS.contains(word));
        last.is_some_and(|word| ORDER_WORDS.contains(&word))
    }

    /// Whether one of the words, in lower case, precedes the number, with no letter on either side.
    fn names(&self, words: &[&str]) -> bool {
        let letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
        words.iter().any(|word| {
            self.before.match_indices(word).any(|(at, _)| {
                !letter(self.before[..at].chars().next_back())
                    && !letter(self.before[at + word.len()..].chars().next())
            })
        })
    }
}
