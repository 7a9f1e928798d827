//! Attacks made from a small grammar, for tests: the same for the same seed, in [`FAMILIES`] of
//! [`VARIANTS`] each.
//!
//! The phrases are put together from more words than the lexicon has, so that a rate of detection says
//! something. None was taken from a collection.

mod disguise;
mod phrases;
mod shapes;

/// The families, in the order in which they come.
pub const FAMILIES: &[&str] = &[
    "override",
    "role",
    "marker",
    "fence",
    "tool_call",
    "zero_width",
    "tags",
    "bidi",
    "homoglyph",
    "exfiltration",
    "concealment",
    "encoded",
    "persistence",
    "split",
    "combined",
];

/// Payloads of each family.
pub const VARIANTS: usize = 120;

/// An attack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// One of [`FAMILIES`].
    pub family: &'static str,
    /// One text, or several that mean something only one after the other.
    pub parts: Vec<String>,
}

/// All payloads for `seed`.
pub fn payloads(seed: u64) -> Vec<Payload> {
    let mut dice = Dice(seed);
    let mut all = Vec::with_capacity(FAMILIES.len() * VARIANTS);
    for family in FAMILIES {
        all.extend((0..VARIANTS).map(|_| Payload { family, parts: parts(family, &mut dice) }));
    }
    all
}

fn parts(family: &str, dice: &mut Dice) -> Vec<String> {
    let one = match family {
        "override" => phrases::overriding(dice),
        "role" => phrases::role(dice),
        "marker" => shapes::marker(dice),
        "fence" => shapes::fence(dice),
        "tool_call" => shapes::tool_call(dice),
        "zero_width" => disguise::zero_width(dice),
        "tags" => disguise::tags(dice),
        "bidi" => disguise::bidi(dice),
        "homoglyph" => disguise::homoglyphs(dice),
        "exfiltration" => shapes::exfiltration(dice),
        "concealment" => phrases::concealment(dice),
        "encoded" => disguise::encoded(dice),
        "persistence" => phrases::persistence(dice),
        "split" => return split(dice),
        _ => disguise::combined(dice),
    };
    vec![in_company(one, dice)]
}

/// A payload mostly stands among honest sentences.
fn in_company(payload: String, dice: &mut Dice) -> String {
    let before = dice.pick(phrases::HONEST);
    let after = dice.pick(phrases::HONEST);
    match dice.below(4) {
        0 => payload,
        1 => format!("{before}\n{payload}"),
        2 => format!("{payload}\n\n{after}"),
        _ => format!("{before}\n\n{payload}\n{after}"),
    }
}

/// Cuts a phrase, a marker or a tool call into two to four records.
fn split(dice: &mut Dice) -> Vec<String> {
    let whole = match dice.below(4) {
        0 => shapes::marker(dice),
        1 => shapes::fence(dice),
        2 => shapes::tool_call(dice),
        _ => phrases::overriding(dice),
    };
    let characters: Vec<char> = whole.chars().collect();
    let pieces = 2 + dice.below(3);
    let size = characters.len().div_ceil(pieces).max(1);
    let mut parts: Vec<String> = Vec::new();
    let mut start = 0;
    while start < characters.len() {
        // Words stay whole where one ends soon.
        let mut end = (start + size).min(characters.len());
        let space = characters[end..].iter().take(8).position(|c| c.is_whitespace());
        end += space.unwrap_or(0);
        parts.push(characters[start..end].iter().collect());
        start = end;
    }
    parts
}

/// A generator of numbers that needs no crate and is the same everywhere (splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        let rest = self.next() % u64::try_from(end).unwrap_or(1).max(1);
        usize::try_from(rest).unwrap_or(0)
    }

    fn pick<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words[self.below(words.len())]
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_seed_always_gives_the_same_and_another_seed_others() {
        assert_eq!(payloads(7), payloads(7));
        assert_ne!(payloads(7), payloads(8));
    }

    #[test]
    fn families_are_full_and_payloads_differ() {
        let all = payloads(7);
        assert_eq!(all.len(), FAMILIES.len() * VARIANTS);
        let different: HashSet<_> = all.iter().map(|payload| &payload.parts).collect();
        assert!(different.len() * 100 > all.len() * 97, "{} of {}", different.len(), all.len());
        assert!(all.iter().all(|payload| payload.parts.iter().all(|part| !part.trim().is_empty())));
    }
}
