//! Random values without a name that says secret: `acme 'q8Zr2...'`, `acme_live_q8Zr2...`.
//!
//! Random values that mix upper-case letters, lower-case letters and digits are mostly keys.
//! Digests, identifiers and data have one case, come in blocks, or are parts of URLs.

use std::ops::Range;

use crate::assignment::{Names, is_identifier};
use crate::decode::encodes_text;
use crate::keyword_scan::KeywordScan;
use crate::randomness;
use crate::runs::is_base64;

/// Maximum length of a value after a word, in characters. Longer ones are mostly data.
const MAX_LENGTH: usize = 100;

/// Maximum length of a key with a prefix, in characters.
const MAX_KEY: usize = 128;

/// Maximum length of an identifier, in characters: 128 bits in base64.
const MAX_IDENTIFIER: usize = 22;

/// Minimum evidence of a value, in total and per character; see [`randomness::evidence`].
const EVIDENCE: f32 = 16.0;
const EVIDENCE_PER_CHARACTER: f32 = 0.55;

/// The same for the rest of a key after its prefix, which is evidence itself.
const EVIDENCE_PER_CHARACTER_OF_KEY: f32 = 0.35;

/// Minimum length of a line of data, in characters. A shorter line is data below one of the same
/// length.
const MIN_DATA: usize = 60;

/// Maximum length of the prefix of a key, in bytes.
const MAX_PREFIX: usize = 24;

/// Minimum length of a key after its prefix, in characters.
const MIN_TAIL: usize = 20;

/// Lengths of a key in hexadecimal digits after its prefix: whole bytes, as issuers choose them.
const HEX_TAILS: [usize; 6] = [32, 40, 48, 64, 96, 128];

/// Lengths of a value that is alone on its line, in characters: no identifier, and no line of data,
/// which has at least 64.
const ALONE: Range<usize> = MAX_IDENTIFIER + 1..64;

/// Characters after the parts of a prefix.
const SEPARATORS: [char; 5] = ['_', '-', '.', '~', ':'];

/// Characters between a word and its value.
const OPERATORS: [char; 13] = [' ', '\t', '"', '\'', '`', '{', '(', '=', ':', '>', '|', '-', '\\'];

/// Maximum distance of the word before the value, in bytes.
const CONTEXT_BYTES: usize = 128;

/// The confidence in such a value.
pub(crate) const CONFIDENCE: f32 = 0.5;

/// Returns the random values that follow a word, have a prefix, or are alone on their line.
pub(crate) fn values<'r>(
    scan: &'r KeywordScan<'_>,
    names: &'r Names,
) -> impl Iterator<Item = Range<usize>> + 'r {
    scan.runs.iter().filter_map(|run| value(scan.text, run, names))
}

fn value(text: &str, run: &Range<usize>, names: &Names) -> Option<Range<usize>> {
    let may_be_key = run.len() <= MAX_KEY
        && has_letters_and_digits(&text[run.clone()])
        && !is_digest(&text[run.clone()])
        && is_terminated(text, run.end);
    may_be_key.then_some(())?;
    let value = &text[run.clone()];
    // The secrets of encoded text are found in its view.
    let is_random = value.len() <= MAX_LENGTH
        && looks_random(value)
        && !encodes_text(value)
        && !is_data(line_after(text, run.end), run.len());
    if is_random && Context::before(text, run.start).names_value(value, names) {
        return Some(run.clone());
    }
    let key = key_around(text, run);
    let (prefix, tail) = split_prefix(&text[key.clone()]);
    let has_prefix = is_prefix(prefix) && is_key(prefix, tail);
    let may_be_alone =
        ALONE.contains(&key.len()) && (looks_random(tail) || is_grouped(&text[key.clone()]));
    let is_secret = has_prefix && Context::before(text, key.start).allows_key(names)
        || may_be_alone && is_alone(text, &key);
    is_secret.then_some(key)
}

