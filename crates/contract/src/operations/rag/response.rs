//! The response of the four searches.

use mc_domain::Trust;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

/// The matches of a search, and a prompt with them.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "repoOwner": "acme",
    "repoName": "shop",
    "matches": [{
        "path": "app/cart/trigger.rb",
        "snippet": "def delay\n  settings.delay_ms / 1000.0\nend",
        "score": 0.92,
        "metadata": {
            "repo_owner": "acme",
            "repo_name": "shop",
            "file_path": "app/cart/trigger.rb",
            "kind": "code",
            "chunk_index": 2,
            "line_start": 41,
            "line_end": 43,
            "chunk_hash": "9b1c6e2f3a4d5b6c7d8e9f00112233445566778899aabbccddeeff0011223344",
            "span_hash": "0a1b2c3d4e5f60718293a4b5c6d7e8f900112233445566778899aabbccddeeff",
            "overlap_lines": 0,
            "language": "ruby",
            "summary": "def delay",
            "parent_symbol": "Trigger#delay",
            "source_ref": "0f1e2d3c4b5a69788796a5b4c3d2e1f001122334",
            "trust": "imported",
            "generatedBySubQuery": ["Where is the delay of the cart trigger computed?"],
            "is_shortened": false,
            "in_context": true
        }
    }],
    "augmentedPrompt": "Question: Where is the delay of the cart trigger computed?",
    "instructions": "Answer from the passages, and name their paths and lines.",
    "contextMissing": false,
    "noResults": false,
    "mixed": false,
    "appliedModules": ["profile:default", "retrieval.multi-query", "post.context-budget"],
    "warnings": [],
    "contextTokens": 64,
    "timings": [{"module": "retrieval", "durationMs": 7.5}]
}))]
pub struct RagSearchResponse {
    /// Owner of the searched repository, or the label of a global search.
    pub repo_owner: String,
    /// Name of the searched repository, or the label of a global search.
    pub repo_name: String,
    /// Best first. Code around a match follows it, and matches without text come last.
    pub matches: Vec<RagMatch>,
    /// A prompt with the question and the matches, which are delimited as data. Empty if nothing
    /// was found and `allowEmptyContext` is false.
    pub augmented_prompt: String,
    /// What to do with the prompt and the matches.
    pub instructions: String,
    /// Whether the prompt has no context.
    pub context_missing: bool,
    /// Whether the search itself found nothing. A fallback may have added matches.
    pub no_results: bool,
    /// Whether the matches may be of several commits: an index run was open during the search, or
    /// one was interrupted. `source_ref` of each match is the commit at which its file was read.
    pub mixed: bool,
    /// Why it found nothing, and what to try.
    pub no_results_reason: Option<String>,
    /// What had an effect, in order: `profile:<name>`, then modules.
    pub applied_modules: Vec<String>,
    /// Corrected parameters, skipped modules and fallbacks.
    pub warnings: Vec<String>,
    /// Summary of the context by a chat model.
    pub summary: Option<String>,
    /// Answer of a chat model to the question.
    pub raw_answer: Option<String>,
    /// Tokens of the context in `augmentedPrompt`.
    pub context_tokens: usize,
    /// Duration of each step, in order.
    pub timings: Vec<ModuleTiming>,
}

/// A passage of code or of a document.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RagMatch {
    /// Path of the file within its repository.
    pub path: String,
    /// Text, with secrets and personal data masked. Empty if it does not fit into the context.
    pub snippet: String,
    /// Rank score from 0 to 1, comparable within one response.
    pub score: f64,
    /// Where it is from.
    pub metadata: RagMatchMetadata,
}

/// The origin of a match. Its names are those of seed 002.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RagMatchMetadata {
    /// Owner of the repository.
    pub repo_owner: String,
    /// Name of the repository.
    pub repo_name: String,
    /// Path of the file within the repository.
    pub file_path: String,
    /// Kind of the file.
    pub kind: MatchKind,
    /// Position of the chunk in the file, from 0; absent for documents.
    pub chunk_index: Option<i32>,
    /// First line of the snippet, from 1.
    pub line_start: i32,
    /// Last line of the snippet, inclusive.
    pub line_end: i32,
    /// sha256 of the normalized text of the chunk, in hex; absent for documents.
    pub chunk_hash: Option<String>,
    /// sha256 of path, lines and text of the chunk, in hex.
    pub span_hash: String,
    /// Lines at the top of the chunk that repeat the chunk before; absent for documents.
    pub overlap_lines: Option<i32>,
    /// Language of the code or text.
    pub language: String,
    /// Short description.
    pub summary: String,
    /// The enclosing definition.
    pub parent_symbol: Option<String>,
    /// Commit at which the file was read. A file that later commits did not change keeps it.
    pub source_ref: String,
    /// How far the text is trusted. An untrusted one may address the model that reads it.
    pub trust: Trust,
    /// The sub-queries that found it.
    #[serde(rename = "generatedBySubQuery")]
    pub generated_by_sub_query: Vec<String>,
    /// `span_hash` of the match that it was added to.
    #[serde(rename = "neighborOfSpanHash")]
    pub neighbor_of_span_hash: Option<String>,
    /// Whether lines were left out to fit the context, or by a chat model.
    pub is_shortened: bool,
    /// Whether the text is in `augmentedPrompt`. A match beyond `maxContextTokens` is a place to
    /// read: its `snippet` is empty.
    pub in_context: bool,
}

/// Kind of a file.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum MatchKind {
    /// A file of code.
    Code,
    /// A document.
    Doc,
}

/// Duration of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModuleTiming {
    /// A module, or `retrieval` for the searches.
    pub module: String,
    /// Milliseconds.
    pub duration_ms: f64,
}
