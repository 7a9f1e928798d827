//! Two readings of a text that see through its disguises, each with the way back to its bytes.
//!
//! *Plain* is the text without unseen characters, in compatibility form, accents off Latin letters and
//! look-alikes of mixed words made Latin: what patterns of code and markup read. *Folded* goes on to
//! small letters without digits for letters, single spaces, and no signs within words: what the lexicon
//! reads.

use std::ops::Range;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;
use unicode_security::skeleton;

use crate::invisible::{self, InvisibleKind, unseen};

/// From places in a reading to places in the text.
#[derive(Debug, Clone, Default)]
struct Offsets {
    /// Where the distance between the two changes: place in the reading, place in the text.
    marks: Vec<(usize, usize)>,
}

impl Offsets {
    fn note(&mut self, read: usize, text: usize) {
        let follows = self.marks.last().is_some_and(|(r, t)| read - r == text.wrapping_sub(*t));
        if !follows {
            self.marks.push((read, text));
        }
    }

    fn origin(&self, read: usize) -> usize {
        let next = self.marks.partition_point(|(r, _)| *r <= read);
        self.marks.get(next.wrapping_sub(1)).map_or(0, |(r, t)| t + (read - r))
    }

    /// From the first to the last character of `span`. What was left out behind the last one is no part
    /// of it.
    fn span(&self, span: &Range<usize>, reading: &str, text: &str) -> Range<usize> {
        let last = reading[..span.end].char_indices().next_back().map_or(0, |(at, _)| at);
        let end = self.origin(last.max(span.start));
        self.origin(span.start)..end + text[end..].chars().next().map_or(0, char::len_utf8)
    }
}

/// A text as its reader means it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plain {
    pub text: String,
    offsets: Offsets,
    /// Words of the reading that had letters of other scripts made Latin.
    pub mixed: Vec<Range<usize>>,
}

impl Plain {
    pub fn of(text: &str) -> Self {
        let mut plain = Self::default();
        plain.text.reserve(text.len());
        if text.is_ascii() {
            plain.text.push_str(text);
            plain.offsets.note(0, 0);
            return plain;
        }
        let mut word = Word::default();
        for (at, c) in text.char_indices() {
            match unseen(c) {
                Some(InvisibleKind::Tag) => plain.take(&mut word, at, invisible::untagged(c)),
                Some(_) => {}
                None if c.is_ascii() => plain.take(&mut word, at, Some(c)),
                None => match latin_base(c) {
                    Some(base) => plain.take(&mut word, at, Some(base)),
                    None if is_accent(c) => {}
                    // Before its compatibility form, which may look like nothing Latin any more.
                    None if latin_twin(c).is_some() => plain.take(&mut word, at, Some(c)),
                    None => plain.take(&mut word, at, std::iter::once(c).nfkc()),
                },
            }
        }
        plain.flush(&mut word);
        plain
    }

    fn take(&mut self, word: &mut Word, at: usize, characters: impl IntoIterator<Item = char>) {
        for c in characters {
            if c.is_alphabetic() {
                word.push(at, c);
            } else {
                self.flush(word);
                self.push(at, c);
            }
        }
    }

    fn push(&mut self, at: usize, c: char) {
        self.offsets.note(self.text.len(), at);
        self.text.push(c);
    }

    fn flush(&mut self, word: &mut Word) {
        let start = self.text.len();
        let folds = word.is_disguised();
        for (at, c) in word.letters.drain(..) {
            let shown = if folds { latin_twin(c).unwrap_or(c) } else { c };
            self.push(at, shown);
        }
        if folds {
            self.mixed.push(start..self.text.len());
        }
        *word = Word { letters: std::mem::take(&mut word.letters), ..Word::default() };
    }

    /// The part of `text` that `span` of this reading was made of.
    pub fn origin(&self, span: &Range<usize>, text: &str) -> Range<usize> {
        self.offsets.span(span, &self.text, text)
    }
}

/// Letters in a row.
#[derive(Debug, Default)]
struct Word {
    letters: Vec<(usize, char)>,
    ascii: usize,
    foreign: usize,
    scripts: Scripts,
}

/// Which alphabets with twins of Latin letters a word has.
#[derive(Debug, Default, Clone, Copy)]
struct Scripts {
    cyrillic: bool,
    greek: bool,
    other: bool,
}

