//! Character references of HTML and XML: `&quot;`, `&#61;`, `&#x3d;`.

use std::ops::Range;

use super::regions::regions;
use super::{View, ViewKind};
use crate::keyword_scan::KeywordScan;

/// References by name that stand next to a value or inside of it.
const NAMES: [(&str, char); 16] = [
    ("&quot;", '"'),
    ("&apos;", '\''),
    ("&amp;", '&'),
    ("&lt;", '<'),
    ("&gt;", '>'),
    ("&nbsp;", ' '),
    ("&equals;", '='),
    ("&colon;", ':'),
    ("&lowbar;", '_'),
    ("&hyphen;", '-'),
    ("&period;", '.'),
    ("&sol;", '/'),
    ("&plus;", '+'),
    ("&num;", '#'),
    ("&excl;", '!'),
    ("&shy;", '\u{ad}'),
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
    regions(text, references).map(|region| decoded(text, region))
}

fn decoded(text: &str, region: Range<usize>) -> View {
    let mut view = View::empty(ViewKind::Decoded);
    let mut at = region.start;
    while let Some(c) = text[at..region.end].chars().next() {
        let plain = (c, at + c.len_utf8());
        let whole = if c == '&' { reference(text, at) } else { None };
        let (c, end) = whole.filter(|(_, end)| *end <= region.end).unwrap_or(plain);
        view.push(c, at..end);
        at = end;
    }
    view
}

/// Returns the character that the reference at `at` stands for, and the end of the reference.
fn reference(text: &str, at: usize) -> Option<(char, usize)> {
    const MAX_LENGTH: usize = 10;
    let rest = &text.as_bytes()[at + 1..];
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'#';
    let length = rest.iter().take(MAX_LENGTH).take_while(is_name).count();
    if rest.get(length) != Some(&b';') {
        return None;
    }
    let name = &text[at..at + length + 2];
    let c = match name.strip_prefix("&#").and_then(|code| code.strip_suffix(';')) {
        Some(code) => match code.strip_prefix(['x', 'X']) {
            Some(code) => char::from_u32(u32::from_str_radix(code, 16).ok()?)?,
            None => char::from_u32(code.parse().ok()?)?,
        },
        None => NAMES.iter().find(|(known, _)| *known == name)?.1,
    };
    Some((c, at + length + 2))
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
}
