//! Secrets cut into pieces: string literals that are put together, lines that go on, tokens wrapped at
//! the end of a line.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::{Kind, Origin, View};
use crate::reading::Reading;
use crate::rules::Rules;

/// How a joint may begin: each is looked at closer.
pub(crate) const JOINTS: &[&str] = &[
    "\" +", "' +", "` +", "\"+", "'+", "`+", "\" .", "' .", "\".", "'.", "\" &", "\"\n", "'\n",
    "\"\r\n", "'\r\n", "\\\n", "\\\r\n",
];

/// What stands between two pieces: `" + "`, a line break between adjacent literals, a backslash that
/// continues the line.
static JOINT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"^(?:["'`][ \t]{0,40}(?:(?:[+.&]|\.\.|\\)[ \t]{0,40}\r?\n?|\r?\n)[ \t]{0,40}["'`]|["'`]?[ \t]{0,40}\\\r?\n[ \t]{0,40}["'`]?)"#,
    )
    .expect("a pattern of this file")
});

/// Bytes of the longest joint.
const LONGEST: usize = 128;

/// Bytes of text on either side of the joints.
const AROUND: usize = 256;

/// Each chain of pieces, put together, with some text around it.
pub(super) fn views<'r>(
    rules: &'r Rules,
    reading: &'r Reading<'_>,
) -> impl Iterator<Item = View> + 'r {
    let text = reading.text;
    let mut joints = reading.joints.iter().filter_map(|at| joint(text, *at)).peekable();
    let literals = std::iter::from_fn(move || {
        let mut chain = vec![joints.next()?];
        while let Some(next) = joints.next_if(|next| next.start <= end(&chain) + AROUND) {
            // Two of the signs may begin the same joint.
            if next.start >= end(&chain) {
                chain.push(next);
            }
        }
        Some(put_together(text, &chain, Kind::Joined))
    });
    let wraps = reading.wraps.iter().filter_map(|(rank, line)| {
        let rule = &rules.formats[*rank];
        let start = text.floor_char_boundary(line.start.saturating_sub(rule.before));
        // What is whole on its line needs no more of the next one.
        let is_whole = rule.pattern.is_match(&text[start..line.end]);
        let chain = if is_whole { Vec::new() } else { breaks(text, line.end) };
        (!chain.is_empty()).then(|| put_together(text, &chain, Kind::Wrapped(*rank)))
    });
    literals.chain(wraps)
}

/// Lines over which a token is wrapped at most.
const MOST_LINES: usize = 4;

/// The line breaks from `at` on that may be inside a token.
fn breaks(text: &str, at: usize) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let is_token = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-.=+/".contains(*byte);
    let (mut chain, mut at) = (Vec::new(), at);
    for _ in 0..MOST_LINES {
        let blank =
            bytes[at..].iter().take(LONGEST).take_while(|b| b.is_ascii_whitespace()).count();
        let length = bytes[at + blank..].iter().take(LONGEST).take_while(is_token).count();
        if length == 0 {
            break;
        }
        chain.push(at..at + blank);
        at += blank + length;
        if !matches!(bytes.get(at), Some(b'\n' | b'\r')) {
            break;
        }
    }
    chain
}

/// The joint at a sign; a backslash may have the end of a literal before it.
fn joint(text: &str, sign: usize) -> Option<Range<usize>> {
    let before = text[..sign].trim_end_matches([' ', '\t']);
    let closes = text[sign..].starts_with('\\') && before.ends_with(['"', '\'', '`']);
    let at = if closes { before.len() - 1 } else { sign };
    let near = &text[at..text.ceil_char_boundary((at + LONGEST).min(text.len()))];
    JOINT.find(near).map(|joint| at..at + joint.end())
}

fn end(chain: &[Range<usize>]) -> usize {
    chain.last().map_or(0, |joint| joint.end)
}

fn put_together(text: &str, chain: &[Range<usize>], kind: Kind) -> View {
    let mut at = text.floor_char_boundary(chain[0].start.saturating_sub(AROUND));
    let end = text.ceil_char_boundary((end(chain) + AROUND).min(text.len()));
    let (mut joined, mut places) = (String::new(), Vec::new());
    let mut keep = |piece: Range<usize>| {
        joined.push_str(&text[piece.clone()]);
        places.extend(piece.map(|byte| byte..byte + 1));
    };
    for joint in chain {
        keep(at..joint.start);
        at = joint.end;
    }
    keep(at..end);
    View { text: joined, origin: Origin::Bytes(places), kind }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_put_together() {
        for (text, whole) in [
            ("a = \"one\" + \"two\";", "a = \"onetwo\";"),
            ("('one'\n 'two'\n 'three')", "('onetwothree')"),
            ("'one' +\n 'two'", "'onetwo'"),
            ("one\\\n  two", "onetwo"),
            ("\"one\" \\\n \"two\"", "\"onetwo\""),
            ("'one' . 'two'", "'onetwo'"),
        ] {
            let reading = Rules::standard().read_text(text);
            let view = views(Rules::standard(), &reading).next().expect("one chain");
            assert_eq!(view.text, whole);
            assert_eq!(view.origin(&(0..view.text.len())), 0..text.len());
        }
        let apart = Rules::standard().read_text("f(\"one\", \"two\") + g('', \"\")");
        assert_eq!(views(Rules::standard(), &apart).count(), 0);
    }
}