fn has_letters_and_digits(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Whether the value is the digest of a resource: `sha384-...`.
fn is_digest(value: &str) -> bool {
    let bits = value.strip_prefix("sha").and_then(|rest| rest.split_once('-'));
    bits.is_some_and(|(bits, _)| bits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn looks_random(value: &str) -> bool {
    has_evidence(value, EVIDENCE_PER_CHARACTER)
}

fn has_evidence(value: &str, per_character: f32) -> bool {
    randomness::is_mixed(value)
        && !value.contains(['+', '/'])
        && randomness::evidence(value) >= EVIDENCE.max(per_character * value.len() as f32)
        && !randomness::is_filler(value)
        && !is_path_data(value)
        && !has_date(value)
        && !is_of_series(value)
}

/// Whether the value is the identifier of one of several elements, with its number: `...-12`.
fn is_of_series(value: &str) -> bool {
    let is_number = |part: &str| part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit());
    value.rsplit_once('-').is_some_and(|(identifier, number)| {
        identifier.len() <= MAX_IDENTIFIER && !number.is_empty() && is_number(number)
    })
}

/// Whether the value is short enough for an identifier, without the words around it:
/// `shape_..._clip`.
fn may_be_identifier(value: &str) -> bool {
    let (_, rest) = split_prefix(value);
    let is_word = |part: &str| part.bytes().all(|byte| byte.is_ascii_lowercase());
    let before = rest.rsplit_once('_').filter(|(_, last)| is_word(last)).map(|(before, _)| before);
    before.unwrap_or(rest).len() <= MAX_IDENTIFIER
}

/// Whether the value is SVG path data: its letters are commands.
fn is_path_data(value: &str) -> bool {
    let mut letters = value.bytes().filter(u8::is_ascii_alphabetic);
    letters.all(|letter| b"mlhvcsqtaze".contains(&letter.to_ascii_lowercase()))
}

/// Whether a date is in the value, as in the name of a snapshot: `20171210T211224Z-...`.
fn has_date(value: &str) -> bool {
    value.as_bytes().windows(8).any(|digits| {
        let number = std::str::from_utf8(digits).ok().and_then(|text| text.parse::<u32>().ok());
        number.is_some_and(|number| {
            let (year, month, day) = (number / 10_000, number / 100 % 100, number % 100);
            (1990..2100).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day)
        })
    })
}

/// Whether the value ends here.
fn is_terminated(text: &str, end: usize) -> bool {
    let mut rest = text[end..].chars();
    let next = rest.next();
    let is_end = |next: char| {
        let is_sign = !next.is_ascii() && !next.is_alphanumeric();
        next.is_whitespace() || is_sign || "\"'`})]<>|,;*\\".contains(next)
    };
    // The end of a sentence.
    let is_stop = |next: char| ".!?".contains(next);
    next.is_none_or(is_end) || next.is_some_and(is_stop) && rest.next().is_none_or(is_end)
}

/// Returns the value with the parts before it that belong to a key: `sha256~`, `SG.`, `12345:`.
fn key_around(text: &str, run: &Range<usize>) -> Range<usize> {
    let before = &text.as_bytes()[..run.start];
    let near = before.iter().rev().take(MAX_KEY);
    let length = match before.last() {
        Some(b'.' | b'~') => {
            near.take_while(|byte| is_base64(**byte) || b".~".contains(byte)).count()
        }
        // The number of an account. Words before a colon are names.
        Some(b':') => match near.skip(1).take_while(|byte| byte.is_ascii_digit()).count() {
            0 => 0,
            digits => digits + 1,
        },
        _ => 0,
    };
    run.start - length..run.end
}

/// Divides a key after its prefix of words and numbers: `acme_live_`.
fn split_prefix(key: &str) -> (&str, &str) {
    let mut end = 0;
    for (at, _) in key.match_indices(SEPARATORS).take_while(|(at, _)| *at < MAX_PREFIX) {
        if !is_prefix_part(&key[end..at]) {
            break;
        }
        end = at + 1;
    }
    key.split_at(end)
}

/// Whether the part is a number, a word in one case, perhaps with a number, or very short.
fn is_prefix_part(part: &str) -> bool {
    const SHORT: usize = 4;
    let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_of_one_case = letters.bytes().all(|byte| byte.is_ascii_lowercase())
        || letters.bytes().all(|byte| byte.is_ascii_uppercase());
    let digits = part.len() - letters.len();
    let is_word = is_of_one_case && (letters.is_empty() || digits <= 2);
    !part.is_empty() && (is_word || part.len() <= SHORT)
}

/// Whether the prefix begins with a word, or is the number of an account: `12345:`.
fn is_prefix(prefix: &str) -> bool {
    prefix.starts_with(|c: char| c.is_ascii_alphabetic()) || prefix.ends_with(':')
}

/// Whether the rest of a key after its prefix was generated. Digests follow a word and a dash
/// (`chunk-`), so hexadecimal digits need a prefix of another form.
fn is_key(prefix: &str, tail: &str) -> bool {
    let is_word = prefix
        .strip_suffix('-')
        .is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_alphabetic()));
    let is_hex = !is_word
        && HEX_TAILS.contains(&tail.len())
        && tail.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && !randomness::is_filler(tail);
    is_hex || tail.len() >= MIN_TAIL && has_evidence(tail, EVIDENCE_PER_CHARACTER_OF_KEY)
}

