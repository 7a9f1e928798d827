//! Detections and their confidence.

use std::ops::Range;

/// Minimum confidence of a reported detection. Weaker signals occur in ordinary text (a `Human:` at
/// the start of a line, one zero-width character) and count only together.
pub const FLAG_THRESHOLD: f32 = 0.4;

/// Minimum confidence of a detection that quarantines its text. Below one in a thousand passages of
/// ordinary prose and code reach it; `docs/security.md` has the figures.
pub const QUARANTINE_THRESHOLD: f32 = 0.8;

/// Factor on the confidence of a signal between quotation marks or backticks, since text *about*
/// prompt injection quotes it. The strongest signal gets below [`QUARANTINE_THRESHOLD`] and stays
/// above [`FLAG_THRESHOLD`].
pub(crate) const QUOTED: f32 = 0.65;

/// Added to the confidence of two adjacent detections of different families.
const ADJACENT_BONUS: f32 = 0.15;

/// Maximum distance of adjacent detections, in bytes.
const ADJACENT_BYTES: usize = 300;

/// The strongest signal that quoting can weaken.
const MAX_QUOTED: f32 = 0.9;
const _: () = assert!(MAX_QUOTED * QUOTED + ADJACENT_BONUS < QUARANTINE_THRESHOLD);
const _: () = assert!(MAX_QUOTED * QUOTED > FLAG_THRESHOLD);

/// A family of prompt injection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// Orders the model to ignore its instructions.
    Override,
    /// Gives the model, or the writer, another role.
    Role,
    /// Imitates the beginning or end of a turn, a prompt or the data itself.
    Marker,
    /// Looks like a tool call, or orders one.
    ToolCall,
    /// Contains invisible characters.
    Hidden,
    /// Writes a suspicious word with letters of another script.
    Homoglyph,
    /// Sends data: links with placeholders for it, commands that send files or variables.
    Exfiltration,
    /// Orders the model to keep something from the user.
    Concealment,
    /// Any other family under an encoding.
    Encoded,
    /// Orders the model to remember something, or to obey it in every response.
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

    /// Returns the name on the wire and in the database.
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

/// A part of a text that looks like prompt injection.
#[derive(Debug, Clone, PartialEq)]
pub struct Detection {
    /// Family of attacks that the text resembles.
    pub family: Family,
    /// The bytes of the inspected text; both ends are character boundaries.
    pub span: Range<usize>,
    /// The confidence, from [`FLAG_THRESHOLD`] to 1.
    pub confidence: f32,
    /// The reason, for a reviewer.
    pub reason: &'static str,
}

impl Detection {
    pub(crate) fn new(
        family: Family,
        span: Range<usize>,
        confidence: f32,
        reason: &'static str,
    ) -> Self {
        Self { family, span, confidence, reason }
    }

    /// Whether the text should be quarantined.
    pub fn quarantines(&self) -> bool {
        self.confidence >= QUARANTINE_THRESHOLD
    }
}

/// Sorts detections by position, merges overlapping ones of a family, raises adjacent ones of
/// different families, and drops those below [`FLAG_THRESHOLD`].
pub(crate) fn consolidate(mut found: Vec<Detection>) -> Vec<Detection> {
    found.sort_by(|a, b| {
        (a.span.start, a.family).cmp(&(b.span.start, b.family)).then(a.span.end.cmp(&b.span.end))
    });
    let mut kept: Vec<Detection> = Vec::new();
    for one in found {
        // Only the last few can overlap, since those of one family are in order.
        let same = kept.iter_mut().rev().take(Family::ALL.len());
        let same = same.into_iter().find(|k| k.family == one.family && one.span.start < k.span.end);
        match same {
            Some(have) => {
                have.span.end = have.span.end.max(one.span.end);
                if one.confidence > have.confidence {
                    (have.confidence, have.reason) = (one.confidence, one.reason);
                }
            }
            None => kept.push(one),
        }
    }
    let adjacent: Vec<bool> = (0..kept.len()).map(|index| has_adjacent(&kept, index)).collect();
    for (one, _) in kept.iter_mut().zip(adjacent).filter(|(_, adjacent)| *adjacent) {
        one.confidence = (one.confidence + ADJACENT_BONUS).min(1.0);
    }
    kept.retain(|one| one.confidence >= FLAG_THRESHOLD);
    kept
}

/// Whether a detection of another family is within [`ADJACENT_BYTES`].
fn has_adjacent(found: &[Detection], at: usize) -> bool {
    let one = &found[at];
    let near = |other: &Detection| {
        other.family != one.family
            && other.span.start < one.span.end + ADJACENT_BYTES
            && one.span.start < other.span.end + ADJACENT_BYTES
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
    fn weak_signals_count_only_when_adjacent() {
        let alone = consolidate(vec![found(Family::Marker, 0, 0.3)]);
        assert!(alone.is_empty());
        let far = consolidate(vec![found(Family::Marker, 0, 0.3), found(Family::Role, 900, 0.3)]);
        assert!(far.is_empty());
        let near = consolidate(vec![found(Family::Marker, 0, 0.3), found(Family::Role, 90, 0.3)]);
        assert_eq!(near.len(), 2);
    }

    #[test]
    fn overlapping_detections_keep_the_strongest_reason() {
        let reported = consolidate(vec![found(Family::Role, 4, 0.5), found(Family::Role, 8, 0.9)]);
        assert_eq!(reported.len(), 1);
        assert_eq!((reported[0].span.clone(), reported[0].confidence), (4..18, 0.9));
    }
}
