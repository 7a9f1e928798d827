//! From a tool's checked arguments to the Core call they stand for.

use mc_domain::ProjectKey;
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::{FieldError, Tool};
use crate::core::{CoreCall, CoreError};

/// The Core's name for a tracker's issue, and that of the tool which takes nothing else.
const TASK: &str = "task_external_id";
const ISSUE: &str = "issue_id";

/// The Core call for `arguments`, which [`Tool::check`] has accepted. `default_project` stands in
/// for a `project_key` that was not given.
pub fn core_call(
    tool: Tool,
    mut arguments: JsonObject,
    default_project: Option<&ProjectKey>,
) -> Result<CoreCall, FieldError> {
    if tool == Tool::Feedback {
        return Ok(CoreCall::post("/feedback", Value::Object(arguments)));
    }
    let project = project(&arguments, default_project)?;
    if tool == Tool::OpenDoc {
        return open_doc(&arguments, project);
    }
    arguments.insert("project_key".into(), json!(project));
    let path = match tool {
        Tool::Recall => "/recall",
        Tool::Save => "/save",
        Tool::Search | Tool::SearchCode => "/search",
        _ => "/tasks/link",
    };
    if tool == Tool::SearchCode {
        arguments.insert("sources".into(), json!(["code"]));
    }
    if let Some(issue) = arguments.remove(ISSUE) {
        arguments.insert(TASK.into(), issue);
    }
    Ok(CoreCall::post(path, Value::Object(arguments)))
}

/// The Core's refusal of a call of `tool`, with the field as the tool has it.
pub fn in_words_of(tool: Tool, error: CoreError) -> CoreError {
    match error {
        CoreError::Refused { status, mut problem } if tool == Tool::LinkIssue => {
            problem.field = problem.field.map(|field| field.replace(TASK, ISSUE));
            CoreError::Refused { status, problem }
        }
        error => error,
    }
}

fn project(
    arguments: &JsonObject,
    default_project: Option<&ProjectKey>,
) -> Result<String, FieldError> {
    match arguments.get("project_key").and_then(Value::as_str) {
        Some(key) => ProjectKey::parse(key)
            .map(|key| key.to_string())
            .map_err(|error| FieldError::new("project_key", error.to_string())),
        None => default_project.map(ToString::to_string).ok_or_else(|| {
            FieldError::new(
                "project_key",
                "is required, since this server has no default project. Give it, or ask the user \
                 to set one: `memory-copilot mcp --project KEY`",
            )
        }),
    }
}

fn open_doc(arguments: &JsonObject, project: String) -> Result<CoreCall, FieldError> {
    let given: Vec<(&'static str, String)> = ["id", "url", "title"]
        .into_iter()
        .filter_map(|name| Some((name, arguments.get(name)?.as_str()?.to_owned())))
        .collect();
    let [selector] = <[_; 1]>::try_from(given).map_err(|given| {
        let field = given.get(1).map_or("title", |(name, _)| name);
        FieldError::new(field, "give exactly one of id, url, title")
    })?;
    Ok(CoreCall::get("/documents/open", vec![("project_key", project), selector]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(tool: Tool, arguments: Value) -> Result<CoreCall, FieldError> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let shop = ProjectKey::parse("shop").ok();
        core_call(tool, arguments, shop.as_ref())
    }

    #[test]
    fn the_default_project_stands_in_and_the_argument_wins() {
        let default = call(Tool::Recall, json!({"query": "x"})).expect("a call");
        assert_eq!(default.body, Some(json!({"query": "x", "project_key": "shop"})));
        let given = call(Tool::Recall, json!({"project_key": "Bank"})).expect("a call");
        assert_eq!(given.body, Some(json!({"project_key": "bank"})));
    }

    #[test]
    fn without_any_project_the_error_says_how_to_set_one() {
        let error = core_call(Tool::Recall, JsonObject::new(), None).expect_err("no project");
        assert_eq!(error.field, "project_key");
        assert!(error.rule.contains("--project"), "{error}");
    }

    #[test]
    fn code_search_is_a_search_of_code() {
        let call = call(Tool::SearchCode, json!({"query": "Cart#total"})).expect("a call");
        assert_eq!(call.path, "/search");
        assert_eq!(
            call.body,
            Some(json!({"query": "Cart#total", "project_key": "shop", "sources": ["code"]}))
        );
    }

    #[test]
    fn an_issue_is_linked_under_the_cores_name_for_it() {
        let call = call(Tool::LinkIssue, json!({"issue_id": "CS-214"})).expect("a call");
        assert_eq!(call.path, "/tasks/link");
        assert_eq!(call.body, Some(json!({"task_external_id": "CS-214", "project_key": "shop"})));
    }

    #[test]
    fn a_document_is_opened_by_exactly_one_selector() {
        let opened = call(Tool::OpenDoc, json!({"title": "Timing"})).expect("a call");
        assert_eq!(
            opened.query,
            vec![("project_key", "shop".to_owned()), ("title", "Timing".to_owned())]
        );
        assert!(call(Tool::OpenDoc, json!({})).is_err());
        assert!(call(Tool::OpenDoc, json!({"title": "a", "url": "b"})).is_err());
    }

    #[test]
    fn a_bundle_knows_its_project() {
        let call = call(Tool::Feedback, json!({"bundle_id": "b", "used": []})).expect("a call");
        assert_eq!(call.body, Some(json!({"bundle_id": "b", "used": []})));
    }
}
