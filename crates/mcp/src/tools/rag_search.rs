//! `repo_rag_search` and its short and global forms: questions to indexed repositories.

use http::Method;
use mc_contract::operations::rag::{RagSearchGlobalRequest, RagSearchRequest, RagSearchResponse};
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::Value;

use super::own::Nothing;
use super::responses::{complete, object};
use super::spec::{Argument, Definition, Effect, Handles, Route, Spec};
use crate::core::CoreError;
use crate::render;
use crate::settings::Toolset;

const QUERY: Argument = Argument::new("rawQuery", "The question, in any words").required();
/// Options that the search of one repository and that of all have.
const OPTIONS: [Argument; 16] = [
    QUERY,
    Argument::new("profile", "default, fast, deep, seed-ru or a configured one"),
    Argument::new("history", "The conversation, oldest message first"),
    Argument::new("filters", ""),
    Argument::new("defaultTranslateTo", "Language, such as ru"),
    Argument::new("multiQuery", ""),
    Argument::new("topK", "1 to 40"),
    Argument::new("topKPerQuery", "1 to 40"),
    Argument::new("maxContextTokens", "Up to 4000"),
    Argument::new("useCompression", ""),
    Argument::new("allowEmptyContext", ""),
    Argument::new("responseChannel", ""),
    Argument::new("neighborStrategy", ""),
    Argument::new("neighborRadius", "1 to 3"),
    Argument::new("enabledModules", ""),
    Argument::new("disabledModules", ""),
];
/// Fields of the structured content that every response has.
const OUTPUT: &[&str] = &[
    "matches",
    "augmentedPrompt",
    "instructions",
    "contextMissing",
    "noResults",
    "noResultsReason",
    "appliedModules",
    "warnings",
    "summary",
    "rawAnswer",
];

/// Arguments of the search of one repository.
const OF_ONE: [Argument; 18] = with_options([
    Argument::new("repoOwner", ""),
    Argument::new("repoName", "By default the repository that was indexed last"),
]);
/// Arguments of the search of all repositories.
const OF_ALL: [Argument; 18] = with_options([
    Argument::new("displayRepoOwner", "Label of the response"),
    Argument::new("displayRepoName", "Label of the response"),
]);

/// Returns the options with two more arguments after the question.
const fn with_options(own: [Argument; 2]) -> [Argument; 18] {
    let mut all = [QUERY; 18];
    all[1] = own[0];
    all[2] = own[1];
    let mut index = 1;
    while index < OPTIONS.len() {
        all[index + 2] = OPTIONS[index];
        index += 1;
    }
    all
}

/// Returns the definition of a tool that asks one repository, or all.
const fn spec(
    [name, title, description]: [&'static str; 3],
    path: &'static str,
    arguments: &'static [Argument],
) -> Spec {
    Spec {
        name,
        title,
        description,
        toolsets: &[Toolset::Rag],
        effect: Effect::Reads,
        route: Route::Call(Method::POST, path),
        names_project: path.len() == ONE.len(),
        handles: Handles::Ids,
        arguments,
        fixed: None,
        output: OUTPUT,
    }
}

/// Operation that asks one repository.
const ONE: &str = "/rag/search";
/// Operation that asks all repositories.
const ALL: &str = "/rag/search/global";

fn rendered(response: Value) -> Result<CallToolResult, CoreError> {
    let response = object(response)?;
    let text = render::matches(&response);
    Ok(complete(vec![text], response))
}

/// The tool `repo_rag_search`.
pub struct RagSearch;

impl Definition for RagSearch {
    const SPEC: Spec = spec(
        [
            "repo_rag_search",
            "Ask a repository",
            "Ask an indexed repository a question: passages of code and docs within a token \
             budget, with neighbors and a prompt.",
        ],
        ONE,
        &OF_ONE,
    );
    type Request = RagSearchRequest;
    type Own = Nothing;
    type Response = RagSearchResponse;

    fn result(_arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        rendered(response)
    }
}

/// The tool `repo_rag_search_simple`.
pub struct RagSearchSimple;

impl Definition for RagSearchSimple {
    const SPEC: Spec = spec(
        [
            "repo_rag_search_simple",
            "Ask the last repository",
            "Ask the repository that was indexed last a question, with the default options.",
        ],
        ONE,
        &[QUERY],
    );
    type Request = RagSearchRequest;
    type Own = Nothing;
    type Response = RagSearchResponse;

    fn result(_arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        rendered(response)
    }
}

/// The tool `repo_rag_search_global`.
pub struct RagSearchGlobal;

impl Definition for RagSearchGlobal {
    const SPEC: Spec = spec(
        [
            "repo_rag_search_global",
            "Ask all repositories",
            "Ask all indexed repositories of your projects a question.",
        ],
        ALL,
        &OF_ALL,
    );
    type Request = RagSearchGlobalRequest;
    type Own = Nothing;
    type Response = RagSearchResponse;

    fn result(_arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        rendered(response)
    }
}

/// The tool `repo_rag_search_simple_global`.
pub struct RagSearchSimpleGlobal;

impl Definition for RagSearchSimpleGlobal {
    const SPEC: Spec = spec(
        [
            "repo_rag_search_simple_global",
            "Ask all repositories, simply",
            "Ask all indexed repositories of your projects a question, with the default options.",
        ],
        ALL,
        &[QUERY],
    );
    type Request = RagSearchGlobalRequest;
    type Own = Nothing;
    type Response = RagSearchResponse;

    fn result(_arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        rendered(response)
    }
}
