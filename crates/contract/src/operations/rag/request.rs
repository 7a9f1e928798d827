//! The requests of the four searches.

use mc_domain::MessageRole;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::{HISTORY_MESSAGES, LenientNumber, RagModule};
use crate::list::{ShortTexts, limited};
use crate::text::{Glob, Language, MessageText, QueryText, RepositoryPart, ShortText};
use crate::{ProjectKey, Request};

/// Defines a search with all parameters: its own fields, and those that all such searches have.
macro_rules! full_search {
    ($(#[doc = $doc:literal])+ #[schema($($schema:tt)+)] $name:ident { $($own:tt)* }) => {
        $(#[doc = $doc])+
        #[skip_serializing_none]
        #[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
        #[serde(deny_unknown_fields, rename_all = "camelCase")]
        #[schema($($schema)+)]
        pub struct $name {
            $($own)*
            /// The question, in any words.
            pub raw_query: QueryText,
            /// Named set of switches and values: `default`, `fast`, `deep`, `seed-ru`, or one of
            /// the configuration. An unknown one is replaced by the default, with a warning.
            pub profile: Option<ShortText>,
            /// The conversation so far, oldest message first: at most 100 messages. The newest
            /// ones within 1,600 tokens are used.
            #[serde(default, deserialize_with = "limited::<HISTORY_MESSAGES, _, _>")]
            #[schema(max_items = 100)]
            pub history: Vec<HistoryMessage>,
            /// Restricts the matches.
            #[serde(default)]
            pub filters: RagFilters,
            /// Language to translate the query to, such as `ru`, in addition to the original.
            /// Needs a chat model. By default that of the profile or the configuration.
            pub default_translate_to: Option<ShortText>,
            /// Sub-queries.
            #[serde(default)]
            pub multi_query: MultiQuery,
            /// Maximum number of matches: 1 to 40.
            pub top_k: Option<LenientNumber>,
            /// Maximum number of passages that one sub-query contributes: 1 to 100.
            pub top_k_per_query: Option<LenientNumber>,
            /// Maximum number of tokens of the context: 128 to 4,000, or less by the configuration.
            pub max_context_tokens: Option<LenientNumber>,
            /// Whether a chat model shortens the snippets to the lines that matter.
            pub use_compression: Option<bool>,
            /// Whether `augmentedPrompt` asks for an answer without context if nothing was found.
            pub allow_empty_context: Option<bool>,
            /// Texts that a chat model writes. By default those of the profile.
            pub response_channel: Option<ResponseChannel>,
            /// Code that is added to the best matches.
            pub neighbor_strategy: Option<NeighborStrategy>,
            /// Chunks before and after a match that `LINEAR` adds: 1 to 3.
            pub neighbor_radius: Option<LenientNumber>,
            /// Modules to use in any case.
            #[serde(default, deserialize_with = "limited::<32, _, _>")]
            #[schema(max_items = 32)]
            pub enabled_modules: Vec<RagModule>,
            /// Modules to leave out. They win over `enabledModules`.
            #[serde(default, deserialize_with = "limited::<32, _, _>")]
            #[schema(max_items = 32)]
            pub disabled_modules: Vec<RagModule>,
        }

        impl Request for $name {}

        impl<'a> From<&'a $name> for RagOptions<'a> {
            fn from(request: &'a $name) -> Self {
                Self {
                    raw_query: &request.raw_query,
                    profile: request.profile.as_ref(),
                    history: &request.history,
                    filters: &request.filters,
                    default_translate_to: request.default_translate_to.as_ref(),
                    multi_query: &request.multi_query,
                    top_k: request.top_k,
                    top_k_per_query: request.top_k_per_query,
                    max_context_tokens: request.max_context_tokens,
                    use_compression: request.use_compression,
                    allow_empty_context: request.allow_empty_context,
                    response_channel: request.response_channel,
                    neighbor_strategy: request.neighbor_strategy,
                    neighbor_radius: request.neighbor_radius,
                    enabled_modules: &request.enabled_modules,
                    disabled_modules: &request.disabled_modules,
                }
            }
        }
    };
}

/// The parameters that all searches have. Each is that of [`RagSearchRequest`] of the same name.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the fields of the request are documented")]
pub struct RagOptions<'a> {
    pub raw_query: &'a QueryText,
    pub profile: Option<&'a ShortText>,
    pub history: &'a [HistoryMessage],
    pub filters: &'a RagFilters,
    pub default_translate_to: Option<&'a ShortText>,
    pub multi_query: &'a MultiQuery,
    pub top_k: Option<LenientNumber>,
    pub top_k_per_query: Option<LenientNumber>,
    pub max_context_tokens: Option<LenientNumber>,
    pub use_compression: Option<bool>,
    pub allow_empty_context: Option<bool>,
    pub response_channel: Option<ResponseChannel>,
    pub neighbor_strategy: Option<NeighborStrategy>,
    pub neighbor_radius: Option<LenientNumber>,
    pub enabled_modules: &'a [RagModule],
    pub disabled_modules: &'a [RagModule],
}

