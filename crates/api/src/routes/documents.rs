//! `/documents`: ADRs, wiki pages and guides, whole.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use mc_domain::{DocId, Permission, ProjectId, ProjectKey};
use mc_memory::uses::Opened;
use mc_store::Store;
use mc_store::docs::{self, Doc};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::pagination::Page;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::ValidQuery;
use crate::limits;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};
use crate::wire::Trust;

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
    #[param(value_type = schemas::ProjectKey, inline)]
    project_key: String,
    /// The document's id here.
    id: Option<Uuid>,
    /// Its title, in any case, or its id at its source (the path, for a file of a repository).
    #[param(value_type = Option<schemas::Title>, inline)]
    title: Option<String>,
    /// Its URL, or its id at its source (the path, for a file of a repository).
    #[param(value_type = Option<schemas::Reference>, inline)]
    url: Option<String>,
}

/// A [`DocumentQuery`] as checked.
#[derive(Debug)]
pub struct ValidatedQuery {
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

impl Validate for DocumentQuery {
    type Checked = ValidatedQuery;

    fn check(self) -> Result<ValidatedQuery, ValidationError> {
        let name = match (self.id, self.title, self.url) {
            (Some(id), None, None) => DocumentName::Id(DocId(id)),
            (None, Some(title), None) => {
                DocumentName::Title(validate::line("title", &title, limits::TITLE)?)
            }
            (None, None, Some(url)) => DocumentName::Url(validate::line("url", &url, limits::URL)?),
            _ => {
                return Err(ValidationError::new("title", "name exactly one of id, title and url"));
            }
        };
        Ok(ValidatedQuery {
            project: validate::project_key("project_key", &self.project_key)?,
            name,
        })
    }
}

/// Which project's documents, and how many.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DocumentsQuery {
    /// The project's key.
    #[param(value_type = schemas::ProjectKey, inline)]
    project_key: String,
    /// Only documents after this one: the `next_cursor` of the page before.
    cursor: Option<Uuid>,
    /// 1 to 200; 50 when absent.
    #[param(value_type = Option<schemas::PageLimit>, inline)]
    limit: Option<i64>,
}

/// A [`DocumentsQuery`] as checked.
#[derive(Debug)]
pub struct ValidatedListing {
    project: ProjectKey,
    cursor: Option<DocId>,
    limit: i64,
}

impl Validate for DocumentsQuery {
    type Checked = ValidatedListing;

    fn check(self) -> Result<ValidatedListing, ValidationError> {
        let limit = self.limit.unwrap_or(limits::DEFAULT_PAGE_LIMIT);
        Ok(ValidatedListing {
            project: validate::project_key("project_key", &self.project_key)?,
            cursor: self.cursor.map(DocId),
            limit: validate::range("limit", limit, &limits::PAGE_LIMIT)?,
        })
    }
}

/// A document without its text.
#[derive(Debug, Serialize, ToSchema)]
pub struct DocumentSummary {
    id: Uuid,
    title: String,
    /// Where people read it; may be empty.
    url: String,
    /// Where it came from (`confluence`, `repo:owner/name`).
    source: String,
    /// Its id there.
    doc_id: String,
    scope: Vec<String>,
    tags: Vec<String>,
    /// Who vouches for it: nobody (`untrusted`) where it addresses a model.
    trust: Trust,
    updated_at: DateTime<Utc>,
}

/// A document.
#[derive(Debug, Serialize, ToSchema)]
pub struct Document {
    #[serde(flatten)]
    head: DocumentSummary,
    content: String,
}

/// Page through a project's documents, oldest first.
#[utoipa::path(
    get, path = "/documents", tag = "documents", params(DocumentsQuery),
    responses((status = 200, description = "A page", body = Page<DocumentSummary>))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery(query): ValidQuery<DocumentsQuery>,
) -> Result<Json<Page<DocumentSummary>>, Problem> {
    let here = api.authorize(&caller, &query.project, Permission::Read).await?;
    let docs = docs::list(&here.store, here.project.id, query.cursor, query.limit).await?;
    Ok(Json(Page::of(docs, query.limit, |doc| doc.id)))
}

/// Open a document by id, title (or path) or URL.
#[utoipa::path(
    get, path = "/documents/lookup", tag = "documents", params(DocumentQuery),
    responses((status = 200, description = "The document", body = Document))
)]
pub async fn open(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery(query): ValidQuery<DocumentQuery>,
) -> Result<Json<Document>, Problem> {
    let here = api.authorize(&caller, &query.project, Permission::Read).await?;
    let found = match &query.name {
        DocumentName::Id(id) => docs::by_id(&here.store, here.project.id, *id).await?,
        DocumentName::Title(title) => docs::by_title(&here.store, here.project.id, title).await?,
        DocumentName::Url(url) => docs::by_url(&here.store, here.project.id, url).await?,
    };
    match found {
        Some(doc) => {
            here.note_opened(Opened::Doc(doc.id));
            Ok(Json(doc.into()))
        }
        None => Err(unknown(&here.store, here.project.id, &query.name).await?),
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
    // The digits of an id say nothing of a title, and now and then stand in one.
    let near = match name {
        DocumentName::Id(_) => Vec::new(),
        DocumentName::Title(_) | DocumentName::Url(_) => near_titles(store, project, &text).await?,
    };
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

impl From<Doc> for Document {
    fn from(mut doc: Doc) -> Self {
        let content = std::mem::take(&mut doc.content);
        Self { head: doc.into(), content }
    }
}

impl From<Doc> for DocumentSummary {
    fn from(doc: Doc) -> Self {
        Self {
            id: doc.id.into(),
            title: doc.title,
            url: doc.url,
            source: doc.source,
            doc_id: doc.doc_id,
            scope: doc.scope,
            tags: doc.tags,
            trust: doc.trust.into(),
            updated_at: doc.updated_at,
        }
    }
}
