//! Passages: the unit of search, whatever its source.

mod load;
mod new;
mod view;
mod write;

use mc_domain::{PassageId, ProjectId, RecordKind, RepositoryId, SourceKind, UserId};

use crate::error::word;
use crate::row::{read, uuids};
use crate::{Result, Store};

pub use load::load;
pub use new::{NewPassage, content_hash, embedding_text};
pub use view::{CodeFacet, CommitFacet, DocFacet, IndexedPassage, Passage, RecordFacet};
pub use write::{PassageSource, put_only, put_only_for, remove, replace};

/// A filter of the passages that a search may return. An empty list allows all.
#[derive(Debug, Clone)]
pub struct PassageFilter {
    /// The project; no search crosses projects.
    pub project: ProjectId,
    /// Kinds of source; an empty list allows [`SourceKind::SEARCHED`].
    pub sources: Vec<SourceKind>,
    /// Kinds of memory record.
    pub record_kinds: Vec<RecordKind>,
    /// At least one of these scopes.
    pub scope: Vec<String>,
    /// At least one of these tags.
    pub tags: Vec<String>,
    /// Repositories of the code, documents and commits; all else is excluded if there is one.
    pub repositories: Vec<RepositoryId>,
    /// Languages as the indexer names them (`rust`, `ruby`).
    pub languages: Vec<String>,
    /// Regular expression that matches the whole location, in the syntax common to PostgreSQL's `~`
    /// and the keyword index.
    pub path_regex: Option<String>,
}

impl PassageFilter {
    /// Returns a filter that allows all passages of a project.
    pub fn project(project: ProjectId) -> Self {
        Self {
            project,
            sources: Vec::new(),
            record_kinds: Vec::new(),
            scope: Vec::new(),
            tags: Vec::new(),
            repositories: Vec::new(),
            languages: Vec::new(),
            path_regex: None,
        }
    }

    /// Returns a filter that allows the records of a project.
    pub fn records(project: ProjectId) -> Self {
        Self { sources: vec![SourceKind::Memory], ..Self::project(project) }
    }

    /// Returns the kinds of source to search; never empty.
    pub fn searched_sources(&self) -> &[SourceKind] {
        match self.sources.as_slice() {
            [] => SourceKind::SEARCHED,
            kinds => kinds,
        }
    }

    /// Returns whether the filter only restricts project and source.
    pub fn is_plain(&self) -> bool {
        self.is_of_vectors() && self.repositories.is_empty()
    }

    /// Returns whether the filter only restricts what vectors have themselves: project, source and
    /// repository.
    pub fn is_of_vectors(&self) -> bool {
        self.record_kinds.is_empty()
            && self.scope.is_empty()
            && self.tags.is_empty()
            && self.languages.is_empty()
            && self.path_regex.is_none()
    }
}

/// Returns the fields of passages that the keyword index needs; deleted passages are left out.
pub async fn indexed(store: &Store, ids: &[PassageId]) -> Result<Vec<IndexedPassage>> {
    let rows = sqlx::query!(
        r#"select id, project_id, private_to, source_kind as "source_kind!", record_kind, title,
               location, symbols, scope, tags, repository_id, language, author, context, text
           from passages where id = any($1)"#,
        &uuids(ids)
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    read!(each r in rows => IndexedPassage {
        id: r.id.into(), project: r.project_id.into(), private_to: r.private_to.map(UserId),
        source: word(&r.source_kind)?, record_kind, title, location, symbols, scope, tags,
        repository: r.repository_id.map(RepositoryId), language, author, context, text
    })
}

/// Returns at most `limit` ids of passages of all projects after an id, in order.
pub async fn ids_after(
    store: &Store,
    after: Option<PassageId>,
    limit: i64,
) -> Result<Vec<PassageId>> {
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
) -> Result<Vec<IndexedPassage>> {
    let ids = ids_after(store, after, limit).await?;
    let mut passages = indexed(store, &ids).await?;
    passages.sort_by_key(|p| p.id);
    Ok(passages)
}