/// Whether the value has the form of a license key: groups of capitals and digits.
fn is_grouped(value: &str) -> bool {
    let is_of_key = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-';
    let is_hex = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    value.bytes().all(is_of_key)
        && !value.bytes().all(is_hex)
        && (4..=8).contains(&value.split('-').count())
        && value.split('-').all(|group| group.len() >= 2)
        && randomness::evidence(value) >= EVIDENCE
        && !randomness::is_filler(value)
}

/// Whether the value has a line of its own, and is no line of data.
fn is_alone(text: &str, value: &Range<usize>) -> bool {
    let near = text.floor_char_boundary(value.start.saturating_sub(CONTEXT_BYTES));
    let (rest, before) = match text[near..value.start].rsplit_once('\n') {
        Some((rest, before)) => (rest, before),
        None if near == 0 => ("", &text[..value.start]),
        None => return false,
    };
    let after = &text[value.end..text.ceil_char_boundary((value.end + 8).min(text.len()))];
    let after = after.split('\n').next().unwrap_or_default();
    let before = before.trim_start();
    let before =
        ["- ", "* "].iter().find_map(|bullet| before.strip_prefix(bullet)).unwrap_or(before);
    // A literal with a comma is one of a list of data.
    let is_mark = |c: char| " \t\r\"'`;".contains(c);
    before.chars().all(is_mark)
        && after.chars().all(is_mark)
        && !is_data(rest.rsplit('\n').next().unwrap_or_default(), value.len())
        && !is_data(line_after(text, value.end), value.len())
}

/// Returns the start of the next line if the current one ends at `end`.
fn line_after(text: &str, end: usize) -> &str {
    let next = ["\n", "\r\n"].iter().find_map(|line_break| text[end..].strip_prefix(line_break));
    let next = next.unwrap_or_default();
    let near = &next[..next.ceil_char_boundary(CONTEXT_BYTES.min(next.len()))];
    near.split(['\r', '\n']).next().unwrap_or_default()
}

/// Whether the line is one of a block of data, next to a line of this length.
fn is_data(line: &str, length: usize) -> bool {
    let line = line.trim();
    let is_of_block = line.len() >= MIN_DATA || line.len() == length;
    is_of_block && line.trim_end_matches('=').bytes().all(is_base64)
}

/// The text before a value on its line.
struct Context<'t>(&'t str);

