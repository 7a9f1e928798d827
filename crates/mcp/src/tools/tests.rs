//! Tests of the list of tools and the calls of the Core.

use http::Method;
use rmcp::model::ListToolsResult;
use serde_json::json;

use super::spec::{Argument, Definition, Effect, Route, Spec};
use super::*;
use crate::core::{CoreCall, CoreError};
use crate::settings::Toolset;

/// Maximum tokens of the default toolsets in a model's context.
const BUDGET: usize = 2_000;

/// Returns the tokens of a list as sent, and of the part that a client shows its model.
fn tokens(toolsets: &[Toolset]) -> (usize, usize) {
    let tools = TOOLS.iter().filter(|tool| tool.is_in(toolsets));
    let tools: Vec<_> = tools.map(|tool| tool.listed().clone()).collect();
    let shown: Vec<_> = tools
        .iter()
        .map(|tool| {
            json!({"name": tool.name, "description": tool.description,
                "parameters": tool.input_schema})
        })
        .collect();
    let sent = serde_json::to_string(&ListToolsResult::with_all_items(tools)).expect("JSON");
    (mc_tokens::count(&sent), mc_tokens::count(&json!(shown).to_string()))
}

#[test]
#[expect(clippy::print_stdout, reason = "what each toolset costs, for --no-capture")]
fn default_list_costs_at_most_2000_tokens() {
    let all = [Toolset::DEFAULT, Toolset::ALL];
    for toolsets in [&[Toolset::Memory][..], &[Toolset::Repo], &[Toolset::Rag]].iter().chain(&all) {
        let names: Vec<_> = toolsets.iter().map(|toolset| toolset.as_str()).collect();
        let (sent, shown) = tokens(toolsets);
        println!("{}: {sent} tokens sent, {shown} shown to the model", names.join(" + "));
    }
    let (sent, _) = tokens(Toolset::DEFAULT);
    assert!(sent <= BUDGET, "the tool list costs {sent} tokens, {BUDGET} are allowed");
    // A smaller list would lack descriptions; this also checks that the count works.
    assert!(sent > BUDGET / 2, "the tool list costs only {sent} tokens");
}

#[test]
fn every_tool_has_a_title_all_annotations_and_both_schemas() {
    for tool in &TOOLS {
        let listed = tool.listed().clone();
        let hints = listed.annotations.expect("annotations");
        assert!(listed.title.is_some_and(|title| !title.is_empty()), "{}", tool.name());
        assert!(hints.read_only_hint.is_some() && hints.destructive_hint.is_some());
        assert!(hints.idempotent_hint.is_some() && hints.open_world_hint.is_some());
        assert_eq!(listed.input_schema["type"], "object", "{}", tool.name());
        assert_eq!(
            listed.output_schema.expect("output schema")["type"],
            "object",
            "{}",
            tool.name()
        );
    }
}

#[test]
fn inputs_reject_unknown_fields() {
    for tool in &TOOLS {
        assert_eq!(tool.listed().input_schema["additionalProperties"], false, "{}", tool.name());
    }
}

/// Gemini rejects a list with an enum without a type, or with an unknown format of a string.
#[test]
fn every_enum_has_a_type_and_no_string_a_format() {
    fn walk(path: &str, schema: &Value, enums: &mut usize) {
        if let Some(words) = schema.get("enum") {
            assert_eq!(schema["type"], "string", "{path}: {words}");
            assert!(words.as_array().is_some_and(|words| !words.is_empty()), "{path}");
            *enums += 1;
        }
        assert!(schema.get("format").is_none(), "{path}");
        if schema.get("type").is_some_and(|of| of == "array") && path.contains("input") {
            assert!(schema["items"]["type"].is_string(), "{path} has items without a type");
        }
        match schema {
            Value::Object(fields) => {
                fields
                    .iter()
                    .for_each(|(name, field)| walk(&format!("{path}.{name}"), field, enums));
            }
            Value::Array(items) => items.iter().for_each(|item| walk(path, item, enums)),
            _ => {}
        }
    }
    let mut enums = 0;
    for tool in &TOOLS {
        let listed = json!(tool.listed());
        walk(&format!("{} input", tool.name()), &listed["inputSchema"], &mut enums);
        walk(&format!("{} output", tool.name()), &listed["outputSchema"], &mut enums);
    }
    assert!(enums >= 5, "only {enums} enums were seen");
}

#[test]
fn the_list_is_as_reviewed() {
    let tools: Vec<_> = TOOLS.iter().map(Tool::listed).collect();
    insta::with_settings!({ sort_maps => true }, {
        insta::assert_json_snapshot!("tools_list", tools);
    });
}

const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

fn object(arguments: Value) -> JsonObject {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    arguments
}

fn tool(name: &str) -> &'static Tool {
    from_name(name).expect("a tool")
}

fn call(name: &str, arguments: Value) -> CoreCall {
    tool(name).core_call(&object(arguments)).expect("valid arguments").expect("a call")
}

