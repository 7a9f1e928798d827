//! Walks every operation of the OpenAPI document with callers that must be refused; [`tools`] does
//! so with every tool of the MCP server.
//!
//! An operation declares its access (`x-access`); its request is made from its parameters and its
//! example. So an operation is attacked from the day it is added. An operation on a new kind of
//! resource fails the test until [`things`] has an example of a foreign id.

mod tools;

use std::collections::BTreeSet;
use std::fmt::Display;

use http::Method;
use serde_json::{Value, json};

use crate::attempt::{self, Answer, Attempt};
use crate::document::{MISSING_ID, Operation, any_value, example, operations};
use crate::marks::Places;
use crate::operations::{Things, refused};
use crate::oracle::{self, Rank, Scope};
use crate::run::seed;
use crate::world::{ALL, Credential, Person, Post, Project, World};

/// An id that no job has.
const MISSING_JOB: &str = "01JZZZZZZZZZZZZZZZZZZZZZZZ";
/// An id that no command has, and no patch run.
const MISSING_COMMAND: &str = "019a0000-0000-7000-8000-00000000c0de";
/// A project key that nothing has.
const MISSING_KEY: &str = "none0123456789";

/// What an operation needs, read from its security requirements.
struct Needs {
    scope: Option<Scope>,
    role: Option<String>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_denies_callers_without_access() {
    let world = World::build(seed()).await;
    let document = serde_json::to_value(mc_api::openapi()).unwrap();
    let attempts = operations(&document).flat_map(|operation| attacks(&world, &operation));
    let attempts: Vec<_> = attempts.collect();
    let faults = faults(&world, &attempts).await;
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    assert!(attempts.len() > 300, "{} attempts", attempts.len());
}

/// Makes the attempts, each with its reason; returns the errors in the responses.
async fn faults(world: &World, attempts: &[(impl Display, Attempt)]) -> Vec<String> {
    let mut faults = Vec::new();
    for (attack, attempt) in attempts {
        if let Err(fault) = attempt::make(attempt, world).await {
            let Attempt { method, target, body, .. } = attempt;
            let sent = body.as_deref().unwrap_or_default();
            faults.push(format!("{method} {target}, {attack}: {fault}\n{sent}"));
        }
    }
    faults
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn declared_role_is_enough_for_every_operation() {
    let world = World::build(seed()).await;
    let document = serde_json::to_value(mc_api::openapi()).unwrap();
    // Deletions come last, because other operations need the data.
    let (deletions, others): (Vec<_>, Vec<_>) =
        operations(&document).partition(|operation| operation.method == Method::DELETE);
    for operation in others.into_iter().chain(deletions) {
        let Some(needed) = operation.needs().role.and_then(|role| rank(&role)) else { continue };
        let project = &world.projects[0];
        let caller = member(&world, project, |role| role == needed);
        let request = operation.request(&world, project, &project.key, MISSING_ID);
        let attempt = signed(request, full(caller));
        let answer = Answer::to(&attempt, &world).await;
        let name = format!("{} {} by a {needed:?}", operation.method, operation.path);
        let detail = answer.body["detail"].as_str().unwrap_or_default();
        let lacks_role = answer.status == 403 && detail.starts_with("requires the role");
        assert!(!lacks_role && answer.status != 401, "{name}: {} {detail}", answer.status);
        assert!(!answer.status.is_server_error(), "{name}: {} {detail}", answer.status);
    }
}

/// Requests that must be refused, each with the reason.
fn attacks(world: &World, operation: &Operation<'_>) -> Vec<(&'static str, Attempt)> {
    let access = &operation.spec["x-access"];
    if access.is_null() {
        return Vec::new();
    }
    let needs = operation.needs();
    let project = &world.projects[0];
    let foreign = operation.resource_id(&world.projects[2]);
    let own_id = operation.resource_id(project);
    let request = |key: &str, id: &str| operation.request(world, project, key, id);
    let own = request(&project.key, &own_id);
    let mut attacks = vec![("without a credential", refused(request(&project.key, &own_id), 401))];
    if let Some(scope) = needs.scope {
        let role = needs.role.as_deref();
        let credential = without_scope(world, project, scope, role);
        attacks.push(("without the scope", refused(signed(own, credential), 403)));
    }
    if access == "interactive" || access == "interactive_service_admin" {
        let token = full(of_post(world, Post::Root));
        attacks.push(("with a personal token", refused(signed(request("", &own_id), token), 403)));
    }
    if access == "service_admin" || access == "interactive_service_admin" {
        let admin = full(member(world, project, |role| role == Rank::Admin));
        let attempt = signed(request(&project.key, &own_id), admin);
        attacks.push(("by a project's admin", refused(attempt, 403)));
    }
    let Some(needed) = needs.role.as_deref().and_then(rank) else { return attacks };
    let stranger = full(of_post(world, Post::Stranger));
    let twin = if operation.names_project() {
        (project.key.clone(), MISSING_KEY.to_owned())
    } else {
        (own_id.clone(), MISSING_ID.to_owned())
    };
    let attempt = refused(signed(request(&project.key, &own_id), stranger), 404);
    attacks.push(("by a stranger", Attempt { twin: Some(twin), ..attempt }));
    if needed > Rank::Viewer {
        let below = member(world, project, |role| role < needed);
        let attempt = refused(signed(request(&project.key, &own_id), full(below)), 403);
        // Some resources do not exist for those who may not decide about them.
        let attempt = if operation.names_project() { attempt } else { attempt.or(404) };
        attacks.push(("with a lower role", attempt.places(Places::one(project.place))));
    }
    if operation.names_project() && operation.path.contains("{id}") {
        let admin = full(member(world, project, |role| role == Rank::Admin));
        let attempt = refused(signed(request(&project.key, &foreign), admin), 404);
        let twin = Some((foreign, MISSING_ID.to_owned()));
        attacks.push(("with a foreign id", Attempt { twin, ..attempt }));
    }
    attacks
}

impl Operation<'_> {
    fn needs(&self) -> Needs {
        let words = self.spec["security"][0]["bearer"].as_array().into_iter().flatten();
        let words: Vec<_> = words.filter_map(Value::as_str).collect();
        let scope = Scope::ALL.iter().find(|(_, name)| words.contains(name));
        let role = words.iter().find_map(|word| word.strip_prefix("role:"));
        Needs { scope: scope.map(|(scope, _)| *scope), role: role.map(str::to_owned) }
    }

    fn names_project(&self) -> bool {
        let in_body = self.example().is_some_and(|body| body.get("project_key").is_some());
        in_body || self.parameters().any(|(name, _)| matches!(name, "key" | "project_key"))
    }

    /// The id of a resource of the project that the operation can name.
    fn resource_id(&self, project: &Project) -> String {
        match things(self.path) {
            _ if self.example().is_some_and(|body| body.get("bundle_id").is_some()) => {
                project.bundles[0].id.to_string()
            }
            Some(things) => things(project)[0].id.to_string(),
            None if self.path.starts_with("/jobs/") => MISSING_JOB.to_owned(),
            None => MISSING_ID.to_owned(),
        }
    }

    /// The example of the body, if the operation has one. A body without is valid when it is empty.
    fn example(&self) -> Option<Value> {
        Some(example(self.body()?).cloned().unwrap_or_else(|| json!({})))
    }

    fn request(&self, world: &World, project: &Project, key: &str, id: &str) -> Attempt {
        let (owner, name) = project.repositories[0].name.split_once('/').unwrap_or(("shop", "app"));
        let patch = project.patches[0].id.to_string();
        let target = self.target(|parameter, spec| {
            let value = match parameter {
                "patch_id" => &patch,
                "key" | "project_key" => key,
                "id" => id,
                "login" => of_post(world, Post::Pawn).login.as_str(),
                "team" => world.teams[project.tenant].key.as_str(),
                "external_id" => project.tasks[0].name.as_str(),
                "owner" => owner,
                "name" => name,
                "schema" => "own-0",
                "command" | "run_id" => MISSING_COMMAND,
                "handles" => "m1",
                "path" => "/srv/app/models/cart.rb",
                _ if spec["required"] != true => return None,
                _ => any_value(&spec["schema"]).unwrap_or("x"),
            };
            Some(encoded(value))
        });
        let mut attempt = Attempt::new(self.method.clone(), target);
        if self.parameters().any(|(name, _)| name == "If-Match") {
            attempt = attempt.header("if-match", "*");
        }
        match self.example() {
            Some(mut body) => {
                for (name, value) in [("project_key", key), ("bundle_id", id)] {
                    if let Some(named) = body.get_mut(name) {
                        *named = value.into();
                    }
                }
                attempt.json(&body)
            }
            None => attempt,
        }
    }
}

/// Examples of the resource that `{id}` in a path names. `None` for resources outside projects.
fn things(path: &str) -> Option<Things> {
    let (collection, _) = path.split_once("/{id}")?;
    Some(match collection.rsplit('/').next().expect("a collection") {
        "records" => |project| &project.records,
        "proposals" => |project| &project.proposals,
        "quarantine" => |project| &project.quarantine_items,
        "passages" => |project| &project.passages,
        "runs" => |project| &project.runs,
        "webhooks" => |project| &project.webhooks,
        "webhook-deliveries" => |project| &project.deliveries,
        "pull-requests" => |project| &project.changes,
        "integrations" => |project| &project.integrations,
        "hygiene-runs" => |project| &project.reports,
        "duplicates" => |project| &project.clusters,
        "exports" => |project| &project.exports,
        "workspaces" => |project| &project.workspaces,
        "navigations" => |project| &project.navigations,
        "patches" => |project| &project.patches,
        "tokens" | "jobs" => return None,
        _ => panic!("{path}: add an example of a foreign id"),
    })
}

fn rank(role: &str) -> Option<Rank> {
    Some(match role {
        "viewer" => Rank::Viewer,
        "agent" => Rank::Agent,
        "member" => Rank::Member,
        "maintainer" => Rank::Maintainer,
        "admin" => Rank::Admin,
        "service_admin" => return None,
        other => panic!("unknown role {other}"),
    })
}

fn signed(attempt: Attempt, credential: &Credential) -> Attempt {
    attempt.header("authorization", format!("Bearer {}", credential.bearer))
}

fn of_post(world: &World, post: Post) -> &Person {
    world.people.iter().find(|person| person.post == post).expect("somebody")
}

/// The person of the project's tenant with the highest fitting role.
fn member<'a>(world: &'a World, project: &Project, fits: impl Fn(Rank) -> bool) -> &'a Person {
    let own = world.people.iter().filter(|person| person.tenant == Some(project.tenant));
    let fitting = own.filter(|person| oracle::role(person, project).is_some_and(&fits));
    fitting.max_by_key(|person| oracle::role(person, project)).expect("a member")
}