impl<'t> Context<'t> {
    fn before(text: &'t str, start: usize) -> Self {
        let near = &text[text.floor_char_boundary(start.saturating_sub(CONTEXT_BYTES))..start];
        Self(near.rsplit('\n').next().unwrap_or_default())
    }

    /// Whether a word precedes the value, with at most an operator, a quote and spaces between,
    /// outside of a URL.
    fn names_value(&self, value: &str, names: &Names) -> bool {
        let (before, word) = self.word();
        // A literal that begins with an equals sign is no assignment: `boundary="=-..."`.
        let is_open =
            self.0.ends_with([' ', '\t', '"', '\'', '`', '{', '=']) && !self.0.ends_with("\"=");
        let is_word = word.bytes().filter(u8::is_ascii_alphabetic).count() >= 2;
        is_open
            && is_word
            && !self.is_in_url()
            && !names.denies(before)
            && !names.is_other(word)
            && (!is_identifier(word) || !may_be_identifier(value))
            && !is_number_of_other(before, word, names)
    }

    /// Whether a key with a prefix may follow.
    fn allows_key(&self, names: &Names) -> bool {
        let (before, word) = self.word();
        let last = self.0.chars().next_back();
        let is_open = last.is_none_or(|last| {
            last.is_whitespace() || !last.is_alphanumeric() && !"/.\\@#%&?$+-_~".contains(last)
        });
        is_open
            && !self.is_in_url()
            && !names.denies(before)
            && !names.is_other(word)
            && !is_identifier(word)
    }

    /// Returns the text up to the word before the value, and the word.
    fn word(&self) -> (&'t str, &'t str) {
        let before = self.0.trim_end_matches(OPERATORS);
        let is_inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
        (before, &before[before.trim_end_matches(is_inner).len()..])
    }

    fn is_in_url(&self) -> bool {
        self.0.rsplit([' ', '\t']).next().unwrap_or_default().contains("://")
    }
}

