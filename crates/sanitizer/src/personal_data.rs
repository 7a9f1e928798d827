//! Personal data: text that reaches or identifies a person. A number counts if its check digits are
//! valid and its shape, or a word beside it, identifies it. A number that no country's form
//! describes counts if a word beside it says that it is one of a person.

mod candidates;
mod cards;
mod checksums;
mod context;
mod digits;
mod emails;
mod forms;
mod ip_addresses;
mod labels;
mod named;
mod phones;
mod wallets;

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::{Class, Finding};
use candidates::{Candidate, from_first, groups};
use context::Context;
pub use forms::country;
use forms::{Form, with_shape};
use ip_addresses::{IP_ADDRESS, ip_address};

/// An IBAN, in groups or not.
static IBAN: LazyLock<Regex> =
    LazyLock::new(|| compile(r"[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,4})?"));
/// A number of a card or a telephone.
static NUMBER: LazyLock<Regex> =
    LazyLock::new(|| compile(r"[+(]{0,2}[0-9](?:[ .:()-]{0,2}[0-9]){7,18}"));

fn compile(text: &str) -> Regex {
    Regex::new(text).expect("a valid regex")
}

/// The category of IP addresses, which are searched only if the policy does not allow them.
pub(crate) const ADDRESS: &str = "ip-address";

/// Returns the categories of personal data.
pub(crate) fn categories() -> impl Iterator<Item = &'static str> {
    ["email", "phone", "card", "iban", wallets::CATEGORY, ADDRESS]
        .into_iter()
        .chain(named::CATEGORIES)
        .chain(forms::all().map(|form| form.category))
}

/// Returns the personal data in `text`; spans may overlap. Numbers of the categories in `excluded`
/// are treated as if their form were unknown.
pub(crate) fn find(text: &str, ip_addresses: bool, excluded: &[&str]) -> Vec<Finding> {
    let mut found: Vec<Finding> = emails::emails(text).chain(wallets::wallets(text)).collect();
    for window in digits::dense_windows(text) {
        let groups = groups(text, window.clone());
        let mut numbers = Numbers::default();
        numbers.add(|_| matches(&IBAN, text, &window, iban).collect());
        numbers.add(|_| matches(&NUMBER, text, &window, card).collect());
        numbers.add(|known| numbers_of_states(text, &groups, excluded, known));
        numbers.add(|_| matches(&NUMBER, text, &window, phone).collect());
        numbers.add(|known| named::find(text, &groups, excluded, known));
        found.append(&mut numbers.found);
    }
    if ip_addresses {
        found.extend(matches(&IP_ADDRESS, text, &(0..text.len()), ip_address));
    }
    found
}

/// The numbers in a part of a text: sorted, disjoint.
#[derive(Debug, Default)]
struct Numbers {
    found: Vec<Finding>,
}

impl Numbers {
    /// Adds the findings of a detector, which are sorted and disjoint, but those that overlap an
    /// earlier one.
    fn add(&mut self, detect: impl FnOnce(&Self) -> Vec<Finding>) {
        let mut more = detect(self);
        more.retain(|one| !self.has(&one.span));
        if !more.is_empty() {
            self.found.append(&mut more);
            self.found.sort_by_key(|one| one.span.start);
        }
    }

    /// Whether a finding overlaps the span.
    fn has(&self, span: &Range<usize>) -> bool {
        let next = self.found.partition_point(|one| one.span.end <= span.start);
        self.found.get(next).is_some_and(|one| one.span.start < span.end)
    }
}

/// Returns the findings among the matches of a regex.
fn matches<'t>(
    regex: &'static Regex,
    text: &'t str,
    window: &Range<usize>,
    judge: impl Fn(&str, &Range<usize>) -> Option<Finding> + 't,
) -> impl Iterator<Item = Finding> + 't {
    let offset = window.start;
    regex.find_iter(&text[window.clone()]).filter_map(move |candidate| {
        let whole = offset + candidate.start()..offset + candidate.end();
        let mut spans = parts(text, whole).filter(|span| is_delimited(text, span));
        spans.find_map(|span| judge(text, &span))
    })
}

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

