//! `repo_rag_search` and its short and global forms: questions to indexed repositories.
//!
//! The structured content has `augmentedPrompt`, although the text shows the same matches: seed 002
//! guarantees the field, and programs hand it to a model as it is. `limit_tokens` restricts the
//! text alone; `maxContextTokens` restricts both.

use http::Method;
use mc_contract::operations::rag::{RagSearchGlobalRequest, RagSearchRequest, RagSearchResponse};
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::Value;

use super::own::{Nothing, OfResults};
use super::responses::{budget_or, tool_response};
use super::spec::{Argument, Definition, Effect, Handles, Route, Spec};
use crate::core::CoreError;
use crate::render;
use crate::settings::Toolset;

const QUERY: Argument = Argument::new("rawQuery", "The question, in any words").required();
/// Options that the search of one repository and that of all have.
const OPTIONS: [Argument; 17] = [
    QUERY,
    Argument::new("profile", "default, fast, deep, seed-ru or a configured one"),
    Argument::new("history", "The conversation, oldest message first"),
    Argument::new("filters", ""),
    Argument::new("defaultTranslateTo", "Language, such as ru"),
    Argument::new("multiQuery", ""),
    Argument::new("topK", "1 to 40"),
    Argument::new("topKPerQuery", "1 to 100"),
    Argument::new("maxContextTokens", "Up to 4000"),
    Argument::new("useCompression", ""),
    Argument::new("allowEmptyContext", ""),
    Argument::new("responseChannel", ""),
    Argument::new("neighborStrategy", ""),
    Argument::new("neighborRadius", "1 to 3"),
    Argument::new("enabledModules", ""),
    Argument::new("disabledModules", ""),
    Argument::own("limit_tokens", "Default 8000"),
];
/// Default token limit of the text: a context of 4,000 tokens, with a mark before each line.
const BUDGET: usize = 8_000;
/// Fields of the structured content that every response has.
const OUTPUT: &[&str] = &[
    "matches",
    "augmentedPrompt",
    "instructions",
    "contextMissing",
    "noResults",
    "mixed",
    "noResultsReason",
    "appliedModules",
    "warnings",
    "summary",
    "rawAnswer",
];

/// Arguments of the search of one repository.
const OF_ONE: [Argument; 19] = with_options([
    Argument::new("repoOwner", ""),
    Argument::new("repoName", "By default the repository fetched last, else the one indexed last"),
]);
/// Arguments of the search of all repositories.
const OF_ALL: [Argument; 19] = with_options([
    Argument::new("displayRepoOwner", "Label of the response"),
    Argument::new("displayRepoName", "Label of the response"),
]);

/// Returns the options with two more arguments after the question.
const fn with_options(own: [Argument; 2]) -> [Argument; 19] {
    let mut all = [QUERY; 19];
    all[1] = own[0];
    all[2] = own[1];
    let mut index = 1;
    while index < OPTIONS.len() {
        all[index + 2] = OPTIONS[index];
        index += 1;
    }
    all
}

/// Repositories that a tool searches.
#[derive(Clone, Copy)]
enum Searched {
    One,
    All,
}

/// Returns the definition of a tool that asks one repository, or all.
const fn spec(
    [name, title, description]: [&'static str; 3],
    searched: Searched,
    arguments: &'static [Argument],
) -> Spec {
    let path = match searched {
        Searched::One => "/rag/search",
        Searched::All => "/rag/search/global",
    };
    Spec {
        name,
        title,
        description,
        toolsets: &[Toolset::Rag],
        effect: Effect::Reads,
        route: Route::Call(Method::POST, path),
        names_project: matches!(searched, Searched::One),
        handles: Handles::Ids,
        arguments,
        fixed: None,
        output: OUTPUT,
    }
}

fn rendered(arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
    let budget = budget_or(BUDGET, arguments);
    tool_response(response, |response| render::matches(response, budget))
}

/// The tool `repo_rag_search`.
pub struct RagSearch;

impl Definition for RagSearch {
    const SPEC: Spec = spec(
        [
            "repo_rag_search",
            "Search a repository",
            "Search an indexed repository: passages of code and docs within a token budget, with \
             neighbors and a prompt.",
        ],
        Searched::One,
        &OF_ONE,
    );
    type Request = RagSearchRequest;
    type Own = OfResults;
    type Response = RagSearchResponse;

    fn result(arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        rendered(arguments, response)
    }
}

/// The tool `repo_rag_search_simple`.
pub struct RagSearchSimple;

impl Definition for RagSearchSimple {
    const SPEC: Spec = spec(
        [
            "repo_rag_search_simple",
            "Search the last repository",
            "Search the repository that was fetched last, with the default options.",
        ],
        Searched::One,
        &[QUERY],
    );
    type Request = RagSearchRequest;
    type Own = Nothing;
    type Response = RagSearchResponse;

    fn result(arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        rendered(arguments, response)
    }
}

/// The tool `repo_rag_search_global`.
pub struct RagSearchGlobal;

impl Definition for RagSearchGlobal {
    const SPEC: Spec = spec(
        [
            "repo_rag_search_global",
            "Search all repositories",
            "Search all indexed repositories of your projects.",
        ],
        Searched::All,
        &OF_ALL,
    );
    type Request = RagSearchGlobalRequest;
    type Own = OfResults;
    type Response = RagSearchResponse;

    fn result(arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        rendered(arguments, response)
    }
}

/// The tool `repo_rag_search_simple_global`.
pub struct RagSearchSimpleGlobal;

impl Definition for RagSearchSimpleGlobal {
    const SPEC: Spec = spec(
        [
            "repo_rag_search_simple_global",
            "Search all repositories, with default options",
            "Search all indexed repositories of your projects, with the default options.",
        ],
        Searched::All,
        &[QUERY],
    );
    type Request = RagSearchGlobalRequest;
    type Own = Nothing;
    type Response = RagSearchResponse;

    fn result(arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        rendered(arguments, response)
    }
}