impl Word {
    fn push(&mut self, at: usize, c: char) {
        self.letters.push((at, c));
        if c.is_ascii() {
            self.ascii += 1;
            return;
        }
        self.foreign += 1;
        match c {
            '\u{400}'..='\u{52f}' => self.scripts.cyrillic = true,
            '\u{370}'..='\u{3ff}' => self.scripts.greek = true,
            _ => self.scripts.other = true,
        }
    }

    /// Whether letters of several alphabets make one word, or of an alphabet nobody writes here.
    fn is_disguised(&self) -> bool {
        if self.foreign == 0 || self.letters.len() < 3 || self.letters.len() > 40 {
            return false;
        }
        let scripts = self.scripts;
        let alphabets = [self.ascii > 0, scripts.cyrillic, scripts.greek, scripts.other];
        let mixed = alphabets.iter().filter(|one| **one).count() > 1;
        (mixed || !(scripts.cyrillic || scripts.greek))
            && self.letters.iter().any(|(_, c)| !c.is_ascii() && latin_twin(*c).is_some())
    }
}

/// The letter under the accents of a Latin letter.
fn latin_base(c: char) -> Option<char> {
    // Alphabets and ideographs that hold no Latin letter in any form; most text that gets here is theirs.
    if matches!(c, '\u{370}'..='\u{1cff}' | '\u{3040}'..='\u{d7ff}') {
        return None;
    }
    let base = std::iter::once(c).nfkd().next()?;
    let rest_are_accents = || std::iter::once(c).nfkd().skip(1).all(is_accent);
    (base.is_ascii() && rest_are_accents()).then_some(base)
}

fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// The Latin letter that looks like `c`.
fn latin_twin(c: char) -> Option<char> {
    match c {
        ..'\u{600}' => TWINS[c as usize],
        // Ideographs look like no letter.
        '\u{3040}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7ff}' => None,
        _ => twin(c),
    }
}

/// The twins of the alphabets that text mostly is in.
static TWINS: LazyLock<Vec<Option<char>>> =
    LazyLock::new(|| (0..0x600).map(|code| char::from_u32(code).and_then(twin)).collect());

fn twin(c: char) -> Option<char> {
    let mut buffer = [0; 4];
    let mut twin = skeleton(c.encode_utf8(&mut buffer));
    let first = twin.next().filter(char::is_ascii_alphabetic);
    first.filter(|_| twin.next().is_none())
}

/// A reading for the lexicon.
#[derive(Debug, Clone, Default)]
pub(crate) struct Folded {
    pub text: String,
    offsets: Offsets,
    /// Places where a sign or a space within a word was dropped: a word may begin or end there.
    seams: Vec<usize>,
}

impl Folded {
    pub fn of(plain: &str) -> Self {
        let mut folded = Self::default();
        folded.text.reserve(plain.len());
        let mut before = None;
        // Whether the letter before stands alone: `i g n o r e` is a word.
        let mut alone = false;
        let mut rest = plain;
        while let Some(c) = rest.chars().next() {
            let at = plain.len() - rest.len();
            rest = &rest[c.len_utf8()..];
            let after = rest.chars().next();
            if c.is_whitespace() {
                let spaces = rest.len() - rest.trim_start().len();
                let lines = plain[at..at + c.len_utf8() + spaces].matches('\n').count();
                rest = &rest[spaces..];
                if alone && spaces == 0 && begins_with_lone_letter(rest) {
                    folded.seam();
                    continue;
                }
                folded.push(at, if lines > 1 { '\n' } else { ' ' });
                (before, alone) = (Some(' '), false);
                continue;
            }
            if is_sign(c) && is_letter(before) && is_letter(after) {
                folded.seam();
                continue;
            }
            let shown = fold(c, before, after);
            let joined = folded.seams.last() == Some(&folded.text.len());
            alone = shown.is_alphabetic() && (!is_letter(before) || (alone && joined));
            folded.push(at, shown);
            before = Some(shown);
        }
        folded
    }

    fn push(&mut self, at: usize, c: char) {
        self.offsets.note(self.text.len(), at);
        self.text.push(c);
    }

    fn seam(&mut self) {
        self.seams.push(self.text.len());
    }

