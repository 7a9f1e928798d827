//! What links a name to its value.

use super::cursor::{Cursor, is_quote};
use super::name::Strength;
use super::value::Candidate;
use super::{Need, value};

/// Where the value begins, and what says that it is one.
#[derive(Debug)]
pub(super) struct Link {
    pub at: usize,
    pub kind: Kind,
    /// Words stand between the name and the sign: `token for staging: `.
    pub is_distant: bool,
    /// The value is the argument of a call, which may look it up: `env("PASSWORD_1")`.
    pub is_wrapped: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `=`, `:`, `=>` and their like.
    Assigned,
    /// The next of a list or a table's row, an argument, a dash.
    Beside,
    /// The content of an XML element.
    Element,
    /// `is` and `was`.
    Said,
    /// Nothing but a space.
    Bare,
}

impl Link {
    /// What the value must show.
    pub(super) fn need(&self, strength: Strength, candidate: &Candidate) -> Need {
        let quoted = candidate.is_quoted;
        let (evidence, length) = match (self.kind, quoted) {
            (Kind::Beside | Kind::Bare, false) if strength == Strength::Chosen => (8.0, 8),
            (Kind::Assigned, true) => (5.0, 8),
            (Kind::Assigned | Kind::Element, _) => (5.0, 10),
            (Kind::Said, _) | (_, true) => (8.0, 10),
            (Kind::Beside | Kind::Bare, false) => (12.0, 16),
        };
        let far = if self.is_distant || candidate.is_part { 3.0 } else { 0.0 };
        let (evidence, length) = match strength {
            Strength::Chosen | Strength::Generated => (evidence + far, length),
            Strength::Weak => (evidence + far + 5.0, length.max(16)),
        };
        let may_be_chosen = strength == Strength::Chosen
            && !self.is_distant
            && !self.is_wrapped
            && !candidate.is_part
            && matches!(self.kind, Kind::Assigned | Kind::Element)
            && (quoted || candidate.ends_line);
        let chosen = may_be_chosen.then_some(if quoted { 6 } else { 8 });
        Need { evidence, length, chosen }
    }
}

/// Words that may stand between a name and the sign behind them.
const WORDS_BETWEEN: usize = 5;

/// Bytes of the longest of them.
const LONGEST_WORD: usize = 24;

/// The link that follows a name ending at `end`.
pub(super) fn after(text: &str, end: usize) -> Option<Link> {
    let mut here = Cursor::new(text, end);
    here.skip(6, |byte| is_quote(byte) || matches!(byte, b'\\' | b']' | b'*'));
    let closed = here.at > end;
    if let Some(behind) = after_value_word(here) {
        return Some(link(text, behind, Kind::Assigned, false));
    }
    let spaced = here.spaces() > 0;
    if let Some(kind) = sign(&mut here, spaced) {
        return Some(link(text, here, kind, false));
    }
    if !spaced {
        return None;
    }
    let bare = (!closed).then(|| link(text, here, Kind::Bare, false));
    beyond_words(text, here).or(bare)
}

/// The sign behind some words: `token for staging: `.
fn beyond_words(text: &str, mut here: Cursor<'_>) -> Option<Link> {
    for _ in 0..WORDS_BETWEEN {
        let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii();
        let length = here.skip(LONGEST_WORD, is_inner);
        let said = matches!(&text.as_bytes()[here.at - length..here.at], b"is" | b"was");
        let spaced = here.spaces() > 0;
        if length == 0 || length == LONGEST_WORD {
            return None;
        }
        if said {
            return Some(link(text, here, Kind::Said, false));
        }
        if let Some(kind @ (Kind::Assigned | Kind::Beside)) = sign(&mut here, spaced) {
            return Some(link(text, here, kind, true));
        }
        if !spaced {
            return None;
        }
    }
    None
}

/// The link whose sign ends here: the value begins behind blanks, brackets, and a call around it.
fn link(text: &str, mut here: Cursor<'_>, kind: Kind, is_distant: bool) -> Link {
    if kind != Kind::Bare {
        here.blanks();
        here.skip(1, |byte| matches!(byte, b'[' | b'(' | b'{'));
        here.blanks();
    }
    let mut inside = here;
    let name = inside.skip(32, |byte| byte.is_ascii_alphanumeric() || b"_.: &!".contains(&byte));
    let calls = name > 0 && inside.skip(2, |byte| matches!(byte, b'(' | b'[')) > 0;
    let is_wrapped = calls && value::opens_quote(text, inside.at);
    let at = if is_wrapped { inside.at } else { here.at };
    Link { at, kind, is_distant, is_wrapped }
}

/// `name="token" value="..."` in XML, JSON and YAML, `variable "token" { default = "..." }`.
fn after_value_word(mut here: Cursor<'_>) -> Option<Cursor<'_>> {
    here.skip(1, |byte| byte == b',');
    here.blanks();
    here.skip(1, |byte| byte == b'{');
    here.blanks();
    here.skip(2, |byte| is_quote(byte) || byte == b'\\');
    if !["value", "Value", "default", "content"].iter().any(|word| here.eat(word)) {
        return None;
    }
    here.skip(2, |byte| is_quote(byte) || byte == b'\\');
    here.spaces();
    let is_sign = here.skip(1, |byte| matches!(byte, b':' | b'=')) == 1;
    is_sign.then_some(here)
}

/// Steps over the sign that stands here.
fn sign(here: &mut Cursor<'_>, spaced: bool) -> Option<Kind> {
    const ASSIGNING: [&str; 14] =
        [":=", "=>", "->", "===", "==", "!=", "?=", ".=", "+=", "||=", "~=", "::=", "=", "："];
    if ASSIGNING.iter().any(|sign| here.eat(sign)) {
        return Some(Kind::Assigned);
    }
    let typed = *here;
    if here.eat(":") {
        // `token::new`, and `**Token:** value`.
        let is_path = here.peek() == Some(b':');
        here.skip(2, |byte| byte == b'*');
        skip_type(here);
        skip_block_mark(here);
        return (!is_path || typed.previous().is_some_and(is_quote)).then_some(Kind::Assigned);
    }
    if here.eat(">") {
        return Some(Kind::Element);
    }
    if here.eat(",") || here.eat("|") || here.eat("(") {
        return Some(Kind::Beside);
    }
    let dash = spaced && ["- ", "– ", "— "].iter().any(|sign| here.eat(sign));
    dash.then_some(Kind::Beside)
}

/// `&'static str =`, `string =`, `Option<String> =` behind a colon.
fn skip_type(here: &mut Cursor<'_>) {
    let mut ahead = *here;
    ahead.spaces();
    let is_type = |byte: u8| byte.is_ascii_alphanumeric() || b"_&<>'?|[]. ".contains(&byte);
    ahead.skip(40, is_type);
    let spaced = ahead.previous().is_some_and(|byte| matches!(byte, b' ' | b'>' | b']'));
    if spaced && ahead.eat("=") && ahead.peek() == Some(b' ') {
        *here = ahead;
    }
}

/// `>-` and `|` behind a colon in YAML: the value stands on the next lines.
fn skip_block_mark(here: &mut Cursor<'_>) {
    let mut ahead = *here;
    ahead.spaces();
    let marked = ahead.skip(1, |byte| matches!(byte, b'>' | b'|')) == 1;
    ahead.skip(1, |byte| matches!(byte, b'-' | b'+'));
    if marked && ahead.peek() == Some(b'\n') {
        *here = ahead;
    }
}
