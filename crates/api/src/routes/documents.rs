//! `/documents`: ADRs, wiki pages and guides, whole.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use mc_domain::{DocId, ProjectId, ProjectKey};
use mc_store::Store;
use mc_store::docs::{self, Doc};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::projects;
use crate::ApiState;
use crate::check::{self, Check, Invalid};
use crate::extract::ValidQuery;
use crate::limits;
use crate::problem::Problem;

/// How many near titles a refusal names.
const NEAR_TITLES: i64 = 5;
/// Letters of a word that make it worth looking for in titles.
const MEANINGFUL_WORD: usize = 3;

/// Which document: exactly one of `id`, `title` and `url`.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DocumentQuery {
    /// The project's key.
    project_key: String,
    /// The document's id here.
    id: Option<Uuid>,
    /// Its title, in any case.
    title: Option<String>,
    /// Its URL, or its id at its source (the path, for a file of a repository).
    url: Option<String>,
}

/// A [`DocumentQuery`] as checked.
#[derive(Debug)]
pub struct CheckedQuery {
    project: ProjectKey,
    name: DocumentName,
}

/// The one way in which a request names a document.
#[derive(Debug)]
enum DocumentName {
    Id(DocId),
    Title(String),
    Url(String),
}

impl Check for DocumentQuery {
    type Checked = CheckedQuery;

    fn check(self) -> Result<CheckedQuery, Invalid> {
        let name = match (self.id, self.title, self.url) {
            (Some(id), None, None) => DocumentName::Id(DocId(id)),
            (None, Some(title), None) => {
                DocumentName::Title(check::line("title", &title, limits::TITLE)?)
            }
            (None, None, Some(url)) => DocumentName::Url(check::line("url", &url, limits::URL)?),
            _ => return Err(Invalid::new("title", "name exactly one of id, title and url")),
        };
        Ok(CheckedQuery { project: check::project_key("project_key", &self.project_key)?, name })
    }
}

/// A document.
#[derive(Debug, Serialize, ToSchema)]
pub struct DocumentView {
    id: Uuid,
    title: String,
    /// Where people read it; may be empty.
    url: String,
    /// Where it came from (`confluence`, `repo:owner/name`).
    source: String,
    /// Its id there.
    doc_id: String,
    content: String,
    scope: Vec<String>,
    tags: Vec<String>,
    updated_at: DateTime<Utc>,
}

/// Open a document by id, title or URL.
#[utoipa::path(
    get, path = "/documents", tag = "documents", params(DocumentQuery),
    responses((status = 200, description = "The document", body = DocumentView))
)]
pub async fn open(
    State(api): State<ApiState>,
    ValidQuery(query): ValidQuery<DocumentQuery>,
) -> Result<Json<DocumentView>, Problem> {
    let project = projects::named(&api.store, &query.project).await?;
    let found = match &query.name {
        DocumentName::Id(id) => docs::by_id(&api.store, project.id, *id).await?,
        DocumentName::Title(title) => docs::by_title(&api.store, project.id, title).await?,
        DocumentName::Url(url) => docs::by_url(&api.store, project.id, url).await?,
    };
    match found {
        Some(doc) => Ok(Json(doc.into())),
        None => Err(unknown(&api.store, project.id, &query.name).await?),
    }
}

/// A refusal that names the titles one may have meant.
async fn unknown(
    store: &Store,
    project: ProjectId,
    name: &DocumentName,
) -> Result<Problem, Problem> {
    let (field, text) = match name {
        DocumentName::Id(id) => ("id", id.to_string()),
        DocumentName::Title(title) => ("title", title.clone()),
        DocumentName::Url(url) => ("url", url.clone()),
    };
    let near = near_titles(store, project, &text).await?;
    let hint = if near.is_empty() {
        "POST /search with sources [\"doc\"] finds documents by what they say".to_owned()
    } else {
        format!("near titles: {}", near.join("; "))
    };
    Ok(Problem::not_found(format!("the project has no document \"{text}\""))
        .field(field)
        .hint(hint))
}

/// Titles that hold the whole text, else those that hold its longest words.
async fn near_titles(
    store: &Store,
    project: ProjectId,
    text: &str,
) -> Result<Vec<String>, Problem> {
    let mut near = docs::titles_like(store, project, text, NEAR_TITLES).await?;
    let mut words: Vec<_> = text.split(|c: char| !c.is_alphanumeric()).collect();
    words.retain(|word| word.chars().count() >= MEANINGFUL_WORD);
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    for word in words.into_iter().take(3) {
        if !near.is_empty() {
            break;
        }
        near = docs::titles_like(store, project, word, NEAR_TITLES).await?;
    }
    Ok(near)
}

impl From<Doc> for DocumentView {
    fn from(doc: Doc) -> Self {
        Self {
            id: doc.id.into(),
            title: doc.title,
            url: doc.url,
            source: doc.source,
            doc_id: doc.doc_id,
            content: doc.content,
            scope: doc.scope,
            tags: doc.tags,
            updated_at: doc.updated_at,
        }
    }
}
