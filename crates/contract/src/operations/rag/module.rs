//! The modules of the pipeline, by the names of `appliedModules`.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

macro_rules! modules {
    ($($(#[doc = $doc:literal])+ $module:ident = $name:literal,)+) => {
        /// A module of the pipeline that configuration, profile and request can switch.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        pub enum RagModule {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $module,)+
        }

        impl RagModule {
            /// All modules, in the order in which they run.
            pub const ALL: &[Self] = &[$(Self::$module),+];

            /// Returns the name in requests, configuration and `appliedModules`.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$module => $name,)+ }
            }
        }
    };
}

modules! {
    /// Shortens the history to its newest messages within 1,600 tokens. With a chat model, the
    /// query is completed from them.
    HistoryCompression = "query.compression",
    /// A chat model rewrites the query for a search of code.
    Rewrite = "query.rewrite",
    /// A chat model translates the query.
    Translation = "query.translation",
    /// Searches for parts and variants of the query, too.
    MultiQuery = "retrieval.multi-query",
    /// Searches the documents of the repository, too.
    Documents = "retrieval.documents",
    /// Shows weak matches if there are no better ones.
    LowThreshold = "fallback.low-threshold",
    /// Shows the overview of the repository if nothing matches.
    OverviewSeed = "fallback.overview-seed",
    /// Ranks by score, size, path and symbol.
    HeuristicRerank = "post.heuristic-rerank",
    /// Ranks by a cross-encoder, if the operator has configured one.
    CrossEncoder = "post.cross-encoder",
    /// A chat model ranks the best matches.
    ModelRerank = "post.model-rerank",
    /// Adds the code around the best matches.
    NeighborExpand = "post.neighbor-expand",
    /// Keeps the context within its limit of tokens.
    ContextBudget = "post.context-budget",
    /// A chat model selects the lines of the snippets that matter.
    SnippetCompression = "post.snippet-compression",
    /// A chat model summarizes the context.
    Summary = "generation.summary",
    /// A chat model answers the question, using only the context.
    RawAnswer = "generation.raw-answer",
}

// The derived schema has the names of the variants.
impl PartialSchema for RagModule {
    fn schema() -> RefOr<Schema> {
        let names = Self::ALL.iter().map(|module| module.as_str());
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names)).into()
    }
}

impl ToSchema for RagModule {}

impl fmt::Display for RagModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn names_are_those_of_the_wire() {
        for module in RagModule::ALL {
            let name = serde_json::to_value(module).unwrap();
            assert_eq!(name, module.as_str());
        }
    }
}
