//! `/documents`: ADRs, wiki pages and guides in full.

use axum::Json;
use axum::extract::State;
use mc_contract::operations::document::{Document, DocumentQuery, DocumentSummary, DocumentsQuery};
use mc_contract::operations::page::{Page, page};
use mc_contract::text::{SourceReference, Title};
use mc_domain::{Permission, ProjectId, ReadKind, UntrustedText};
use mc_memory::uses::Opened;
use mc_store::Store;
use mc_store::docs::{self, Doc};

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::QueryString;
use crate::openapi::Access;
use crate::problem::Problem;

/// Most similar titles that an error names.
const NEAR_TITLES: i64 = 5;
/// Letters of a word that is searched for in titles.
const MEANINGFUL_WORD: usize = 3;

/// List documents.
///
/// Returns a page of the project's documents without their texts, oldest first.
#[utoipa::path(
    get, path = "/documents", tag = "documents", params(DocumentsQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "A page", body = Page<DocumentSummary>))
)]
pub async fn list_documents(
    State(api): State<ApiState>,
    caller: Principal,
    QueryString(query): QueryString<DocumentsQuery>,
) -> Result<Json<Page<DocumentSummary>>, Problem> {
    let here = api.authorize(&caller, &query.project_key, Permission::Read).await?;
    let limit = query.limit.unwrap_or_default().get();
    let docs = docs::list(&here.store, here.project.id, query.cursor, limit).await?;
    here.count_read(ReadKind::Document);
    let summaries: Vec<_> = docs.into_iter().map(|doc| document(doc).summary).collect();
    Ok(Json(page(summaries, limit, |doc| doc.id)))
}

/// Get a document by id, title (or path) or URL.
///
/// Returns the document with its text. If there is none, the error names similar titles.
#[utoipa::path(
    get, path = "/documents/lookup", tag = "documents", params(DocumentQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "The document", body = Document))
)]
pub async fn open_document(
    State(api): State<ApiState>,
    caller: Principal,
    QueryString(query): QueryString<DocumentQuery>,
) -> Result<Json<Document>, Problem> {
    let here = api.authorize(&caller, &query.project_key, Permission::Read).await?;
    let (store, project) = (&here.store, here.project.id);
    let found = match (query.id, &query.title, &query.url) {
        (Some(id), ..) => docs::by_id(store, project, id).await?,
        (None, Some(title), _) => docs::by_title(store, project, title.as_str()).await?,
        (None, None, Some(url)) => docs::by_url(store, project, url.as_str()).await?,
        (None, None, None) => None,
    };
    match found {
        Some(doc) => {
            here.count_read(ReadKind::Document);
            here.note_opened(Opened::Doc(doc.id));
            Ok(Json(document(doc)))
        }
        None => Err(unknown(store, project, &query).await?),
    }
}

/// An error that names similar titles.
async fn unknown(
    store: &Store,
    project: ProjectId,
    query: &DocumentQuery,
) -> Result<Problem, Problem> {
    let named = [
        ("title", query.title.as_ref().map(Title::as_str)),
        ("url", query.url.as_ref().map(SourceReference::as_str)),
    ];
    let named = named.into_iter().find_map(|(field, text)| Some((field, text?.to_owned())));
    let (field, text, near) = match (named, query.id) {
        (Some((field, text)), _) => {
            let near = near_titles(store, project, &text).await?;
            (field, text, near)
        }
        // The digits of an id say nothing about a title.
        (None, id) => ("id", id.map(|id| id.to_string()).unwrap_or_default(), Vec::new()),
    };
    Ok(Problem::not_found(format!("the project has no document \"{text}\""))
        .field(field)
        .hint("POST /search with sources [\"doc\"] finds documents by what they say")
        .near(near.into_iter().map(UntrustedText::new).collect()))
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

/// The document as it is sent.
fn document(doc: Doc) -> Document {
    let summary = DocumentSummary {
        id: doc.id,
        title: doc.title,
        url: doc.url,
        source: doc.source,
        doc_id: doc.doc_id,
        scope: doc.scope,
        tags: doc.tags,
        trust: doc.trust,
        updated_at: doc.updated_at,
    };
    Document { summary, content: doc.content }
}