full_search! {
    /// A search of one repository, with its options.
    #[schema(example = json!({
        "project_key": "shop",
        "repoOwner": "acme",
        "repoName": "shop",
        "rawQuery": "Where is the delay of the cart trigger computed?",
        "filters": {"pathGlob": "app/**/*.rb"},
        "topK": 8,
        "maxContextTokens": 2000
    }))]
    RagSearchRequest {
        /// Key of the project.
        #[serde(rename = "project_key")]
        pub project_key: ProjectKey,
        /// Owner of the repository. Without owner and name, the repository of the project that the
        /// caller fetched last is searched, or else the one that was indexed last.
        pub repo_owner: Option<RepositoryPart>,
        /// Name of the repository.
        pub repo_name: Option<RepositoryPart>,
    }
}

full_search! {
    /// A search of all indexed repositories of the caller's projects, with its options.
    #[schema(example = json!({
        "rawQuery": "Which service retries failed payments?",
        "displayRepoOwner": "acme",
        "displayRepoName": "all"
    }))]
    RagSearchGlobalRequest {
        /// Label of the response in place of an owner. By default that of the repository that was
        /// indexed last, else `global`.
        pub display_repo_owner: Option<ShortText>,
        /// Label of the response in place of a name.
        pub display_repo_name: Option<ShortText>,
    }
}

/// A message of the conversation.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HistoryMessage {
    /// Who speaks. Only `user` and `assistant` are used.
    pub role: MessageRole,
    /// Its text.
    pub content: MessageText,
}

/// Restrictions of the matches. An absent one allows all.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct RagFilters {
    /// A glob that the path must match, such as `app/**/*.rb`.
    pub path_glob: Option<Glob>,
    /// Languages, such as `ruby`; aliases (`golang`, `c++`) and extensions (`.rs`) are accepted.
    #[serde(deserialize_with = "limited::<32, _, _>")]
    #[schema(max_items = 32)]
    pub languages: Vec<Language>,
    /// Tags, of which a passage must have one: top directories of the code, `test`, `generated`,
    /// and tags of documents.
    pub tags: ShortTexts,
}

/// Sub-queries of a search.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct MultiQuery {
    /// Whether the query is split and varied.
    pub enabled: Option<bool>,
    /// Sub-queries to search for, the query itself included: 1 to 6.
    pub queries: Option<LenientNumber>,
    /// Maximum number of sub-queries: 1 to 6. The lower of both numbers counts.
    pub max_queries: Option<LenientNumber>,
}

/// Texts that a chat model writes about the matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ResponseChannel {
    /// `summary` and `rawAnswer`.
    Both,
    /// `summary` alone.
    Summary,
    /// `rawAnswer` alone.
    Raw,
    /// None: only the matches and the prompt.
    None,
}

/// Code that is added to a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum NeighborStrategy {
    /// Nothing.
    Off,
    /// The chunks before and after it in its file.
    Linear,
    /// The rest of the enclosing definition; of a match without one, as for `LINEAR`.
    ParentSymbol,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn request_has_the_names_of_the_seed() {
        let request: RagSearchRequest = from_value(json!({
            "project_key": "shop", "repoOwner": "acme", "repoName": "shop", "rawQuery": "delay",
            "profile": "deep", "history": [{"role": "user", "content": "hello"}],
            "filters": {"pathGlob": "app/**", "languages": ["rb"], "tags": ["test"]},
            "defaultTranslateTo": "ru", "multiQuery": {"queries": 9, "maxQueries": 3},
            "topK": 1000, "topKPerQuery": -1, "maxContextTokens": 99_999, "useCompression": false,
            "allowEmptyContext": true, "responseChannel": "both", "neighborStrategy": "LINEAR",
            "enabledModules": ["post.model-rerank"], "disabledModules": ["query.rewrite"],
        }))
        .unwrap();
        assert_eq!(request.top_k.map(LenientNumber::get), Some(1_000));
        assert_eq!(request.neighbor_strategy, Some(NeighborStrategy::Linear));
        assert_eq!(request.disabled_modules, [RagModule::Rewrite]);
    }

    #[test]
    fn unknown_field_is_rejected() {
        let request = json!({"project_key": "shop", "rawQuery": "x", "top_k": 1});
        assert!(from_value::<RagSearchRequest>(request).is_err());
    }

    #[test]
    fn list_of_modules_has_a_limit() {
        let is_valid = |field: &str, count: usize| {
            let modules = vec!["query.rewrite"; count];
            let request = json!({"project_key": "shop", "rawQuery": "x", field: modules});
            from_value::<RagSearchRequest>(request).is_ok()
        };
        for field in ["enabledModules", "disabledModules"] {
            assert_eq!((is_valid(field, 32), is_valid(field, 33)), (true, false), "{field}");
        }
    }

    #[test]
    fn question_alone_has_the_default_options() {
        let full: RagSearchRequest =
            from_value(json!({"project_key": "shop", "rawQuery": "delay"})).unwrap();
        let expected = json!({
            "project_key": "shop", "rawQuery": "delay", "history": [], "multiQuery": {},
            "filters": {"languages": [], "tags": []}, "enabledModules": [], "disabledModules": [],
        });
        assert_eq!(serde_json::to_value(&full).unwrap(), expected);
    }
}
