//! `POST /search`: hybrid search over memory, documents, code and dialogs.

use chrono::{DateTime, Utc};
use mc_domain::{
    DocId, PassageId, RankingStep, RecordId, RecordKind, RecordState, SourceKind, Trust,
};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use crate::list::{ShortTexts, limited};
use crate::number::{SearchLimit, TimeBudget};
use crate::text::{Glob, IssueId, Language, QueryText};
use crate::{ProjectKey, Request, ValidationError};

/// A search and its filters. `query` or `task_external_id` is required.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "project_key": "shop",
    "query": "CartSessions::Setting#trigger_delay_time_in_minutes",
    "sources": ["code"],
    "path": "app/**/*.rb",
    "limit": 5
}))]
pub struct SearchRequest {
    /// Key of the project.
    pub project_key: ProjectKey,
    /// Words and names. Results that are linked to issues whose ids it holds (`#12`,
    /// `owner/name#12`, `SHOP-12`) come first.
    pub query: Option<QueryText>,
    /// The tracker's id of the issue at hand. Results that are linked to it come first.
    pub task_external_id: Option<IssueId>,
    /// Any but `change` when empty. Changes are commits of indexed repositories and are searched
    /// alone. A search over `code` alone ranks files higher that similar changes touched.
    #[serde(default, deserialize_with = "limited::<64, _, _>")]
    #[schema(max_items = 64)]
    pub sources: Vec<SourceKind>,
    /// Kinds of record; any when empty.
    #[serde(default, deserialize_with = "limited::<64, _, _>")]
    #[schema(max_items = 64)]
    pub kinds: Vec<RecordKind>,
    /// At least one of them must match; any when empty.
    #[serde(default)]
    pub scope: ShortTexts,
    /// At least one of them must match; any when empty.
    #[serde(default)]
    pub tags: ShortTexts,
    /// A glob that the location must match, such as `app/**/*.rb`.
    pub path: Option<Glob>,
    /// A language, such as `ruby`; an alias (`golang`, `c++`) or an extension (`.rs`, `ts`) is
    /// accepted.
    pub language: Option<Language>,
    /// 1 to 100; 10 when absent.
    pub limit: Option<SearchLimit>,
    /// Return how each score was computed.
    #[serde(default)]
    pub explain: bool,
    /// Milliseconds after which a late retriever is left out; 2,000 when absent.
    pub time_budget_ms: Option<TimeBudget>,
    /// Steps of the ranking to leave out, to measure what they contribute.
    #[serde(default)]
    pub disabled_steps: Vec<RankingStep>,
}

impl Request for SearchRequest {
    fn check(&self) -> Result<(), ValidationError> {
        if self.query.is_none() && self.task_external_id.is_none() {
            let rule = "say what to search for: query or task_external_id";
            return Err(ValidationError::new("query", rule));
        }
        // Commits are ranked among themselves.
        let has_others = self.sources.iter().any(|source| *source != SourceKind::Change);
        if has_others && self.sources.contains(&SourceKind::Change) {
            let rule = "\"change\" can't be combined with other sources; search for changes in a \
                        request of their own";
            return Err(ValidationError::new("sources", rule));
        }
        Ok(())
    }
}

/// The results of a search.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "results": [{
        "id": "019a0000-0000-7000-8000-000000000005", "source": "memory", "kind": "gotcha",
        "title": "Units must match", "location": "", "symbols": [],
        "text": "The delay is nil when delay_unit and trigger_delay_unit differ.",
        "score": 0.81, "trust": "team", "state": "active",
        "record_id": "019a0000-0000-7000-8000-000000000002",
        "updated_at": "2026-11-20T10:00:00Z"
    }],
    "degraded": [],
    "pending_vectors": 0
}))]
pub struct SearchResponse {
    /// Best first.
    pub results: Vec<SearchResult>,
    /// Retrievers that were late or failed and were left out.
    pub degraded: Vec<String>,
    /// Number of the project's passages that have no vector yet. Keyword search finds them.
    pub pending_vectors: i64,
}

/// One passage.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct SearchResult {
    /// Id of the passage.
    pub id: PassageId,
    /// Kind of the source of the passage.
    pub source: SourceKind,
    /// Kind of the record; absent for other sources.
    pub kind: Option<RecordKind>,
    /// One line that names it.
    pub title: String,
    /// File path or URL; the commit of a change.
    pub location: String,
    /// The address of a document.
    pub url: Option<String>,
    /// Its first line, from 1.
    pub line_start: Option<i32>,
    /// Its last line, inclusive.
    pub line_end: Option<i32>,
    /// The enclosing definition.
    pub symbol: Option<String>,
    /// The definitions in it.
    pub symbols: Vec<String>,
    /// The one of them that the query names.
    pub matched_symbol: Option<SymbolMatch>,
    /// Language of the code or text, such as `ruby`.
    pub language: Option<String>,
    /// Text, with secrets and personal data masked.
    pub text: String,
    /// Rank score from 0 to 1, comparable within one response.
    pub score: f64,
    /// Whether it is linked to an issue that the request names. Such results come first.
    #[serde(default, rename = "linked", skip_serializing_if = "std::ops::Not::not")]
    pub is_linked: bool,
    /// Whether it is the caller's own proposal, which no other search finds until it is accepted.
    #[serde(default, rename = "proposed", skip_serializing_if = "std::ops::Not::not")]
    pub is_proposed: bool,
    /// How far it is trusted.
    pub trust: Trust,
    /// State of the record; absent for other sources.
    pub state: Option<RecordState>,
    /// Id of the record; absent for other sources.
    pub record_id: Option<RecordId>,
    /// The document.
    pub doc_id: Option<DocId>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
    /// How the score was computed.
    pub explain: Option<Explanation>,
}

/// The definition in a result that the query names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SymbolMatch {
    /// Its qualified name.
    pub symbol: String,
    /// Its first line.
    pub line_start: i32,
    /// Its last line, which may lie beyond the passage.
    pub line_end: i32,
}

/// How a score was computed: `fused_score` times every factor is `adjusted_score`, and the score is
/// `adjusted_score / (1 + adjusted_score)`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Explanation {
    /// The rank and score of each retriever.
    pub retrievers: Vec<RetrieverScore>,
    /// Sum of the retrievers' contributions.
    pub fused_score: f64,
    /// Steps of the rerank that changed the score.
    pub adjustments: Vec<Adjustment>,
    /// The score after these steps.
    pub adjusted_score: f64,
}

/// The rank that a retriever gave to a result.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RetrieverScore {
    /// `exact`, `keyword`, `vector` or `history`.
    pub retriever: String,
    /// Position in the results of the retriever, from 1.
    pub rank: usize,
    /// The retriever's own score: weight of names, BM25, cosine similarity, or how much similar
    /// past changes touched the file (1 for the file that they touched most).
    pub score: f64,
    /// Its contribution to `fused_score`.
    pub contribution: f64,
}

/// A step of the rerank that changed a score.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Adjustment {
    /// The step.
    pub name: String,
    /// The score was multiplied by it.
    pub factor: f64,
}