/// A personal access token with every scope.
fn full(person: &Person) -> &Credential {
    let fits = |one: &&Credential| one.is_valid && one.scopes == ALL && !one.is_present;
    person.credentials.iter().find(fits).expect("a token with every scope")
}

/// Returns a valid credential without the scope, of a person with a sufficient role.
fn without_scope<'a>(
    world: &'a World,
    project: &Project,
    scope: Scope,
    role: Option<&str>,
) -> &'a Credential {
    let is_enough = |person: &&Person| match role {
        None => true,
        Some("service_admin") => person.administers_service(),
        Some(role) => oracle::role(person, project) >= rank(role),
    };
    let credentials = world.people.iter().filter(is_enough).flat_map(|person| &person.credentials);
    let mut fitting = credentials.filter(|one| one.is_valid && !one.is_for(scope));
    fitting.next().expect("a credential without the scope")
}

/// Percent-encodes a value for a path or a query.
fn encoded(value: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let encode =
        |byte| if is_plain(byte) { char::from(byte).into() } else { format!("%{byte:02X}") };
    value.bytes().map(encode).collect()
}

#[test]
fn only_open_operations_have_no_access() {
    let document = serde_json::to_value(mc_api::openapi()).unwrap();
    let open: BTreeSet<_> = operations(&document)
        .filter(|operation| operation.spec["x-access"].is_null())
        .map(|operation| (operation.path.to_owned(), operation.spec["security"].to_string()))
        .collect();
    for (path, security) in open {
        assert_eq!(security, "[{}]", "{path} declares no access");
    }
}
