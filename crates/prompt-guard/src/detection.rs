//! What is found, and how sure it is.

use std::ops::Range;

/// From here on a find is worth telling a person. Below are signs that honest text shows every day
/// (a lone `Human:` at the start of a line, one zero-width character), which count only together.
pub const FLAG: f32 = 0.4;

/// From here on a text is kept from recall until a person has looked. Set where passages of ordinary
/// prose and code are stopped less than once in a thousand; `docs/security.md` has the figures.
pub const QUARANTINE: f32 = 0.8;

/// How a find counts that stands between quotation marks or back-ticks: text *about* such text quotes
/// it. Takes the surest find below [`QUARANTINE`] and leaves it above [`FLAG`].
pub(crate) const QUOTED: f32 = 0.65;

/// What two finds of different families that stand close to each other add to each.
const COMPANY: f32 = 0.15;

/// How close that is, in bytes.
const NEAR: usize = 300;

/// The surest sign that quoting can weaken.
const SUREST: f32 = 0.9;
const _: () = assert!(SUREST * QUOTED + COMPANY < QUARANTINE && SUREST * QUOTED > FLAG);

/// A way in which text addresses a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// Tells the reader to drop what it was told.
    Override,
    /// Tells the reader that it, or the writer, is somebody else now.
    Role,
    /// Pretends that a turn, a prompt or the data itself ends or begins.
    Marker,
    /// Looks like a call of a tool, or asks for one.
    ToolCall,
    /// Holds characters that nobody sees.
    Hidden,
    /// Writes a suspicious word with letters of another script.
    Homoglyph,
    /// Carries data out: links with room for it, commands that send files or variables.
    Exfiltration,
    /// Asks to keep something from the user.
    Concealment,
    /// Is any of the others under an encoding.
    Encoded,
    /// Wants to be remembered, or obeyed in every answer from now on.
    Persistence,
}

impl Family {
    /// Every family.
    pub const ALL: &'static [Self] = &[
        Self::Override,
        Self::Role,
        Self::Marker,
        Self::ToolCall,
        Self::Hidden,
        Self::Homoglyph,
        Self::Exfiltration,
        Self::Concealment,
        Self::Encoded,
        Self::Persistence,
    ];

    /// The word for people and for the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Override => "override",
            Self::Role => "role",
            Self::Marker => "marker",
            Self::ToolCall => "tool_call",
            Self::Hidden => "hidden",
            Self::Homoglyph => "homoglyph",
            Self::Exfiltration => "exfiltration",
            Self::Concealment => "concealment",
            Self::Encoded => "encoded",
            Self::Persistence => "persistence",
        }
    }
}

/// A place in a text that addresses the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Detection {
    /// In which way.
    pub family: Family,
    /// Bytes of the text that was inspected; both ends are at characters.
    pub span: Range<usize>,
    /// How sure it is, [`FLAG`] to 1.
    pub confidence: f32,
    /// What it is, for the person who looks.
    pub why: &'static str,
}

impl Detection {
    pub(crate) fn new(
        family: Family,
        span: Range<usize>,
        confidence: f32,
        why: &'static str,
    ) -> Self {
        Self { family, span, confidence, why }
    }

    /// Whether the text should wait for a person.
    pub fn quarantines(&self) -> bool {
        self.confidence >= QUARANTINE
    }
}

/// In the order of the text, each family once a place, weak signs raised by their company and then
/// dropped where they stayed weak.
pub(crate) fn settle(mut found: Vec<Detection>) -> Vec<Detection> {
    found.sort_by(|a, b| {
        (a.span.start, a.family).cmp(&(b.span.start, b.family)).then(a.span.end.cmp(&b.span.end))
    });
    let mut kept: Vec<Detection> = Vec::new();
    for one in found {
        // Only the last few can overlap: a family's finds are in order.
        let same = kept.iter_mut().rev().take(Family::ALL.len());
        let same = same.into_iter().find(|k| k.family == one.family && one.span.start < k.span.end);
        match same {
            Some(have) => {
                have.span.end = have.span.end.max(one.span.end);
                if one.confidence > have.confidence {
                    (have.confidence, have.why) = (one.confidence, one.why);
                }
            }
            None => kept.push(one),
        }
    }
    let company: Vec<bool> = (0..kept.len()).map(|at| has_company(&kept, at)).collect();
    for (one, _) in kept.iter_mut().zip(company).filter(|(_, company)| *company) {
        one.confidence = (one.confidence + COMPANY).min(1.0);
    }
    kept.retain(|one| one.confidence >= FLAG);
    kept
}

/// Whether a neighbour of another family stands near.
fn has_company(found: &[Detection], at: usize) -> bool {
    let one = &found[at];
    let near = |other: &Detection| {
        other.family != one.family
            && other.span.start < one.span.end + NEAR
            && one.span.start < other.span.end + NEAR
    };
    let before = found[..at].iter().rev().take(3);
    before.chain(found[at + 1..].iter().take(3)).any(near)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(family: Family, start: usize, confidence: f32) -> Detection {
        Detection::new(family, start..start + 10, confidence, "test")
    }

    #[test]
    fn a_weak_sign_counts_in_company_and_not_alone() {
        let alone = settle(vec![found(Family::Marker, 0, 0.3)]);
        assert!(alone.is_empty());
        let far = settle(vec![found(Family::Marker, 0, 0.3), found(Family::Role, 900, 0.3)]);
        assert!(far.is_empty());
        let near = settle(vec![found(Family::Marker, 0, 0.3), found(Family::Role, 90, 0.3)]);
        assert_eq!(near.len(), 2);
    }

    #[test]
    fn a_place_is_told_once_by_family_with_the_surest_reason() {
        let told = settle(vec![found(Family::Role, 4, 0.5), found(Family::Role, 8, 0.9)]);
        assert_eq!(told.len(), 1);
        assert_eq!((told[0].span.clone(), told[0].confidence), (4..18, 0.9));
    }
}
