//! Secrets cut into pieces: string literals that are put together, lines that go on.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::{Kind, Origin, View};
use crate::keyword_scan::KeywordScan;

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
pub(super) fn views<'r>(reading: &'r KeywordScan<'_>) -> impl Iterator<Item = View> + 'r {
    let text = reading.text;
    let mut joints = reading.joints.iter().filter_map(|at| joint(text, *at)).peekable();
    std::iter::from_fn(move || {
        let mut chain = vec![joints.next()?];
        while let Some(next) = joints.next_if(|next| next.start <= end(&chain) + AROUND) {
            // Two of the signs may begin the same joint.
            if next.start >= end(&chain) {
                chain.push(next);
            }
        }
        let from = text.floor_char_boundary(chain[0].start.saturating_sub(AROUND));
        let to = text.ceil_char_boundary((end(&chain) + AROUND).min(text.len()));
        Some(put_together(text, from..to, &chain))
    })
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

/// The part of the text without the joints.
pub(super) fn put_together(text: &str, part: Range<usize>, joints: &[Range<usize>]) -> View {
    let (mut joined, mut places) = (String::new(), Vec::new());
    let mut keep = |piece: Range<usize>| {
        joined.push_str(&text[piece.clone()]);
        places.extend(piece.map(|byte| byte..byte + 1));
    };
    let mut at = part.start;
    for joint in joints {
        keep(at..joint.start);
        at = joint.end;
    }
    keep(at..part.end);
    View { text: joined, origin: Origin::Bytes(places), kind: Kind::Joined }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Rules;

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
            let view = views(&reading).next().expect("one chain");
            assert_eq!(view.text, whole);
            assert_eq!(view.origin(&(0..view.text.len())), 0..text.len());
        }
        let apart = Rules::standard().read_text("f(\"one\", \"two\") + g('', \"\")");
        assert_eq!(views(&apart).count(), 0);
    }
}
