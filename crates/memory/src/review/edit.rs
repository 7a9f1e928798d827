//! Edits of records by people, outside a review.

use chrono::Utc;
use mc_contract::operations::record::UpdateRecord;
use mc_contract::operations::save::CitationInput;
use mc_domain::{AuditAction, ProjectId, RecordId, Trust, UserId, Visibility};
use mc_store::audit::{self, NewEvent};
use mc_store::citations::{self, Citation};
use mc_store::records::{self, Record, RecordBody, RecordSource, RecordUpdate};
use serde_json::json;

use super::{body_of, find, index, is_live, set_content};
use crate::citations::{CheckedNew, check_new};
use crate::content_filter::{ContentFilter, FilterDecision, ReviewStatus};
use crate::deletion::lock_changeable;
use crate::save::{default_ttl, sanitize_citation};
use crate::{Error, MemoryContext, NewCitation};

/// The user who edits a record.
#[derive(Debug, Clone, Copy)]
pub struct Editor<'a> {
    /// Id of the user.
    pub user: UserId,
    /// Login of the user, for the history.
    pub login: &'a str,
    /// Whether the user may save records of the team without review.
    pub can_write: bool,
}

/// Edits a live record, which takes what saving it took: a private record and an own proposal are
/// edited by their user, all others with the permission to write ([`Error::NotOwner`]). A new text
/// is filtered like that of a save; a team record that was confirmed is so no longer. If the record
/// has another version than the request, nothing is changed.
pub async fn edit(
    ctx: &MemoryContext,
    project: ProjectId,
    id: RecordId,
    request: UpdateRecord,
    editor: Editor<'_>,
) -> Result<Record, Error> {
    let version = request.version.get();
    let fields = changed_fields(&request);
    let mut filter = ContentFilter::new(&ctx.policy, ReviewStatus::Unreviewed);
    // Before the transaction: it reads the index with a connection of its own.
    let citations = match &request.citations {
        Some(new) => Some(checked(ctx, project, new, &mut filter).await?),
        None => None,
    };
    let mut tx = ctx.store.begin().await?;
    let (record, is_own_proposal) =
        lock_changeable(&mut tx, id, editor.user, editor.can_write).await?;
    if record.access.visibility == Visibility::Proposed && !is_own_proposal {
        return Err(Error::StillProposed(id));
    }
    if !is_live(&record) {
        return Err(Error::NoRecord(id));
    }
    if record.version != version {
        return Err(Error::Changed { id, field: "version" });
    }
    let body = edited_body(ctx, &record, request, &mut filter)?;
    let trust = trust(&record, &body, citations.is_some(), &filter)?;
    if let Some(same) = records::find_same(&mut tx, &record, &body).await? {
        return Err(Error::SameContent(same));
    }
    let origin = RecordSource { saved_by: Some(editor.user), source: String::new() };
    let change = RecordUpdate {
        body: &body,
        citations: citations.as_deref(),
        trust,
        origins: &[origin],
        reason: "edited",
        changed_by: Some(editor.login),
    };
    records::update(&mut tx, &record, &change).await?;
    citations::update_staleness(&mut tx, id).await?;
    if record.access.visibility != Visibility::Proposed {
        index(&mut tx, &record, &body, record.access.private_to).await?;
    }
    let event = NewEvent::new(AuditAction::RecordUpdated, id).with(json!({ "fields": fields }));
    audit::record(&mut tx, event);
    tx.commit().await?;
    find(ctx, id).await
}

/// Returns the citations, masked, that the indexed code has, or that it cannot decide about yet.
async fn checked(
    ctx: &MemoryContext,
    project: ProjectId,
    new: &[CitationInput],
    filter: &mut ContentFilter,
) -> Result<Vec<Citation>, Error> {
    let new: Vec<_> =
        new.iter().map(|one| sanitize_citation(&NewCitation::from(one), filter)).collect();
    let CheckedNew { citations, unknown } = check_new(&ctx.store, project, &new).await?;
    match unknown.into_iter().next() {
        None => Ok(citations),
        Some(unknown) => Err(Error::UnknownCitation { file: unknown.file, reason: unknown.reason }),
    }
}

/// Returns how far the record is trusted with its new text, or the error if the policy does not
/// accept the text.
fn trust(
    record: &Record,
    body: &RecordBody,
    has_new_citations: bool,
    filter: &ContentFilter,
) -> Result<Trust, Error> {
    let is_suspicious = match filter.decision() {
        FilterDecision::Accept { suspicious } => suspicious,
        FilterDecision::Quarantine(reasons) | FilterDecision::Reject(reasons) => {
            return Err(Error::Forbidden(reasons.join(", ")));
        }
    };
    let is_another = body.content.as_str() != record.content
        || body.title.as_str() != record.title
        || body.kind != record.kind
        || body.scope != record.scope
        || has_new_citations;
    Ok(match (is_suspicious, is_another) {
        (true, _) => Trust::Untrusted,
        // Nobody has confirmed what it says now.
        (false, true) => record.access.trust.min(Trust::Team),
        (false, false) => record.access.trust,
    })
}

fn edited_body(
    ctx: &MemoryContext,
    record: &Record,
    request: UpdateRecord,
    filter: &mut ContentFilter,
) -> Result<RecordBody, Error> {
    let mut body = body_of(record);
    if let Some(title) = &request.title {
        body.title = filter.filter(title.as_str());
    }
    if let Some(content) = &request.content {
        set_content(&mut body, filter.filter(content.as_str()))?;
    }
    let mut masked =
        |texts: Vec<String>| texts.iter().map(|text| filter.filter_text(text)).collect();
    if let Some(scope) = request.scope {
        body.scope = masked(scope.into_items());
    }
    if let Some(tags) = request.tags {
        body.tags = masked(tags.into_items());
    }
    if let Some(owner) = request.owner {
        body.owner = owner.map(|owner| filter.filter_text(owner.as_str()));
    }
    body.kind = request.kind.unwrap_or(record.kind);
    match request.ttl {
        Some(Some(ttl)) => {
            let ttl = ttl.after(Utc::now()).map_err(|rule| Error::InvalidTtl(rule.to_string()))?;
            (body.ttl, body.is_ttl_explicit) = (ttl, true);
        }
        // A proposal expires as proposals do until it is accepted.
        _ if record.access.visibility == Visibility::Proposed => {}
        None if body.kind == record.kind || record.is_ttl_explicit => {}
        Some(None) | None => {
            (body.ttl, body.is_ttl_explicit) = (default_ttl(&ctx.policy, body.kind), false);
        }
    }
    Ok(body)
}

/// Returns the names of the fields that the request changes, for the audit.
fn changed_fields(request: &UpdateRecord) -> Vec<&'static str> {
    let named = [
        ("title", request.title.is_some()),
        ("content", request.content.is_some()),
        ("kind", request.kind.is_some()),
        ("scope", request.scope.is_some()),
        ("tags", request.tags.is_some()),
        ("owner", request.owner.is_some()),
        ("ttl", request.ttl.is_some()),
        ("citations", request.citations.is_some()),
    ];
    named.into_iter().filter_map(|(name, is_named)| is_named.then_some(name)).collect()
}