#[test]
fn project_argument_overrides_the_default_project() {
    let shop = ProjectKey::parse("shop").ok();
    let project = |arguments: Value| project_of(&object(arguments), shop.as_ref());
    assert_eq!(project(json!({"query": "x"})).as_deref(), Ok("shop"));
    assert_eq!(project(json!({"project_key": "Bank"})).as_deref(), Ok("bank"));
}

#[test]
fn error_without_any_project_explains_how_to_set_one() {
    let error = project_of(&JsonObject::new(), None).expect_err("no project");
    assert_eq!(error.field, "project_key");
    assert!(error.rule.contains("--project"), "{error}");
}

#[test]
fn code_search_is_a_search_of_code() {
    let call = call(
        "search_code",
        json!({"query": "Cart#total", "limit_tokens": 400, "project_key": "shop"}),
    );
    assert_eq!(call.path, "/search");
    assert_eq!(
        call.body,
        Some(json!({"query": "Cart#total", "sources": ["code"], "project_key": "shop"}))
    );
}

#[test]
fn issue_id_is_sent_as_task_external_id() {
    let call =
        call("link_issue", json!({"issue_id": "CS-214", "bundle_id": ID, "project_key": "shop"}));
    assert_eq!(call.path, "/tasks/link");
    assert_eq!(call.body, Some(json!({"task_external_id": "CS-214", "project_key": "shop"})));
}

#[test]
fn record_is_deleted_by_its_id() {
    let call = call("forget", json!({"id": ID}));
    assert_eq!((call.method, call.path), (Method::DELETE, format!("/records/{ID}")));
    let error = tool("forget").core_call(&object(json!({"id": "../projects/shop"})));
    assert!(error.is_err());
}

#[test]
fn placeholders_of_a_route_are_required_arguments() {
    for tool in &TOOLS {
        let Route::Call(_, path) = &tool.spec.route else { continue };
        for part in path.split('{').skip(1) {
            let name = part.split('}').next().expect("a name");
            if name == "project_key" && tool.spec.names_project {
                continue; // The server has a default.
            }
            let mut arguments = tool.spec.arguments.iter();
            let is_required = arguments.any(|one| one.field == name && one.is_required);
            assert!(is_required, "{}: {name}", tool.name());
        }
    }
}

/// A tool that reads: its route has a placeholder, and its request a list.
struct Reading;

#[derive(serde::Deserialize, utoipa::ToSchema)]
#[expect(dead_code, reason = "only the schema is used")]
struct ReadingRequest {
    key: String,
    names: Vec<String>,
    project_key: String,
}

impl mc_contract::Request for ReadingRequest {}

impl Definition for Reading {
    const SPEC: Spec = Spec {
        name: "reading",
        title: "",
        description: "",
        toolsets: &[],
        effect: Effect::Reads,
        route: Route::Call(Method::GET, "/things/{key}/names"),
        names_project: true,
        handles: Handles::Ids,
        arguments: &[Argument::new("key", "").required(), Argument::new("names", "")],
        fixed: None,
        output: &[],
    };
    type Request = ReadingRequest;
    type Own = own::Nothing;
    type Response = ReadingRequest;

    fn result(_: &JsonObject, _: Value) -> Result<rmcp::model::CallToolResult, CoreError> {
        unreachable!("it is not called")
    }
}

#[test]
fn request_of_a_reading_tool_is_its_path_and_query() {
    let arguments = json!({"key": "a b/c", "names": ["x", "y"], "project_key": "shop"});
    let call =
        Tool::new::<Reading>().core_call(&object(arguments)).expect("valid").expect("a call");
    let query = [("names", "x"), ("names", "y"), ("project_key", "shop")];
    let query = query.map(|(name, value)| (name, value.to_owned()));
    assert_eq!(call, CoreCall::get("/things/a%20b%2Fc/names", query.into()));
}

#[test]
fn feedback_has_no_project() {
    let call = call("feedback", json!({"bundle_id": ID, "used": [], "project_key": "shop"}));
    assert_eq!(call.body, Some(json!({"bundle_id": ID, "used": []})));
}

#[test]
fn dotted_and_underscored_names_call_the_same_tool() {
    let called = |name: &str| from_name(name).map(Tool::name);
    for name in ["recall", "memory.recall", "memory_recall"] {
        assert_eq!(called(name), Some("recall"), "{name}");
    }
    for name in ["search_code", "repo.search_code", "repo_search_code", "search.code"] {
        assert_eq!(called(name), Some("search_code"), "{name}");
    }
    assert_eq!(called("docs.open_doc"), Some("open_doc"));
}

#[test]
fn other_names_are_unknown() {
    for name in ["", ".", "memory.", "memory", "github.recall", "repo.rag_find", "RECALL"] {
        assert!(from_name(name).is_none(), "{name:?}");
    }
}

#[test]
fn every_tool_is_in_a_toolset() {
    assert!(TOOLS.iter().all(|tool| tool.is_in(Toolset::ALL)));
    assert!(!tool("search_code").is_in(&[Toolset::Memory]));
    assert!(!tool("save").is_in(&[Toolset::Repo]));
    assert!(!tool("recall").is_in(&[]));
}

