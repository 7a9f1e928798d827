//! Every tool of the MCP server, called by those who must be refused.
//!
//! The arguments are made from the schema that the server lists. An argument that is a new kind of
//! id fails the test until [`example`] has an example of a foreign one.

use serde_json::{Map, Value, json};

use super::{MISSING_KEY, faults, full, member, of_post, signed, without_scope};
use crate::attempt::{Answer, Attempt};
use crate::document::{MISSING_ID, any_value};
use crate::operations::{refused, tools};
use crate::oracle::{Rank, Scope};
use crate::run::seed;
use crate::world::{Post, Project, World};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_tool_denies_callers_without_access() {
    let world = World::build(seed()).await;
    let tools = tools::listed(&world).await;
    let attempts: Vec<_> = tools.iter().flat_map(|tool| attacks(&world, tool)).collect();
    let mut faults = faults(&world, &attempts).await;
    // The same calls are let through for an administrator, so each was refused for its caller.
    let project = &world.projects[0];
    let admin = full(member(&world, project, |role| role == Rank::Admin));
    for tool in &tools {
        let attempt = call(tool, &arguments(tool, project), signed(Attempt::get(""), admin));
        let refusal = tools::refusal(&Answer::to(&attempt, &world).await);
        faults.extend(refusal.map(|why| format!("{}, by an admin: {why}", tool["name"])));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    assert!(attempts.len() > 30, "{} attempts", attempts.len());
}

/// Calls that must be refused, each with the reason.
fn attacks(world: &World, tool: &Value) -> Vec<(String, Attempt)> {
    let (project, other) = (&world.projects[0], &world.projects[2]);
    let own = arguments(tool, project);
    let admin = full(member(world, project, |role| role == Rank::Admin));
    let stranger = full(of_post(world, Post::Stranger));
    let reads_only = tool["annotations"]["readOnlyHint"] == true;
    let scope = if reads_only { Scope::Read } else { Scope::Write };
    let unscoped = without_scope(world, project, scope, Some("member"));
    let call = |arguments: &Map<String, Value>, attempt: Attempt| call(tool, arguments, attempt);
    let mut attacks = vec![
        ("without a credential".to_owned(), call(&own, refused(Attempt::get(""), 401))),
        (
            "without the scope".to_owned(),
            call(&own, refused(signed(Attempt::get(""), unscoped), 403)),
        ),
    ];
    let mut by_stranger = refused(signed(Attempt::get(""), stranger), 404);
    by_stranger.twin = Some((project.key.clone(), MISSING_KEY.to_owned()));
    attacks.push(("by a stranger".to_owned(), call(&own, by_stranger)));
    for (name, schema) in properties(tool) {
        let Some(foreign) = example(name, other) else { continue };
        let mut arguments = own.clone();
        // The bundle matters to handles only.
        if name == "bundle_id" {
            let ids = properties(tool).filter(|(name, _)| {
                *name != "bundle_id" && *name != "dialog_id" && example(name, other).is_some()
            });
            arguments.extend(ids.map(|(name, schema)| (name.clone(), shaped("m1".into(), schema))));
        }
        arguments.insert(name.clone(), shaped(foreign.clone().into(), schema));
        let mut attempt = signed(Attempt::get(""), admin);
        // Of a list, unknown ids are left out; the response says which, and no more.
        if schema["type"] != "array" {
            attempt = refused(attempt, 404);
            attempt.twin = Some((foreign, MISSING_ID.to_owned()));
        }
        attacks.push((format!("with a foreign {name}"), call(&arguments, attempt)));
    }
    attacks
}

/// The call of the tool, to be refused as `attempt` is.
fn call(tool: &Value, arguments: &Map<String, Value>, attempt: Attempt) -> Attempt {
    let name = tool["name"].as_str().expect("a name");
    let params = json!({"name": name, "arguments": arguments});
    tools::through("tools/call", &params, attempt).header("mcp-name", name)
}

fn properties(tool: &Value) -> impl Iterator<Item = (&String, &Value)> {
    tool["inputSchema"]["properties"].as_object().expect("properties").iter()
}

/// Arguments that are enough, which name the project and things of it.
fn arguments(tool: &Value, project: &Project) -> Map<String, Value> {
    let required = tool["inputSchema"]["required"].as_array().into_iter().flatten();
    let required: Vec<_> = required.filter_map(Value::as_str).collect();
    let given = properties(tool).filter_map(|(name, schema)| {
        let value = match (name.as_str(), example(name, project)) {
            ("project_key", _) => project.key.clone(),
            (name, Some(id)) if name == "bundle_id" || required.contains(&name) => id,
            (name, None) if required.contains(&name) => word(schema),
            _ => return None,
        };
        Some((name.clone(), shaped(value.into(), schema)))
    });
    let mut given: Map<_, _> = given.collect();
    // Some tools need one of several arguments.
    if required.is_empty() {
        let one_of = [("query", word(&Value::Null)), ("id", project.records[0].id.to_string())];
        let schema = &tool["inputSchema"]["properties"];
        let present = one_of.into_iter().filter(|(name, _)| schema.get(name).is_some());
        given.extend(present.map(|(name, value)| (name.to_owned(), value.into())));
    }
    given
}

fn word(schema: &Value) -> String {
    any_value(schema).unwrap_or("why does the cart lose its items").to_owned()
}

/// The value, in a list if the argument is one.
fn shaped(value: Value, schema: &Value) -> Value {
    if schema["type"] == "array" { json!([value]) } else { value }
}

/// The id of something of the project that the argument can name; `None` if it is no id.
fn example(argument: &str, project: &Project) -> Option<String> {
    let thing = match argument {
        "id" | "record_ids" | "used" | "supersedes" => &project.records[0],
        "bundle_id" => &project.bundles[0],
        "dialog_id" => &project.dialogs[0],
        // The name of a task in a tracker; each project has its own.
        "task_external_id" | "issue_id" => return None,
        name if name.ends_with("id") || name.ends_with("ids") => {
            panic!("{name}: add an example of a foreign id")
        }
        _ => return None,
    };
    Some(thing.id.to_string())
}