fn iban(text: &str, span: &Range<usize>) -> Option<Finding> {
    let compact: Vec<u8> = text[span.clone()].bytes().filter(u8::is_ascii_alphanumeric).collect();
    let is_iban = (15..=34).contains(&compact.len()) && checksums::iban(&compact);
    is_iban.then(|| personal("iban", span, CHECKED))
}

fn card(text: &str, span: &Range<usize>) -> Option<Finding> {
    let (digits, shape) = shape_of(&text[span.clone()]);
    let is_card = cards::is_card(&digits, &shape) && !Context::of(text, span).names_order();
    is_card.then(|| personal("card", span, CHECKED))
}

fn phone(text: &str, span: &Range<usize>) -> Option<Finding> {
    let value = &text[span.clone()];
    let context = Context::of(text, span);
    let is_phone = phones::is_phone(value, &shape_of(value).1, &context) && !context.names_order();
    is_phone.then(|| personal("phone", span, NAMED))
}

/// Returns the digits of a number, and the number with `9` for each digit.
fn shape_of(value: &str) -> (Vec<u8>, String) {
    let digits = value.bytes().filter(u8::is_ascii_digit).collect();
    let shape = value.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    (digits, shape)
}

/// Returns the numbers that states issue.
fn numbers_of_states(
    text: &str,
    groups: &[Range<usize>],
    excluded: &[&str],
    known: &Numbers,
) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for first in 0..groups.len() {
        if found.last().is_some_and(|last| groups[first].start < last.span.end) {
            continue;
        }
        let numbers = from_first(text, &groups[first..]);
        let number = numbers.iter().find_map(|number| {
            let form = form_of(number, excluded, known)?;
            Some(personal(form.category, &number.span, NAMED))
        });
        found.extend(number);
    }
    found
}

/// Returns the form that describes a number, if its check digits are valid and its groups or a word
/// beside it say that it is one.
fn form_of(number: &Candidate<'_>, excluded: &[&str], known: &Numbers) -> Option<&'static Form> {
    let text = number.text;
    let compact = number.compact();
    let mut valid = with_shape(number.shape)
        .filter(|form| !excluded.contains(&form.category) && form.accepts(&compact))
        .peekable();
    valid.peek()?;
    if known.has(&number.span) || !is_delimited(text, &number.span) {
        return None;
    }
    let context = Context::of(text, &number.span);
    let is_free = !is_in_row(text, &number.span);
    let form = valid.find(|form| {
        is_free && number.is_written_as(form.anywhere)
            || number.is_written_as(form.on_line) && is_alone(number, &context)
            || context.names(form.labels) && is_said_of(form, number, &context)
            || context.is_followed_by(form.labels)
    });
    // The words for a bill and an account are the same in Russian; no bill has such a long number.
    let may_be_order = number.shape.length < MIN_ACCOUNT && context.names_order();
    form.filter(|_| !may_be_order)
}

/// Whether a label before the number is no other word, and the number no quantity.
fn is_said_of(form: &Form, number: &Candidate<'_>, context: &Context<'_>) -> bool {
    // `ein` is an article in German.
    let is_article = form.category == "us-ein"
        && !number.is_written_as(&["99-9999999"])
        && !matches!(context.last_word(), "EIN" | "FEIN")
        && !context.names(&["fein", "employer identification"]);
    let is_count = form.check.is_none() && named::counts(number, context);
    !(is_article || is_count)
}

/// Minimum length of a number that is an account's and not an order's.
const MIN_ACCOUNT: usize = 20;

/// Whether nothing but the number is on its line, or a number in groups is the first on it.
fn is_alone(number: &Candidate<'_>, context: &Context<'_>) -> bool {
    context.is_whole_line || context.is_first && number.text[number.span.clone()].contains('-')
}

/// Whether the groups of a number follow another one after a space, as in a dump.
fn is_in_row(text: &str, span: &Range<usize>) -> bool {
    let Some(before) = text[..span.start].strip_suffix(' ') else { return false };
    let group = before.bytes().rev().take(8).take_while(u8::is_ascii_alphanumeric);
    text[span.clone()].contains(' ') && group.into_iter().any(|byte| byte.is_ascii_digit())
}
