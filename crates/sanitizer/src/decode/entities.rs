//! Character references of HTML and XML: `&quot;`, `&#61;`, `&#x3d;`. As browsers do, the decoder
//! accepts zeros before a code, and some references without `;`.

use std::ops::Range;

use super::regions::regions;
use super::{View, ViewKind};
use crate::keyword_scan::KeywordScan;

/// Named references that occur next to a value or inside of it. For those without `;` in this list,
/// the `;` is optional in a text.
const NAMES: [(&str, char); 16] = [
    ("&quot", '"'),
    ("&amp", '&'),
    ("&lt", '<'),
    ("&gt", '>'),
    ("&nbsp", ' '),
    ("&shy", '\u{ad}'),
    ("&apos;", '\''),
    ("&equals;", '='),
    ("&colon;", ':'),
    ("&lowbar;", '_'),
    ("&hyphen;", '-'),
    ("&period;", '.'),
    ("&sol;", '/'),
    ("&plus;", '+'),
    ("&num;", '#'),
    ("&excl;", '!'),
];

/// Returns the beginnings of references.
pub(crate) fn reference_signs() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|(name, _)| *name).chain(["&#"])
}

/// Returns a view of each region with character references.
pub(super) fn views<'r>(scan: &'r KeywordScan<'_>) -> impl Iterator<Item = View> + 'r {
    let text = scan.text;
    let signs = scan.references.iter().copied();
    let references = signs.filter(|at| reference(text, *at).is_some());
    regions(text, references).map(|region| decoded(text, &region))
}

fn decoded(text: &str, region: &Range<usize>) -> View {
    let mut view = View::empty(ViewKind::Decoded);
    for (c, at) in decode_references(&text[region.clone()]) {
        view.push(c, region.start + at.start..region.start + at.end);
    }
    view
}

/// Returns the characters of `text`, its character references decoded, each with its bytes of
/// `text`.
pub fn decode_references(text: &str) -> impl Iterator<Item = (char, Range<usize>)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let c = text[at..].chars().next()?;
        let whole = if c == '&' { reference(text, at) } else { None };
        let (c, end) = whole.unwrap_or((c, at + c.len_utf8()));
        let bytes = at..end;
        at = end;
        Some((c, bytes))
    })
}

/// Returns the character that the reference at `at` stands for, and the end of the reference.
fn reference(text: &str, at: usize) -> Option<(char, usize)> {
    match text.as_bytes().get(at + 1)? {
        b'#' => numeric(text.as_bytes(), at + 2),
        _ => named(text, at),
    }
}

/// Returns the character whose code begins at `at`, and the end of the reference.
fn numeric(bytes: &[u8], at: usize) -> Option<(char, usize)> {
    /// Digits of the greatest code.
    const MAX_DIGITS: usize = 7;
    let is_hexadecimal = matches!(bytes.get(at), Some(b'x' | b'X'));
    let (start, radix) = if is_hexadecimal { (at + 1, 16) } else { (at, 10) };
    let digit = |byte: &u8| char::from(*byte).to_digit(radix);
    let count = bytes[start..].iter().map_while(digit).count();
    let end = start + count;
    let zeros = bytes[start..end].iter().take_while(|byte| **byte == b'0').count();
    if count == 0 || count - zeros > MAX_DIGITS {
        return None;
    }
    let digits = bytes[start + zeros..end].iter().map_while(digit);
    let c = char::from_u32(digits.fold(0, |code, digit| code * radix + digit))?;
    Some((c, end + usize::from(bytes.get(end) == Some(&b';'))))
}

/// Returns the character whose name begins at `at`, with its `&`, and the end of the reference.
fn named(text: &str, at: usize) -> Option<(char, usize)> {
    const MAX_LENGTH: usize = 10;
    let rest = &text.as_bytes()[at + 1..];
    let length = rest.iter().take(MAX_LENGTH).take_while(|b| b.is_ascii_alphanumeric()).count();
    let name = &text[at..=at + length];
    let is_closed = rest.get(length) == Some(&b';');
    let is_meant = |known: &str| match known.strip_suffix(';') {
        Some(known) => is_closed && name == known,
        None => name == known || is_upper_case_of(name, known),
    };
    let (_, c) = NAMES.iter().find(|(known, _)| is_meant(known))?;
    Some((*c, at + 1 + length + usize::from(is_closed)))
}

/// Whether `name` is `known` in capitals: `&QUOT`.
fn is_upper_case_of(name: &str, known: &str) -> bool {
    name.eq_ignore_ascii_case(known) && !name.contains(|c: char| c.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Rules;

    #[test]
    fn references_are_decoded() {
        let text = "if a && b\npw=&quot;&#1078;&#x3D;x&amp;y&quot; &none; &\n";
        let scan = Rules::standard().scan_keywords(text);
        let view = views(&scan).next().expect("one region");
        assert_eq!(view.text, "pw=\"ж=x&y\" &none; &");
        assert_eq!(&text[view.origin(&(4..7))], "&#1078;&#x3D;");
        let code = Rules::standard().scan_keywords("fn f(a: &str, b: &mut B) -> &c; x &= y;");
        assert_eq!(views(&code).count(), 0);
    }

    #[test]
    fn references_are_decoded_as_in_browsers() {
        for (text, expected) in [
            ("x&#0000061;y", "x=y"),
            ("x&#x00003d;y", "x=y"),
            ("x&#61 y", "x= y"),
            ("&#X41&#66&#x43,", "ABC,"),
            ("x=&quot a &quot", "x=\" a \""),
            ("&lt= &GT, &AMP;&amp/", "<= >, &&/"),
        ] {
            let scan = Rules::standard().scan_keywords(text);
            let shown: Vec<String> = views(&scan).map(|view| view.text).collect();
            assert_eq!(shown, [expected], "{text}");
        }
        for text in [
            "&quota &ltd, &apos x &Lt, &",
            "&#; &#x; &#g &#xg",
            "&#1114112; &#55296; &#99999999999999999999999;",
        ] {
            let scan = Rules::standard().scan_keywords(text);
            assert_eq!(views(&scan).count(), 0, "{text}");
        }
    }
}
