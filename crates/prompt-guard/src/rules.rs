//! Which words of the lexicon count together, and how much.

use crate::detection::Family;
use crate::lexicon::{Class as C, Hit};

/// Words that together are a sign.
pub(crate) struct Rule {
    pub family: Family,
    /// All of them must stand within [`Rule::window`] of the first.
    pub needs: &'static [C],
    /// Bytes between the first word and each other.
    pub window: usize,
    pub confidence: f32,
    pub why: &'static str,
}

const fn rule(
    family: Family,
    needs: &'static [C],
    window: usize,
    confidence: f32,
    why: &'static str,
) -> Rule {
    Rule { family, needs, window, confidence, why }
}

/// Windows are a clause (40), a sentence (80) or two (120).
#[rustfmt::skip]
pub(crate) const RULES: &[Rule] = &[
    rule(Family::Override, &[C::Drop, C::Earlier, C::Instruction], 80, 0.9, "tells the reader to drop earlier instructions"),
    rule(Family::Override, &[C::Drop, C::Earlier, C::Rule, C::Whole], 60, 0.8, "tells the reader to drop all earlier rules"),
    rule(Family::Override, &[C::Drop, C::Earlier, C::Rule], 60, 0.6, "tells the reader to drop earlier rules"),
    rule(Family::Override, &[C::Drop, C::Whole, C::Instruction], 45, 0.7, "tells the reader to drop all instructions"),
    rule(Family::Override, &[C::Drop, C::Whole, C::Rule, C::Model], 80, 0.7, "tells a model to drop its rules"),
    rule(Family::Override, &[C::Drop, C::Whole, C::Earlier], 30, 0.5, "tells the reader to drop all that came before"),
    rule(Family::Override, &[C::Void, C::Earlier, C::Instruction], 80, 0.8, "says that earlier instructions hold no more"),
    rule(Family::Override, &[C::Void, C::Whole, C::Instruction], 80, 0.6, "says that instructions hold no more"),
    rule(Family::Override, &[C::New, C::Demand], 80, 0.6, "gives new instructions"),
    rule(Family::Override, &[C::New, C::Drop], 120, 0.8, "gives new instructions for those before"),
    rule(Family::Override, &[C::New, C::Model], 120, 0.6, "gives a model new instructions"),
    rule(Family::Override, &[C::New], 0, 0.4, "announces new instructions"),
    rule(Family::Role, &[C::Become, C::Persona], 45, 0.8, "makes the reader somebody else"),
    rule(Family::Role, &[C::Authority, C::Demand], 80, 0.85, "claims power over the model"),
    rule(Family::Role, &[C::Authority, C::Drop], 80, 0.85, "claims power over the model"),
    rule(Family::Role, &[C::Authority, C::Model], 80, 0.6, "claims power over the model"),
    rule(Family::Role, &[C::Authority], 0, 0.4, "speaks as somebody with power"),
    rule(Family::Concealment, &[C::Conceal, C::Person, C::This], 60, 0.8, "asks to keep this from the user"),
    rule(Family::Concealment, &[C::Conceal, C::Person], 40, 0.5, "asks to keep something from a person"),
    rule(Family::Persistence, &[C::Keep, C::Forever, C::Memory], 80, 0.85, "wants to be remembered for all time"),
    rule(Family::Persistence, &[C::Keep, C::Forever, C::Answer], 80, 0.7, "wants to be remembered in every answer"),
    rule(Family::Persistence, &[C::Keep, C::Memory], 40, 0.5, "wants to be remembered"),
    rule(Family::Persistence, &[C::Add, C::Every, C::Answer], 60, 0.6, "wants to be in every answer"),
    rule(Family::Persistence, &[C::Add, C::Every, C::Answer, C::Forever], 80, 0.8, "wants to be in every answer for all time"),
    rule(Family::Persistence, &[C::Approve, C::Reviewed], 45, 0.8, "wants everything approved"),
    rule(Family::Persistence, &[C::Approve, C::Blindly], 80, 0.85, "wants everything approved unseen"),
    rule(Family::Exfiltration, &[C::Send, C::Secret, C::Address], 100, 0.8, "wants secrets sent to an address"),
    rule(Family::Exfiltration, &[C::Tell, C::Brief], 45, 0.5, "wants to hear what the model was told"),
    rule(Family::Exfiltration, &[C::Tell, C::Brief, C::Earlier], 60, 0.6, "wants to hear what the model was told"),
    rule(Family::ToolCall, &[C::Call, C::Tool, C::With], 50, 0.45, "asks for a tool to be called"),
    rule(Family::ToolCall, &[C::Call, C::Tool, C::With, C::Secret], 100, 0.7, "asks for a tool to be called with secrets"),
    rule(Family::ToolCall, &[C::Call, C::Tool, C::With, C::Address], 100, 0.6, "asks for a tool to be called with an address"),
];

/// A rule that is met, and the bytes of the folded reading that meet it.
pub(crate) struct Met {
    pub rule: &'static Rule,
    pub start: usize,
    pub end: usize,
}

/// The rules that `hits` meet, each by its first word.
pub(crate) fn met(hits: &[Hit], folded: &str) -> Vec<Met> {
    let mut met = Vec::new();
    for (at, first) in hits.iter().enumerate() {
        for rule in RULES.iter().filter(|rule| rule.needs[0] == first.class) {
            if let Some((start, end)) = meets(rule, hits, at, folded) {
                met.push(Met { rule, start, end });
            }
        }
    }
    met
}

/// Words looked at on either side: more than any window of honest text has.
const LOOK: usize = 48;

fn meets(rule: &Rule, hits: &[Hit], at: usize, folded: &str) -> Option<(usize, usize)> {
    let first = hits[at];
    let (mut start, mut end) = (first.start, first.end);
    for class in &rule.needs[1..] {
        let behind = hits[at + 1..].iter().take(LOOK);
        let behind = behind.take_while(|hit| hit.start <= first.end + rule.window);
        let before = hits[..at].iter().rev().take(LOOK);
        let before = before.take_while(|hit| hit.end + rule.window >= first.start);
        // Other words, even where one word is of several classes.
        let apart =
            |hit: &&Hit| hit.class == *class && (hit.start, hit.end) != (first.start, first.end);
        let near = behind.chain(before).find(apart)?;
        (start, end) = (start.min(near.start), end.max(near.end));
    }
    // A blank line parts what is said from what is said next.
    (!folded[start..end].contains('\n')).then_some((start, end))
}
