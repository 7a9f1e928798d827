//! Recording handed-out bundles in the database, after the response.

use std::time::Duration;

use mc_domain::{BundleSection, ProjectId};
use mc_store::Store;
use mc_store::bundles::{self, BundleItem, NewBundle};

use super::RecallRequest;
use super::query::RecallQuery;
use crate::bundle::{Bundle, LinkTarget, Statement, handles};
use crate::write_queue::QueuedWrite;
use crate::{Error, MemoryContext};

/// A bundle that was handed out and is to be written.
pub(crate) struct IssuedBundle {
    store: Store,
    bundle: NewBundle,
}

/// Writes the bundle after the response. Retries while the database is unavailable, and at last
/// logs an error with the bundle's id.
pub(super) fn enqueue(
    ctx: &MemoryContext,
    request: &RecallRequest,
    query: &RecallQuery,
    bundle: &Bundle,
) {
    let new = NewBundle {
        id: bundle.id,
        project: request.project,
        principal: request.principal.clone(),
        session: ctx.session,
        is_control: request.is_control,
        prompt_version: bundle.prompt_version,
        request: query.request.clone(),
        confidence: bundle.confidence,
        token_count: i32::try_from(bundle.token_count).unwrap_or(i32::MAX),
        degraded: bundle.degraded.clone(),
        items: items(bundle),
        handles: handles(bundle).in_order(),
    };
    let handed_out = IssuedBundle { store: ctx.store.clone(), bundle: new };
    let (bundles, id) = (ctx.bundles.clone(), bundle.id);
    // No request names handles of a bundle that no model sees.
    let has_handles = !handed_out.bundle.items.is_empty() && !request.is_control;
    ctx.bundle_writer.spawn(id, ctx.caller(request.project), has_handles, async move {
        if let Err(error) = bundles.write_with_retries(handed_out).await {
            tracing::error!(
                bundle.id = %id,
                error = &error as &dyn std::error::Error,
                "writing a handed-out bundle failed"
            );
        }
    });
}

impl QueuedWrite for IssuedBundle {
    type Output = ();

    /// Each transaction slows down concurrent recalls, and one for many bundles slows down few.
    const MAX_DELAY: Duration = Duration::from_millis(300);

    /// One statement writes all bundles of a caller, without subtransactions.
    const BATCH_MAX: usize = 200;

    fn project(&self) -> ProjectId {
        self.bundle.project
    }

    async fn write_one(&mut self) -> Result<(), Error> {
        insert_all(&[self]).await
    }

    async fn write_batch(group: &mut [Self]) -> Result<Vec<Result<(), Error>>, Error> {
        // Bundles of a caller share a transaction in its name, which locks in one order.
        let mut all: Vec<&Self> = group.iter().collect();
        all.sort_by_key(|one| one.store.principal());
        for of_caller in all.chunk_by(|one, other| one.store.principal() == other.store.principal())
        {
            insert_all(of_caller).await?;
        }
        Ok(group.iter().map(|_| Ok(())).collect())
    }
}

async fn insert_all(of_caller: &[&IssuedBundle]) -> Result<(), Error> {
    let Some(first) = of_caller.first() else { return Ok(()) };
    let mut tx = first.store.begin_frequent().await?;
    let all: Vec<_> = of_caller.iter().map(|one| &one.bundle).collect();
    bundles::insert(&mut tx, first.bundle.project, &all).await?;
    Ok(tx.commit().await?)
}

fn items(bundle: &Bundle) -> Vec<BundleItem> {
    let item =
        |section, passage, score| BundleItem { section, record: None, doc: None, passage, score };
    let statement = |section, s: &Statement| {
        let record = Some(s.id);
        BundleItem { record, ..item(section, s.passage, s.score) }
    };
    let gotchas = bundle.gotchas.iter().map(|s| statement(BundleSection::Gotchas, s));
    let facts = bundle.facts.iter().map(|s| statement(BundleSection::Facts, s));
    let shots = bundle.few_shots.iter().map(|s| {
        let record = Some(s.id);
        BundleItem { record, ..item(BundleSection::FewShots, s.passage, s.score) }
    });
    let links = bundle.links.iter().map(|link| {
        let (record, doc) = match link.target {
            LinkTarget::Record(id) => (Some(id), None),
            LinkTarget::Doc(id) => (None, Some(id)),
        };
        BundleItem { record, doc, ..item(BundleSection::Links, link.passage, link.score) }
    });
    let dialogs = bundle.dialogs.iter();
    let dialogs = dialogs.map(|talk| item(BundleSection::Dialogs, talk.passage, talk.score));
    let code = bundle.code.iter();
    let code = code.map(|place| item(BundleSection::Code, place.passage, place.score));
    gotchas.chain(facts).chain(shots).chain(links).chain(dialogs).chain(code).collect()
}
