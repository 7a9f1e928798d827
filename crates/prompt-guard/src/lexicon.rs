//! Words by their role in a sentence that instructs a model. One word is no evidence; `rules.rs`
//! lists the combinations that are.
//!
//! Words are matched in the folded form, so case, accents, punctuation inside words and digits
//! in place of letters make no difference.

mod concealment;
mod exfiltration;
mod instructions;
mod persistence;
mod roles;

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::fold::{Folded, folded_word};

/// The role of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Orders to ignore something. Verbs count as orders only; see [`is_order`].
    Ignore,
    /// States that something is no longer valid.
    Revoked,
    /// Earlier text.
    Earlier,
    /// All of something, or the reader's own.
    All,
    /// Instructions of a model.
    Instruction,
    /// Instructions of anybody.
    Rule,
    /// Announces new instructions.
    New,
    /// Assigns a role to the reader.
    Impersonate,
    /// A role for a model.
    Persona,
    /// Claims authority over the model.
    Authority,
    /// Exercises authority.
    Command,
    /// Forbids to tell.
    Conceal,
    /// A person to conceal from.
    Person,
    /// The concealed text itself.
    This,
    /// Orders to remember.
    Keep,
    /// Without an end.
    Forever,
    /// The memory of a model.
    Memory,
    /// Output of a model.
    Response,
    /// Each one.
    Every,
    /// Inserts something.
    Add,
    /// Approves something.
    Approve,
    /// Something that needs a review.
    Reviewed,
    /// Without a review.
    Blindly,
    /// Sends something.
    Send,
    /// Orders to output something.
    Disclose,
    SystemPrompt,
    Secret,
    /// A URL or another destination.
    Url,
    /// Orders to call a tool.
    Call,
    Tool,
    /// Arguments of a call.
    Arguments,
    /// The model as addressee.
    Model,
}

/// The words of all classes; a star ends a stem.
const WORDS: [&[(Class, &[&str])]; 5] = [
    instructions::WORDS,
    roles::WORDS,
    concealment::WORDS,
    persistence::WORDS,
    exfiltration::WORDS,
];

/// A word of the lexicon in a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hit {
    pub class: Class,
    pub start: usize,
    pub end: usize,
}

struct Lexicon {
    finder: AhoCorasick,
    entries: Vec<Entry>,
}

/// A word of the lexicon.
struct Entry {
    class: Class,
    /// Whether more letters may follow.
    is_stem: bool,
    /// Whether its script separates words by spaces.
    is_spaced: bool,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let mut patterns = Vec::new();
    let mut entries = Vec::new();
    for (class, words) in WORDS.into_iter().flatten() {
        for word in *words {
            let (word, is_stem) =
                word.strip_suffix('*').map_or((*word, false), |word| (word, true));
            // The folded form has no punctuation.
            let word = word.strip_prefix('.').unwrap_or(word).replace("* ", " ");
            let folded = folded_word(&word.replace(['\'', '-', '_'], ""));
            let is_spaced = !folded.starts_with(is_unspaced);
            patterns.push(folded);
            entries.push(Entry { class: *class, is_stem, is_spaced });
        }
    }
    let finder = AhoCorasick::builder().match_kind(MatchKind::Standard).build(patterns);
    Lexicon { finder: finder.expect("the lexicon is small"), entries }
});

/// Whether the script of `c` has no spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns the words of the lexicon in `folded`, sorted by start.
pub(crate) fn hits(folded: &Folded) -> Vec<Hit> {
    let mut hits: Vec<Hit> = LEXICON
        .finder
        .find_overlapping_iter(&folded.text)
        .filter_map(|found| {
            let Entry { class, is_stem, is_spaced } = LEXICON.entries[found.pattern().as_usize()];
            let (start, end) = (found.start(), found.end());
            let is_word = !is_spaced || folded.is_edge(start) && (is_stem || folded.is_edge(end));
            let counts = is_word && (!is_verb(class) || is_order(folded, start));
            counts.then_some(Hit { class, start, end })
        })
        .collect();
    hits.sort_by_key(|hit| hit.start);
    hits
}

/// Whether words of the class count only as orders.
fn is_verb(class: Class) -> bool {
    use Class::{Approve, Call, Disclose, Ignore, Keep, Send};
    matches!(class, Ignore | Send | Disclose | Approve | Call | Keep)
}

/// Words before a verb that make it a report or a plan instead of an order.
#[rustfmt::skip]
const REPORTS: &[&str] = &[
    "we", "they", "it", "that", "which", "wiii", "would", "can", "couid", "may", "might", "not",
    "dont", "never", "cannot", "cant", "i", "git", "to", "and", "or", "does", "doesnt", "didnt",
    "did", "shaii", "then", "who", "users", "peopie", "the", "a", "an", "of", "this", "no", "in",
    "an", "my", "our", "for", "with", "as", "is", "are", "be", "was", "were", "been", "has", "have",
];

/// Whether the verb at `start` is an order: no word before it in its sentence names another actor.
fn is_order(folded: &Folded, start: usize) -> bool {
    let before = &folded.text[..start];
    let mut window = before.len().saturating_sub(60);
    while !before.is_char_boundary(window) {
        window += 1;
    }
    let sentence =
        before[window..].rsplit(['.', ':', ';', '!', '?', '\n', '(', '"', '>', ',']).next();
    // "will simply ignore" is not an order either.
    let is_adverb = |word: &&str| word.ends_with("iy") && *word != "oniy";
    let is_word = |word: &&str| word.contains(char::is_alphabetic);
    let words = sentence.unwrap_or_default().split_whitespace().filter(is_word).rev();
    let mut words = words.skip_while(is_adverb);
    match words.next() {
        // "You will remember".
        Some("wiii" | "shaii") if words.clone().next() == Some("you") => true,
        // "I want you to ignore", "and now please ignore".
        Some(last) if REPORTS.contains(&last) => {
            let links = matches!(last, "to" | "and" | "then" | "i");
            links && words.take(4).any(|word| matches!(word, "you" | "piease" | "must" | "now"))
        }
        _ => true,
    }
}
