//! From a tool's checked arguments to the Core call they stand for.

use http::Method;
use mc_domain::{ProjectKey, RecordId};
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::{FieldError, Tool};
use crate::core::{CoreCall, CoreError};

/// The Core's name for a tracker's issue, and that of the tool which takes nothing else.
const TASK: &str = "task_external_id";
const ISSUE: &str = "issue_id";

/// The Core call for `arguments`, which [`Tool::check`] has accepted, and in which every handle and the project
/// are what they stand for. What `open_doc` reads is found by more than one call.
pub fn core_call(tool: Tool, mut arguments: JsonObject) -> Result<CoreCall, FieldError> {
    let path = match tool {
        Tool::Recall => "/recall",
        Tool::Save => "/save",
        Tool::Search | Tool::SearchCode => "/search",
        Tool::Feedback => "/feedback",
        Tool::LinkIssue => "/tasks/link",
        Tool::Forget | Tool::OpenDoc => return forget(&arguments),
    };
    // What only this server, or only a handle, needs.
    let dropped: &[&str] = match tool {
        Tool::Search | Tool::SearchCode => &["limit_tokens"],
        Tool::Feedback => &["project_key"],
        _ => &["bundle_id"],
    };
    for name in dropped {
        arguments.remove(*name);
    }
    if tool == Tool::SearchCode {
        arguments.insert("sources".into(), json!(["code"]));
    }
    if let Some(issue) = arguments.remove(ISSUE) {
        arguments.insert(TASK.into(), issue);
    }
    Ok(CoreCall::post(path, Value::Object(arguments)))
}

fn forget(arguments: &JsonObject) -> Result<CoreCall, FieldError> {
    let id = arguments.get("id").and_then(Value::as_str).unwrap_or_default();
    let id: RecordId =
        id.parse().map_err(|_| FieldError::new("id", "must be the handle or id of a record"))?;
    let path = format!("/records/{id}");
    Ok(CoreCall { method: Method::DELETE, ..CoreCall::get(path, Vec::new()) })
}

/// The Core's refusal of a call of `tool`, with the field as the tool has it.
pub fn explain_error(tool: Tool, error: CoreError) -> CoreError {
    match error {
        CoreError::Refused { status, mut problem } if tool == Tool::LinkIssue => {
            problem.field = problem.field.map(|field| field.replace(TASK, ISSUE));
            CoreError::Refused { status, problem }
        }
        error => error,
    }
}

/// The key of the project that `arguments` are about; `default_project` stands in where they name none.
pub fn project_of(
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

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

    fn object(arguments: Value) -> JsonObject {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        arguments
    }

    fn call(tool: Tool, arguments: Value) -> CoreCall {
        core_call(tool, object(arguments)).expect("a call")
    }

    #[test]
    fn the_default_project_stands_in_and_the_argument_wins() {
        let shop = ProjectKey::parse("shop").ok();
        let of = |arguments: Value| project_of(&object(arguments), shop.as_ref());
        assert_eq!(of(json!({"query": "x"})).as_deref(), Ok("shop"));
        assert_eq!(of(json!({"project_key": "Bank"})).as_deref(), Ok("bank"));
    }

    #[test]
    fn without_any_project_the_error_says_how_to_set_one() {
        let error = project_of(&JsonObject::new(), None).expect_err("no project");
        assert_eq!(error.field, "project_key");
        assert!(error.rule.contains("--project"), "{error}");
    }

    #[test]
    fn code_search_is_a_search_of_code() {
        let call = call(Tool::SearchCode, json!({"query": "Cart#total", "limit_tokens": 400}));
        assert_eq!(call.path, "/search");
        assert_eq!(call.body, Some(json!({"query": "Cart#total", "sources": ["code"]})));
    }

    #[test]
    fn an_issue_is_linked_under_the_cores_name_for_it() {
        let call = call(Tool::LinkIssue, json!({"issue_id": "CS-214", "bundle_id": ID}));
        assert_eq!(call.path, "/tasks/link");
        assert_eq!(call.body, Some(json!({"task_external_id": "CS-214"})));
    }

    #[test]
    fn a_record_is_forgotten_by_its_id() {
        let call = call(Tool::Forget, json!({"id": ID}));
        assert_eq!((call.method, call.path), (Method::DELETE, format!("/records/{ID}")));
        assert!(core_call(Tool::Forget, object(json!({"id": "../projects/shop"}))).is_err());
    }

    #[test]
    fn a_bundle_knows_its_project() {
        let call =
            call(Tool::Feedback, json!({"bundle_id": ID, "used": [], "project_key": "shop"}));
        assert_eq!(call.body, Some(json!({"bundle_id": ID, "used": []})));
    }
}