    /// Whether a word begins or ends at `at`.
    pub fn is_edge(&self, at: usize) -> bool {
        let inside = is_letter(self.text[..at].chars().next_back())
            && is_letter(self.text[at..].chars().next());
        !inside || self.seams.binary_search(&at).is_ok()
    }

    /// The part of `plain` that `span` of this reading was made of.
    pub fn origin(&self, span: &Range<usize>, plain: &str) -> Range<usize> {
        self.offsets.span(span, &self.text, plain)
    }
}

/// A word of the lexicon as the folded reading would have it.
pub(crate) fn folded_word(word: &str) -> String {
    let plain: String = word
        .chars()
        .flat_map(|c| {
            latin_base(c).map_or_else(|| std::iter::once(c).nfkc().collect(), |b| vec![b])
        })
        .collect();
    plain.chars().map(|c| fold(c, None, None)).collect()
}

fn is_letter(c: Option<char>) -> bool {
    c.is_some_and(char::is_alphabetic)
}

fn is_sign(c: char) -> bool {
    matches!(
        c,
        '-' | '_' | '.' | '*' | '~' | '\'' | '\u{2019}' | '|' | '+' | '·' | '‐' | '\u{2010}'
            ..='\u{2013}'
    )
}

fn begins_with_lone_letter(rest: &str) -> bool {
    let mut characters = rest.chars();
    is_letter(characters.next()) && !is_letter(characters.next())
}

/// A small letter; digits and signs beside letters as the letters they pass for. `l` and `i` are one,
/// since `1` and `|` pass for both.
fn fold(c: char, before: Option<char>, after: Option<char>) -> char {
    let beside = is_letter(before) || is_letter(after);
    match c {
        'l' | 'L' | 'I' => 'i',
        'A'..='Z' => c.to_ascii_lowercase(),
        '1' | '!' if is_letter(after) => 'i',
        '0' if beside => 'o',
        '3' if beside => 'e',
        '4' | '@' if beside => 'a',
        '5' | '$' if beside => 's',
        '7' if beside => 't',
        'ё' | 'Ё' => 'е',
        _ if c.is_ascii() => c,
        _ => c.to_lowercase().next().unwrap_or(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        Folded::of(&Plain::of(text).text).text
    }

    #[test]
    fn disguises_come_off() {
        for disguised in [
            "ignore rules",
            "IGNORE  rules",
            "ig\u{200b}no\u{2060}re ru\u{ad}les",
            "іgnоrе rules",
            "\u{ff49}\u{ff47}\u{ff4e}\u{ff4f}\u{ff52}\u{ff45} rules",
            "𝐢𝐠𝐧𝐨𝐫𝐞 rules",
            "1gn0r3 ru1es",
            "ígnòrẽ rules",
            "i g n o r e  rules",
            "i.g.n.o.r.e rules",
            "ig-no-re rules",
            "\u{e0069}\u{e0067}\u{e006e}\u{e006f}\u{e0072}\u{e0065} rules",
        ] {
            assert_eq!(folded(disguised), "ignore ruies", "{disguised:?}");
        }
    }

    #[test]
    fn twins_are_those_of_unicode() {
        let pairs = "аa ɑa сc ϲc еe ҽe іi ιi оo οo рp ρp ѕs ѵv νv хx уy үy ɡg јj ԁd һh";
        for pair in pairs.split(' ') {
            let (twin, latin) = pair.split_at(pair.len() - 1);
            let c = twin.chars().next().expect("a letter");
            assert_eq!(latin_twin(c), latin.chars().next(), "{pair}");
        }
    }

    #[test]
    fn words_of_other_scripts_stay() {
        assert_eq!(Plain::of("сор, ключ, δέλτα, 規則").text, "сор, ключ, δέλτα, 規則");
        assert_eq!(folded("Всё ещё"), "все еще");
    }

    #[test]
    fn a_place_leads_back_to_the_bytes_it_was_made_of() {
        let text = "é\u{200b} — 𝐢gn\u{200b}ore it";
        let plain = Plain::of(text);
        let reading = Folded::of(&plain.text);
        let at = reading.text.find("ignore").expect("the word is there");
        let span = plain.origin(&reading.origin(&(at..at + 6), &plain.text), text);
        assert_eq!(&text[span], "𝐢gn\u{200b}ore");
    }
}
