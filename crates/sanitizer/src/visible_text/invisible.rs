//! Invisible characters and their legitimate uses.

/// The kind of an invisible character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvisibleKind {
    /// Joins, separates or fills without a width.
    ZeroWidth,
    /// Belongs to the layout: soft hyphens, direction marks.
    Layout,
    /// Displays text in another order than it is stored.
    Bidi,
    /// A copy of an ASCII character that no font shows.
    Tag,
    /// Selects a variant of the previous character.
    Selector,
    /// A character of private use.
    Private,
    /// A control character.
    Control,
}

/// Returns the kind of `c` if it is invisible.
pub fn invisible_kind(c: char) -> Option<InvisibleKind> {
    Some(match c {
        '\t' | '\n' | '\r' | ' '..='~' => return None,
        '\0'..='\x1f' | '\x7f'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fff0}'..='\u{fffb}' => {
            InvisibleKind::Control
        }
        '\u{200b}'..='\u{200d}'
        | '\u{2060}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}'
        | '\u{feff}'
        | '\u{180e}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{3164}'
        | '\u{ffa0}'
        | '\u{2800}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0080}'..='\u{e00ff}'
        | '\u{e01f0}'..='\u{e0fff}' => InvisibleKind::ZeroWidth,
        '\u{ad}' | '\u{200e}' | '\u{200f}' | '\u{61c}' => InvisibleKind::Layout,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => InvisibleKind::Bidi,
        '\u{e0000}'..='\u{e007f}' => InvisibleKind::Tag,
        '\u{fe00}'..='\u{fe0f}'
        | '\u{e0100}'..='\u{e01ef}'
        | '\u{180b}'..='\u{180d}'
        | '\u{180f}' => InvisibleKind::Selector,
        '\u{e000}'..='\u{f8ff}' | '\u{f0000}'.. => InvisibleKind::Private,
        _ => return None,
    })
}

/// The character that a tag stands for, where it is one of text.
pub fn ascii_of_tag(c: char) -> Option<char> {
    let ascii = u8::try_from(u32::from(c).checked_sub(0xE0000)?).ok()?;
    matches!(ascii, b' '..=b'~').then_some(char::from(ascii))
}

/// Whether the script needs `c`: a joiner between Arabic or Indic letters or inside an emoji, or
/// one selector after a symbol.
pub fn is_legitimate(before: Option<char>, c: char, after: Option<char>) -> bool {
    let joins = |c: char| {
        let is_of_script = is_emoji(c)
            || matches!(c, '\u{600}'..='\u{109f}' | '\u{1780}'..='\u{18af}')
            || matches!(c, '\u{fb50}'..='\u{fdff}');
        is_of_script && invisible_kind(c).is_none()
    };
    match c {
        '\u{200c}' | '\u{200d}' => {
            let before = before
                .is_some_and(|b| joins(b) || invisible_kind(b) == Some(InvisibleKind::Selector));
            before && after.is_none_or(|a| joins(a) || a.is_whitespace())
        }
        _ if invisible_kind(c) == Some(InvisibleKind::Selector) => before.is_some_and(|b| {
            let is_base = !b.is_ascii_alphabetic() && !b.is_whitespace();
            is_base && invisible_kind(b).is_none()
        }),
        _ => false,
    }
}

fn is_emoji(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '\u{3030}'..='\u{303d}' | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The characters that Unicode 16 calls ignorable, which no font has to show.
    const IGNORABLE: [(u32, u32); 17] = [
        (0xad, 0xad),
        (0x34f, 0x34f),
        (0x61c, 0x61c),
        (0x115f, 0x1160),
        (0x17b4, 0x17b5),
        (0x180b, 0x180f),
        (0x200b, 0x200f),
        (0x202a, 0x202e),
        (0x2060, 0x206f),
        (0x3164, 0x3164),
        (0xfe00, 0xfe0f),
        (0xfeff, 0xfeff),
        (0xffa0, 0xffa0),
        (0xfff0, 0xfff8),
        (0x1bca0, 0x1bca3),
        (0x1d173, 0x1d17a),
        (0xe0000, 0xe0fff),
    ];

    #[test]
    fn ignorable_characters_are_invisible() {
        for c in IGNORABLE.into_iter().flat_map(|(first, last)| first..=last) {
            let c = char::from_u32(c).expect("a character");
            assert!(invisible_kind(c).is_some(), "{c:?}");
        }
    }
}
