//! `/documents`: ADRs, wiki pages and guides in full.

use chrono::{DateTime, Utc};
use mc_domain::{DocId, Trust};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::number::PageLimit;
use crate::text::{SourceReference, Title};
use crate::{ProjectKey, Request, ValidationError};

/// Which document: exactly one of `id`, `title` and `url`.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DocumentQuery {
    /// The project's key.
    #[param(inline)]
    pub project_key: ProjectKey,
    /// The document's id here.
    #[param(inline)]
    pub id: Option<DocId>,
    /// Its title, in any case, or its id at its source (the path of a repository's file).
    #[param(inline)]
    pub title: Option<Title>,
    /// Its URL, or its id at its source (the path of a repository's file).
    #[param(inline)]
    pub url: Option<SourceReference>,
}

impl Request for DocumentQuery {
    fn check(&self) -> Result<(), ValidationError> {
        let names = [self.id.is_some(), self.title.is_some(), self.url.is_some()];
        match names.into_iter().filter(|is_given| *is_given).count() {
            1 => Ok(()),
            _ => Err(ValidationError::new("title", "name exactly one of id, title and url")),
        }
    }
}

query! {
    /// Which project's documents to list.
    DocumentsQuery {
        /// The project's key.
        project_key: ProjectKey,
        /// Only documents after this one: the `next_cursor` of the previous page.
        cursor: Option<DocId>,
        /// 1 to 200; 50 when absent.
        limit: Option<PageLimit>,
    }
}

/// A document without its text.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000007", "title": "ADR Timing Rules",
    "url": "https://wiki.example.org/x/12345", "source": "confluence", "doc_id": "12345",
    "scope": [], "tags": ["adr"], "trust": "imported", "updated_at": "2026-11-20T10:00:00Z"
}))]
pub struct DocumentSummary {
    /// The document's id here.
    pub id: DocId,
    /// One line that names it.
    pub title: String,
    /// Its address; may be empty.
    pub url: String,
    /// Its source (`confluence`, `repo:owner/name`).
    pub source: String,
    /// Its id at the source.
    pub doc_id: String,
    /// Parts of the system that it is about.
    pub scope: Vec<String>,
    /// Free labels.
    pub tags: Vec<String>,
    /// How far it is trusted: `untrusted` if it holds signals of prompt injection.
    pub trust: Trust,
    /// When it last changed here.
    pub updated_at: DateTime<Utc>,
}

/// A document.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000007", "title": "ADR Timing Rules",
    "url": "https://wiki.example.org/x/12345", "source": "confluence", "doc_id": "12345",
    "scope": [], "tags": ["adr"], "trust": "imported", "updated_at": "2026-11-20T10:00:00Z",
    "content": "# Decision\n\nDelays are stored with their unit."
}))]
pub struct Document {
    /// All but its text.
    #[serde(flatten)]
    pub summary: DocumentSummary,
    /// Its text.
    pub content: String,
}
