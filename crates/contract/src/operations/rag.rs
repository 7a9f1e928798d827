//! `POST /rag/search` and `POST /rag/search/global`: the query pipeline over indexed repositories.
//!
//! The names are those of seed 002 (`repo.rag_search`). A number that is out of range is corrected,
//! and the response's `warnings` name the correction, so every number is accepted here.

mod lenient;
mod module;
mod request;
mod response;

pub use lenient::LenientNumber;
pub use module::RagModule;
pub use request::{
    HistoryMessage, MultiQuery, NeighborStrategy, RagFilters, RagOptions, RagSearchGlobalRequest,
    RagSearchRequest, ResponseChannel,
};
pub use response::{MatchKind, ModuleTiming, RagMatch, RagMatchMetadata, RagSearchResponse};

/// Most matches of a search (`topK`).
pub const TOP_K_MAX: i64 = 40;
/// Most passages that one sub-query contributes (`topKPerQuery`).
pub const TOP_K_PER_QUERY_MAX: i64 = 100;
/// Most sub-queries of a search, the original query included (`multiQuery.maxQueries`).
pub const QUERIES_MAX: i64 = 6;
/// Maximum number of tokens of the context (`maxContextTokens`); the configuration may lower it.
pub const CONTEXT_TOKENS_MAX: i64 = 4_000;
/// Least tokens of the context.
pub const CONTEXT_TOKENS_MIN: i64 = 128;
/// Most chunks before and after a match that are added to it (`neighborRadius`).
pub const NEIGHBOR_RADIUS_MAX: i64 = 3;
/// Tokens of the history that are used: its newest messages.
pub const HISTORY_TOKENS: usize = 1_600;
/// Messages of a history in one request.
pub const HISTORY_MESSAGES: usize = 100;
