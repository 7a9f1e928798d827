//! Characters that nobody sees, and what they are there for.

use crate::detection::{Detection, Family};

/// What an unseen character is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InvisibleKind {
    /// Joins, parts or fills without a width.
    ZeroWidth,
    /// Belongs to the layout: soft hyphens, marks of direction.
    Layout,
    /// Orders what is shown otherwise than what is read.
    Bidi,
    /// A copy of an ASCII character that no font shows.
    Tag,
    /// Chooses among shapes of the character before it.
    Selector,
    /// Means what its user says.
    Private,
    /// Stands for nothing in text.
    Control,
}

/// What `c` is if nobody sees it.
pub(crate) fn unseen(c: char) -> Option<InvisibleKind> {
    Some(match c {
        '\t' | '\n' | '\r' | ' '..='~' => return None,
        '\0'..='\x1f' | '\x7f'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fff9}'..='\u{fffb}' => {
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
        | '\u{1d173}'..='\u{1d17a}' => InvisibleKind::ZeroWidth,
        '\u{ad}' | '\u{200e}' | '\u{200f}' | '\u{61c}' => InvisibleKind::Layout,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => InvisibleKind::Bidi,
        '\u{e0000}'..='\u{e007f}' => InvisibleKind::Tag,
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' | '\u{180b}'..='\u{180d}' => {
            InvisibleKind::Selector
        }
        '\u{e000}'..='\u{f8ff}' | '\u{f0000}'.. => InvisibleKind::Private,
        _ => return None,
    })
}

/// The character that a tag stands for, where it is one of text.
pub(crate) fn untagged(c: char) -> Option<char> {
    let ascii = u8::try_from(u32::from(c).checked_sub(0xE0000)?).ok()?;
    matches!(ascii, b' '..=b'~').then_some(char::from(ascii))
}

/// Whether `c` joins or shapes its neighbours as their script does: a joiner between Arabic or Indic
/// letters or within an emoji, one selector after a sign.
pub(crate) fn is_at_home(before: Option<char>, c: char, after: Option<char>) -> bool {
    let joins = |c: char| {
        is_emoji(c)
            || matches!(c, '\u{600}'..='\u{109f}' | '\u{1780}'..='\u{18af}' | '\u{fb50}'..='\u{fdff}')
    };
    match c {
        '\u{200c}' | '\u{200d}' => {
            let before =
                before.is_some_and(|b| joins(b) || unseen(b) == Some(InvisibleKind::Selector));
            before && after.is_none_or(|a| joins(a) || a.is_whitespace())
        }
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' | '\u{180b}'..='\u{180d}' => before
            .is_some_and(|b| unseen(b).is_none() && !b.is_ascii_alphabetic() && !b.is_whitespace()),
        _ => false,
    }
}

fn is_emoji(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '\u{3030}'..='\u{303d}' | '\u{1f000}'..='\u{1faff}')
}

/// Whether `c` is a mark that is set over or under the letter before it.
fn is_mark(c: char) -> bool {
    !c.is_ascii() && unicode_normalization::char::is_combining_mark(c)
}

/// Marks on one letter beyond what any orthography sets.
const MARKS: usize = 5;
/// Unseen characters in a row that can hold something.
const RUN: usize = 3;
/// Words cut by unseen characters that are no accident.
const CUTS: usize = 3;

/// Where `text` hides something.
pub(crate) fn find(text: &str, found: &mut Vec<Detection>) {
    if text.is_ascii() && !text.bytes().any(|b| b < 9 || (b > 13 && b < 32)) {
        return;
    }
    let has_rtl =
        text.chars().any(|c| matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}'));
    let mut runs = Runs { found, has_rtl, run: None, cuts: Vec::new() };
    let mut before = None;
    let mut marks = 0..0;
    let mut count = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let after = characters.peek().map(|(_, c)| *c);
        match unseen(c).filter(|_| !is_at_home(before, c, after)) {
            Some(what) => runs.meet(at, c, what, before),
            None => runs.end(Some(c)),
        }
        if is_mark(c) && unseen(c).is_none() {
            marks = if count == 0 { at..at } else { marks };
            marks.end = at + c.len_utf8();
            count += 1;
        } else {
            if count > MARKS {
                let sure = if count > 2 * MARKS { 0.8 } else { 0.6 };
                let why = "marks piled on one letter";
                runs.found.push(Detection::new(Family::Hidden, marks.clone(), sure, why));
            }
            count = 0;
        }
        before = Some(c);
    }
    runs.end(None);
    runs.finish();
}

/// A run of unseen characters.
struct Run {
    start: usize,
    end: usize,
    length: usize,
    zero_width: usize,
    selectors: usize,
    tags: usize,
    private: usize,
    bidi: usize,
    /// An override, which reverses what is shown.
    reverses: bool,
    before: Option<char>,
}

struct Runs<'f> {
    found: &'f mut Vec<Detection>,
    has_rtl: bool,
    run: Option<Run>,
    /// Words that an unseen character parts.
    cuts: Vec<std::ops::Range<usize>>,
}

impl Runs<'_> {
    fn meet(&mut self, at: usize, c: char, what: InvisibleKind, before: Option<char>) {
        let run = self.run.get_or_insert(Run {
            start: at,
            end: at,
            length: 0,
            zero_width: 0,
            selectors: 0,
            tags: 0,
            private: 0,
            bidi: 0,
            reverses: false,
            before,
        });
        run.end = at + c.len_utf8();
        run.length += 1;
        match what {
            InvisibleKind::ZeroWidth => run.zero_width += 1,
            InvisibleKind::Selector => run.selectors += 1,
            InvisibleKind::Tag => run.tags += 1,
            InvisibleKind::Private => run.private += 1,
            InvisibleKind::Bidi => {
                run.bidi += 1;
                run.reverses |= matches!(c, '\u{202d}' | '\u{202e}');
            }
            InvisibleKind::Layout | InvisibleKind::Control => {}
        }
    }

    fn end(&mut self, after: Option<char>) {
        let Some(run) = self.run.take() else { return };
        // England's flag and its kin are a black flag and tags.
        let is_flag = run.before == Some('\u{1f3f4}') && run.tags == run.length && run.tags <= 7;
        let told = if run.tags > 0 && !is_flag {
            Some((0.95, "tag characters, which no font shows"))
        } else if run.reverses {
            Some((0.9, "characters that reverse the order of what is shown"))
        } else if run.bidi > 0 {
            let sure = if self.has_rtl { 0.3 } else { 0.8 };
            Some((sure, "characters that change the order of what is shown"))
        } else if run.selectors >= RUN {
            Some((0.9, "variation selectors in a row, which can hold bytes"))
        } else if run.zero_width >= 2 * RUN {
            Some((0.9, "zero-width characters in a row, which can hold bits"))
        } else if run.zero_width >= RUN {
            Some((0.6, "zero-width characters in a row"))
        } else if run.private >= 2 * RUN {
            Some((0.5, "characters of private use in a row"))
        } else {
            None
        };
        let span = run.start..run.end;
        if let Some((sure, why)) = told {
            self.found.push(Detection::new(Family::Hidden, span.clone(), sure, why));
        }
        let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphabetic());
        if run.zero_width > 0 && is_letter(run.before) && is_letter(after) {
            self.cuts.push(span);
        }
    }

    fn finish(self) {
        let (Some(first), Some(last)) = (self.cuts.first(), self.cuts.last()) else { return };
        let sure = if self.cuts.len() >= CUTS { 0.8 } else { 0.5 };
        let why = "words parted by characters without width";
        self.found.push(Detection::new(Family::Hidden, first.start..last.end, sure, why));
    }
}
