//! Email addresses.

use std::ops::Range;

use super::{CHECKED, ends, is_delimited, personal};
use crate::Finding;

/// File extensions that may follow an `@`, as in `icons/cart@2x.png`.
const FILE_EXTENSIONS: [&str; 15] = [
    ".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".avif", ".ico", ".tgz", ".zip", ".js",
    ".ts", ".css", ".map", ".json",
];

/// Returns the addresses in a text.
pub(super) fn emails(text: &str) -> impl Iterator<Item = Finding> + '_ {
    let is_user = |c: &char| is_letter_or_digit(*c) || "._%+-".contains(*c);
    let is_domain = |c: &char| is_letter_or_digit(*c) || matches!(c, '-' | '.');
    memchr::memchr_iter(b'@', text.as_bytes()).filter_map(move |at| {
        let user = length(text[..at].chars().rev().take(65).take_while(is_user));
        let domain = length(text[at + 1..].chars().take(254).take_while(is_domain));
        let domain = text[at + 1..][..domain].trim_end_matches(['.', '-']).len();
        let span = at - user..at + 1 + domain;
        // In a path, an address may follow a slash. After two slashes, it is a user of a host.
        let before = &text[..span.start];
        let in_path = before.ends_with('/') && !before.ends_with("//") && ends(text, span.end);
        let in_path = in_path && !FILE_EXTENSIONS.iter().any(|end| text[..span.end].ends_with(end));
        let is_whole = in_path || is_delimited_word(text, &span);
        ((1..=64).contains(&user)
            && is_whole
            && is_email(text, &span)
            && !is_password_of_url(before))
        .then(|| personal("email", &span, CHECKED))
    })
}

/// Whether the text before an `@` and its word ends with the user of a URL: the word is a password
/// or its placeholder, and a host follows.
fn is_password_of_url(before: &str) -> bool {
    /// Maximum length of the user, in characters.
    const USER: usize = 64;
    let Some(before) = before.strip_suffix(':') else { return false };
    let is_user = |c: &char| is_letter_or_digit(*c) || "._%+-".contains(*c);
    let user = length(before.chars().rev().take(USER).take_while(is_user));
    before[..before.len() - user].ends_with("://")
}

/// Returns the length of characters in bytes.
fn length(characters: impl Iterator<Item = char>) -> usize {
    characters.map(char::len_utf8).sum()
}

/// Whether a character is a letter or digit of an address. In scripts that write no spaces, such as
/// Chinese, letters beside an address are other words.
fn is_letter_or_digit(c: char) -> bool {
    c.is_ascii_alphanumeric() || !c.is_ascii() && c.is_alphanumeric() && !is_unspaced(c)
}

/// Whether a character is of a script that writes no spaces, or appends particles: Thai to Tibetan,
/// Burmese, Khmer, Chinese, Japanese, Korean.
#[rustfmt::skip]
fn is_unspaced(c: char) -> bool {
    matches!(
        c,
        '\u{0e00}'..='\u{0fff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
            | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
            | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..
    )
}

/// Whether the span is delimited, also by letters of a script that writes no spaces.
fn is_delimited_word(text: &str, span: &Range<usize>) -> bool {
    let before = text[..span.start].chars().next_back().is_some_and(is_unspaced);
    let after = text[span.end..].chars().next().is_some_and(is_unspaced);
    (before || is_delimited(text, &(span.start..text.len()))) && (after || ends(text, span.end))
}

fn is_email(text: &str, span: &Range<usize>) -> bool {
    let Some((user, domain)) = text[span.clone()].split_once('@') else { return false };
    let domain = domain.to_lowercase();
    let Some((rest, top)) = domain.rsplit_once('.') else { return false };
    let reserved = matches!(top, "example" | "test" | "invalid" | "localhost" | "local")
        || ["example.com", "example.org", "example.net"].iter().any(|name| {
            domain.strip_suffix(name).is_some_and(|s| s.is_empty() || s.ends_with('.'))
        });
    // `name@1.2.3.patch` is a version of a package.
    let is_number = |label: &str| label.bytes().all(|byte| byte.is_ascii_digit());
    let is_version = rest.split('.').count() >= 3 && rest.split('.').all(is_number);
    let is_name = top.chars().count() >= 2
        && !is_version
        && (top.chars().all(char::is_alphabetic) || top.starts_with("xn--"))
        && rest.split('.').all(|label| !label.is_empty());
    // `git@host:path` and `user@host.com/path` in a URL name a host.
    let names_host = user == "git" || text[span.end..].starts_with([':', '/']);
    is_name && !reserved && !names_host && !user.starts_with('.')
}