/// Whether the word is that of a number, as in `order id`, and the one before it makes it the
/// number of something else.
fn is_number_of_other(before: &str, word: &str, names: &Names) -> bool {
    let is_number = ["id", "number", "no", "nr"].iter().any(|one| word.eq_ignore_ascii_case(one));
    let rest = before[..before.len() - word.len()].trim_end_matches(' ');
    let letters = rest.bytes().rev().take_while(u8::is_ascii_alphabetic).count();
    is_number && names.is_other(&rest[rest.len() - letters..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Rules;

    /// Generated for this test.
    const VALUE: &str = "q8Zr2Lm0Tx5vB7nKc3Wd9Yh4";

    fn found(text: &str) -> Vec<&str> {
        let rules = Rules::standard();
        values(&rules.scan_keywords(text), &rules.names).map(|span| &text[span]).collect()
    }

    #[test]
    fn random_value_after_a_word_is_found() {
        for syntax in
            ["acme '@'", "acme @\n", "template := \"@\"", "<id>{acme @}</id>", "\"id\": \"@\""]
        {
            let text = syntax.replace('@', VALUE);
            assert_eq!(found(&text), [VALUE], "{text}");
        }
    }

    /// Hexadecimal digits, generated for this test.
    const DIGITS: &str = "9f3ac1d27be84056a1c9e07d52b8f634";

    #[test]
    fn key_with_a_prefix_is_found_without_a_word() {
        for key in [
            format!("acme_live_{VALUE}"),
            format!("ac-{VALUE}"),
            format!("acme~{VALUE}"),
            format!("AC.{}.{VALUE}", &VALUE[2..]),
            format!("7213808860:{VALUE}"),
            format!("ac3_{DIGITS}"),
        ] {
            for syntax in ["@", "{@}", "(@)", "['@', 1]", "<b>@</b>", "x := \"@\"", "Ключ «@»"]
            {
                let text = syntax.replace('@', &key);
                assert_eq!(found(&text), [key.as_str()], "{text}");
            }
        }
    }

    #[test]
    fn value_is_found_before_any_line_and_at_the_end_of_a_sentence() {
        let key = format!("acme_live_{VALUE}");
        for end in ["\nLOG_LEVEL_DEFAULT=debug", ".", ".\nNext", "!", "**", "\\n"] {
            assert_eq!(found(&format!("ACME={VALUE}{end}")), [VALUE], "{end}");
            assert_eq!(found(&format!("Use {key}{end}")), [key.as_str()], "{end}");
        }
        assert_eq!(found(&format!("{key}\n{key}")), [key.as_str(), key.as_str()]);
        assert!(found(&format!("{VALUE}.js {VALUE}.b")).is_empty());
    }

    #[test]
    fn value_on_its_own_line_is_found() {
        let license = "A3BK9-2XWQ7-Z8TM4-7PRV2-K6ND3";
        for value in [VALUE, license] {
            for syntax in ["@", "\n@\n", "a: 1\n- @\n", "x(\n  \"@\"\n)"] {
                let text = syntax.replace('@', value);
                assert_eq!(found(&text), [value], "{text}");
            }
        }
    }

    #[test]
    fn identifiers_data_and_urls_are_not_found() {
        let lines = format!("{VALUE}{VALUE}\n").repeat(3);
        let [short, long] = [&VALUE[..21], &format!("{VALUE}{VALUE}")];
        for text in [
            "* MBsGA1UECgwUQnV5cGFzcyBBUy05ODMxNjMzMjcxIDAeBgNVBAMMF0J1eXBhc3Mg",
            "see https://drive.example/open?id=q8Zr2Lm0Tx5vB7nKc3Wd9Yh4",
            "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
            "struct Vec2WithSimd4Of16BytesEach",
            "sha512-9c0BMnG5tHsDWJ2qJl3xVkOWSo9BsLJBzqJ1n5kYyZ0Uo1D7r0N2bqJvWm8cRk1Hw==",
            &format!("integrity=\"sha384-{VALUE}{VALUE}\""),
            &format!("h = sha384-{VALUE}"),
            // {"alg":"HS256","typ":"J"} and 012:Organization123456
            "header = \"eyJhbGciOiJIUzI1NiIsInR5cCI6IkoifQ\"",
            "\"node\": \"MDEyOk9yZ2FuaXphdGlvbjEyMzQ1Ng\"",
            // Outlines.
            "<path d=\"M352 20V0H188v-123l344-20v-1270zm40 120H8V40h112v112\"/>",
            "<path d=\"m0 0zM199 0v1432h241v-1432h-241zM385 1668\"/>",
            // Names with a date, and of generated files.
            "see 20171210T211224Z-2be650b6d019eb54Xy",
            "import \"chunk-q8Zr2Lm0Tx5vB7nKc3Wd9Yh4.js\"",
            "img/IMG_20190812_q8Zr2Lm0Tx5vB7nKc3",
            "spark-9f3ac1d27be84056a1c9e07d52b8f634",
            "schedule-9f3ac1d27be84056a1c9e07d52b8f634",
            "'[0-9a-hjkmnp-tv-zA-HJKMNP-TV-Z]{25}'",
            // Identifiers.
            &format!("{{ id: \"{short}\", elementId: \"{short}\" }}"),
            &format!("ids: [\n  \"{short}\",\n  \"{short}\",\n]"),
            &format!("source=\"{}-17\"", &VALUE[..20]),
            &format!("<mask id=\"shape_{short}_clip\"/>"),
            // Blocks and lists of data.
            &format!("[\n  \"{VALUE}\",\n  \"{VALUE}\",\n]"),
            &format!("const DATA: &str = \"\n{lines}\";"),
            &format!("data: {lines}"),
            &format!("data {long}{long}{long}"),
            // Parts of messages and of paths.
            &format!("boundary=\"={VALUE}\""),
            &format!("/assets/x-{VALUE}"),
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }
}
