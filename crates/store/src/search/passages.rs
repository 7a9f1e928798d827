//! Passages: the unit of search, whatever its source.

mod filter;
mod load;
mod new;
mod view;
mod write;

use mc_domain::{PassageId, UserId};

use crate::error::word;
use crate::{Error, Store};

pub use filter::PassageFilter;
pub use load::load;
pub(crate) use new::content_hash;
pub use new::{NewPassage, embedding_text};
pub use view::{CodeFacet, CommitFacet, DocFacet, IndexedPassage, Passage, RecordFacet};
pub use write::{PassageSource, put_only, put_only_for, remove, replace};

/// Returns the fields of passages that the keyword index needs; deleted passages are left out.
pub async fn indexed(store: &Store, ids: &[PassageId]) -> Result<Vec<IndexedPassage>, Error> {
    let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
    let rows = sqlx::query!(
        r#"select id, project_id, private_to, source_kind as "source_kind!", record_kind, title,
               location, symbols,
                  scope, tags, language, author, context, text
           from passages where id = any($1)"#,
        &ids
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    rows.into_iter()
        .map(|r| {
            Ok(IndexedPassage {
                id: r.id.into(),
                project: r.project_id.into(),
                private_to: r.private_to.map(UserId),
                source: word(&r.source_kind)?,
                record_kind: r.record_kind,
                title: r.title,
                location: r.location,
                symbols: r.symbols,
                scope: r.scope,
                tags: r.tags,
                language: r.language,
                author: r.author,
                context: r.context,
                text: r.text,
            })
        })
        .collect()
}

/// Returns at most `limit` ids of passages of all projects after an id, in order.
pub async fn ids_after(
    store: &Store,
    after: Option<PassageId>,
    limit: i64,
) -> Result<Vec<PassageId>, Error> {
    let ids = sqlx::query_scalar!(
        "select id from passages where id > $1 order by id limit $2",
        after.map_or_else(uuid::Uuid::nil, |id| id.0),
        limit
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    Ok(ids.into_iter().map(PassageId::from).collect())
}

/// Returns at most `limit` passages of all projects after an id, in order, to build an index.
pub async fn indexed_after(
    store: &Store,
    after: Option<PassageId>,
    limit: i64,
) -> Result<Vec<IndexedPassage>, Error> {
    let ids = ids_after(store, after, limit).await?;
    let mut passages = indexed(store, &ids).await?;
    passages.sort_by_key(|p| p.id);
    Ok(passages)
}
