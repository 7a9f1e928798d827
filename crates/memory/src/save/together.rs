//! New records of saves that wait at the same time: looked up, judged and written by one statement each for all.

use mc_domain::Visibility;
use mc_store::Tx;

use super::Decision;
use super::apply::{self, Links, New};
use super::report::{Contradicted, Kept, Report};
use super::write::{self, Audience, Save, Written, known_to};
use crate::Error;
use crate::content_filter::ReviewStatus;
use crate::judge::{Action, Judgment, Known, judge};

/// Fewer than these are written one by one.
const TOGETHER_MIN: usize = 2;

/// Writes those of the saves that become new records and touch nothing else. `None` stands for each that is to be judged
/// and written by itself, after these. The transaction has been entered for who makes the first save.
pub(super) async fn write_new(tx: &mut Tx, saves: &[Save]) -> Result<Vec<Option<Written>>, Error> {
    let mut written: Vec<Option<Written>> = saves.iter().map(|_| None).collect();
    let Some(first) = saves.first() else { return Ok(written) };
    let audience = first.audience();
    let numbered = saves.iter().enumerate();
    let alike: Vec<_> = numbered.filter(|(_, save)| is_plain(save, &audience)).collect();
    if alike.len() < TOGETHER_MIN {
        return Ok(written);
    }
    let known = known_to(tx, &alike.iter().map(|(_, save)| *save).collect::<Vec<_>>()).await?;
    let mut new: Vec<(usize, New<'_>, Judgment)> = Vec::new();
    for ((at, save), mut known) in alike.into_iter().zip(known) {
        // What is about to be written is known, too.
        known.extend(new.iter().map(|(other, new, _)| as_known(&saves[*other], new, save)));
        let judgement = judge(&save.incoming(), &known);
        if judgement.action == Action::Create {
            let links = Links { task: None, dialog: save.dialog };
            let one = New::of(&save.request, &save.prepared, links, judgement.scores);
            new.push((at, one, judgement));
        }
    }
    let records = new.iter().map(|(_, new, _)| new);
    let records = apply::create_all(tx, first.request.project, records).await?;
    for ((at, _, judgement), record) in new.into_iter().zip(records) {
        let decision = Decision::Created(record.id);
        write::note(tx, &saves[at].request, &decision, record.id);
        written[at] = Some(Written {
            record,
            decision,
            reason: judgement.reason,
            scores: judgement.scores,
            citations: Vec::new(),
            report: Report { kept: Kept::Whole, ..Report::default() },
            contradicts: judgement.contradicts.map(Contradicted::from),
            has_vector: saves[at].vector().is_some(),
        });
    }
    Ok(written)
}

/// Whether a save of this audience can't but become a new record, or be merged into one.
fn is_plain(save: &Save, audience: &Audience) -> bool {
    let Save { request, prepared, .. } = save;
    prepared.looked == ReviewStatus::Nobody
        && request.visibility != Visibility::Proposed
        && request.task_external_id.is_none()
        && !request.contradicts
        && request.supersedes.is_none()
        && prepared.citations.is_empty()
        && prepared.whole.is_none()
        && save.audience() == *audience
}

/// A record that is about to be written as another save meets it.
fn as_known(save: &Save, new: &New<'_>, beside: &Save) -> Known {
    Known {
        id: new.id(),
        kind: save.request.kind,
        note: save.prepared.note.clone(),
        content_hash: save.prepared.content_hash.to_vec(),
        cosine: save.vector().zip(beside.vector()).map(|(a, b)| cosine(a, b)),
    }
}

/// Of two vectors of unit length.
fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
