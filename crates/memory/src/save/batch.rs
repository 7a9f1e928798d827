//! New records of several queued saves, looked up, judged and inserted with one statement each.

use mc_contract::operations::save::Kept;
use mc_domain::Visibility;
use mc_store::{Tx, records};

use super::Decision;
use super::apply::{Applied, RecordDraft};
use super::write::{self, Audience, Save, Written, find_candidates};
use crate::Error;
use crate::content_filter::ReviewStatus;
use crate::judge::{Action, Judgment, Known, judge};

/// With fewer plain saves than this, each is written by itself.
const BATCH_MIN: usize = 2;

/// Writes the saves that create a record and touch nothing else. `None` stands for each save that
/// has to be judged and written by itself afterward. The transaction acts for the first saver.
pub(super) async fn create_batch(
    tx: &mut Tx,
    saves: &[Save],
) -> Result<Vec<Option<Written>>, Error> {
    let mut written: Vec<Option<Written>> = saves.iter().map(|_| None).collect();
    let Some(first) = saves.first() else { return Ok(written) };
    let audience = first.audience();
    let numbered = saves.iter().enumerate();
    let plain: Vec<_> = numbered.filter(|(_, save)| is_plain(save, &audience)).collect();
    if plain.len() < BATCH_MIN {
        return Ok(written);
    }
    let known =
        find_candidates(tx, &plain.iter().map(|(_, save)| *save).collect::<Vec<_>>()).await?;
    let mut new: Vec<(usize, RecordDraft<'_>, Judgment)> = Vec::new();
    for ((at, save), mut known) in plain.into_iter().zip(known) {
        // Drafts of this batch count as known records.
        known.extend(new.iter().map(|(other, new, _)| draft_as_known(&saves[*other], new, save)));
        let judgment = judge(&save.incoming(), &known);
        if judgment.action == Action::Create && !judgment.needs_review() {
            let draft = RecordDraft::of(save.linked_to(None), judgment.scores);
            new.push((at, draft, judgment));
        }
    }
    let rows: Vec<_> = new.iter().map(|(_, draft, _)| draft.row()).collect();
    let records = records::create_all(tx, first.request.project, &rows).await?;
    for ((at, _, judgment), record) in new.into_iter().zip(records) {
        let decision = Decision::Created(record.id);
        write::audit_save(tx, &saves[at].request, &decision, record.id);
        saves[at].enqueue_judgment(tx, record.id).await?;
        let applied = Applied::of(record, Kept::Whole, saves[at].vector().is_some());
        let Judgment { reason, scores, contradicts, .. } = judgment;
        written[at] = Some(Written { applied, decision, reason, scores, contradicts });
    }
    Ok(written)
}

/// Whether a save of this audience can only create a record or merge into one.
fn is_plain(save: &Save, audience: &Audience) -> bool {
    let Save { request, prepared, .. } = save;
    prepared.review_status == ReviewStatus::Unreviewed
        && request.visibility != Visibility::Proposed
        && request.task_external_id.is_none()
        && !request.contradicts
        && request.supersedes.is_none()
        && prepared.citations.is_empty()
        && prepared.long_text.is_none()
        && save.audience() == *audience
}

/// Presents a draft of this batch to the judge as a known record.
fn draft_as_known(save: &Save, new: &RecordDraft<'_>, other: &Save) -> Known {
    Known {
        id: new.id,
        kind: save.request.kind,
        trust: save.prepared.trust,
        note: save.prepared.note.clone(),
        content_hash: save.prepared.body.content_hash.clone(),
        cosine: save.vector().zip(other.vector()).map(|(a, b)| cosine(a, b)),
    }
}

/// Returns the cosine of two unit vectors.
fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