/// Returns whether `value` has the types, required fields and enum values of `schema`.
fn conforms(schema: &Value, value: &Value) -> bool {
    let is_listed =
        schema["enum"].as_array().is_none_or(|words| value.is_null() || words.contains(value));
    let has_type = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        _ => false,
    };
    let mut required = schema["required"].as_array().into_iter().flatten();
    let has_required =
        required.all(|name| name.as_str().is_some_and(|name| value.get(name).is_some()));
    let properties = schema["properties"].as_object().into_iter().flatten();
    let mut present = properties.filter_map(|(name, schema)| Some((schema, value.get(name)?)));
    is_listed && has_type && has_required && present.all(|(schema, value)| conforms(schema, value))
}

fn assert_conforms(name: &str, result: &rmcp::model::CallToolResult) {
    let schema = json!(tool(name).listed().output_schema);
    let content = result.structured_content.as_ref().expect("structured content");
    assert!(conforms(&schema, content), "{name}: {content} against {schema}");
}

/// Returns the example of a type in the contract, after it was parsed as this type.
fn example<T: utoipa::ToSchema + serde::Serialize + serde::de::DeserializeOwned>() -> Value {
    let example = json!(T::schema())["example"].clone();
    let typed: T = serde_json::from_value(example).expect("the example is of its type");
    json!(typed)
}

#[test]
fn every_outcome_conforms_to_the_listed_schema() {
    use mc_contract::operations::save::{SaveOutcome, SaveResponse};

    let empty = json!({"facts": [], "few_shots": [], "links": [], "gotchas": [], "dialogs": [],
        "code": [], "confidence": 0.0, "bundle_id": ID, "tokens": 0, "degraded": [],
        "reason": "nothing is known"});
    let mut responses: Vec<_> = TOOLS.iter().map(|tool| (tool.name(), (tool.example)())).collect();
    responses.retain(|(_, example)| !example.is_null());
    assert!(responses.len() >= 5, "only {responses:?} have an example");
    responses.extend([
        ("recall", empty),
        ("search_code", json!({"results": [], "degraded": [], "pending_vectors": 0})),
        ("forget", Value::Null),
    ]);
    let outcomes = json!(<SaveOutcome as utoipa::PartialSchema>::schema())["enum"].clone();
    for outcome in outcomes.as_array().expect("outcomes") {
        let mut response = example::<SaveResponse>();
        response["outcome"] = outcome.clone();
        responses.push(("save", response));
    }
    for (name, response) in responses {
        let result = tool(name).result(&object(json!({"id": "m1"})), response).expect("a result");
        assert_conforms(name, &result);
    }
    let long = "words of it ".repeat(4_000);
    for opened in [
        json!({"what": "record", "id": ID, "title": "T", "content": "x", "kind": "fact"}),
        json!({"what": "document", "id": ID, "title": "T", "content": long}),
        json!({"what": "code", "id": ID, "title": "", "content": ""}),
    ] {
        let result = super::opened(&JsonObject::new(), None, opened, None).expect("a result");
        assert_conforms("open_doc", &result);
    }
}

/// Fails if a field that the contract renames is not renamed in the rendering.
#[test]
fn rendered_record_shows_each_field_of_the_contract() {
    use mc_contract::operations::record::RecordWithHistory;

    let record = json!({
        "id": ID, "kind": "fewshot", "title": "Fix nil delay", "content": "Units must match",
        "scope": ["cart"], "tags": ["bugfix"], "state": "stale", "visibility": "proposed",
        "trust": "team", "owner": null, "is_ttl_explicit": false, "quality": {},
        "meta": {"steps": ["find nil"], "patch_ref": "abc123", "url": "https://wiki.example/7"},
        "task_external_id": "CS-214", "dialog_id": null, "superseded_by": ID, "version": 2,
        "recall_count": 0, "use_count": 0, "ci_status": "passed",
        "created_at": "2026-11-20T10:00:00Z", "updated_at": "2026-11-20T10:00:00Z",
        "citations": [{"file": "app/cart.rb", "line_start": 3, "verdict": "drifted"}],
        "versions": [],
        "contributions": [{"version": 1, "saved_by": "ann", "source": "wiki",
                           "saved_at": "2026-11-20T10:00:00Z"}],
    });
    let typed: RecordWithHistory = serde_json::from_value(record).expect("a record");
    let text = crate::render::record(&json!(typed));
    for shown in [
        "fewshot",
        "team",
        "proposed",
        "stale",
        "Fix nil delay",
        "Units must match",
        "cart",
        "bugfix",
        "CS-214",
        "2026-11-20",
        "find nil",
        "abc123",
        "https://wiki.example/7",
        "app/cart.rb:3 (drifted)",
        "passed",
        "wiki, saved by ann",
    ] {
        assert!(text.contains(shown), "{shown} is not shown: {text}");
    }
}
