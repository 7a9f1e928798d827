//! Reads of documents by id, URL and title, and in pages.

use chrono::{DateTime, Utc};
use mc_domain::{DocId, ProjectId};

use super::Doc;
use crate::error::word;
use crate::row::read;
use crate::{Result, Store};

/// Returns the document with this id.
pub async fn by_id(store: &Store, project: ProjectId, id: DocId) -> Result<Option<Doc>> {
    let row = sqlx::query_as!(
        Row,
        "select id, source, doc_id, title, url, content, scope, tags, trust, updated_at
         from docs where id = $1 and project_id = $2",
        id.0,
        project.0
    )
    .fetch_optional(&mut *store.read().await?)
    .await?;
    row.map(Row::into_doc).transpose()
}

/// Returns the document with this URL, or with this id at its source (a path, for a file).
pub async fn by_url(store: &Store, project: ProjectId, url: &str) -> Result<Option<Doc>> {
    let row = sqlx::query_as!(
        Row,
        "select id, source, doc_id, title, url, content, scope, tags, trust, updated_at
         from docs where project_id = $1 and (url = $2 or doc_id = $2)
             and mc.is_doc_searchable(record_id)
         order by (url = $2) desc, updated_at desc limit 1",
        project.0,
        url
    )
    .fetch_optional(&mut *store.read().await?)
    .await?;
    row.map(Row::into_doc).transpose()
}

/// Returns the newest document with this title, in any case, or else with this id at its source (a
/// path, for a file).
pub async fn by_title(store: &Store, project: ProjectId, title: &str) -> Result<Option<Doc>> {
    let row = sqlx::query_as!(
        Row,
        "select id, source, doc_id, title, url, content, scope, tags, trust, updated_at
         from docs where project_id = $1 and (lower(title) = lower($2) or doc_id = $2)
             and mc.is_doc_searchable(record_id)
         order by (lower(title) = lower($2)) desc, updated_at desc limit 1",
        project.0,
        title
    )
    .fetch_optional(&mut *store.read().await?)
    .await?;
    row.map(Row::into_doc).transpose()
}

/// Returns titles that contain `part` in any case, the shortest first.
pub async fn titles_like(
    store: &Store,
    project: ProjectId,
    part: &str,
    limit: i64,
) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar!(
        "select title from docs
         where project_id = $1 and position(lower($2) in lower(title)) > 0
             and mc.is_doc_searchable(record_id)
         group by title order by length(title), title limit $3",
        project.0,
        part,
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?)
}

/// Returns documents of a project after an id, oldest first, without their text.
pub async fn list(
    store: &Store,
    project: ProjectId,
    after: Option<DocId>,
    limit: i64,
) -> Result<Vec<Doc>> {
    let rows = sqlx::query_as!(
        Row,
        r#"select id, source, doc_id, title, url, '' as "content!", scope, tags, trust, updated_at
           from docs where project_id = $1 and id > $2 and mc.is_doc_searchable(record_id)
               order by id limit $3"#,
        project.0,
        after.map_or_else(uuid::Uuid::nil, |id| id.0),
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    rows.into_iter().map(Row::into_doc).collect()
}

/// The columns of a document.
struct Row {
    id: uuid::Uuid,
    source: String,
    doc_id: String,
    title: String,
    url: String,
    content: String,
    scope: Vec<String>,
    tags: Vec<String>,
    trust: String,
    updated_at: DateTime<Utc>,
}

impl Row {
    fn into_doc(self) -> Result<Doc> {
        read!(self => Doc {
            id: self.id.into(), source, doc_id, title, url, content, scope, tags,
            trust: word(&self.trust)?, updated_at
        })
    }
}
