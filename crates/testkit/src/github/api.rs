//! The routes of the API, and those of branches, statuses and checks.

use std::collections::HashMap;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::git::Repository;
use super::pulls;
use super::state::{CheckRun, GitHubCredential, RequiredCheck, State, Status};

/// Items on a page if the request gives no number.
const PER_PAGE: usize = 30;
/// Characters of a status's description.
const DESCRIPTION: usize = 140;

/// A request of a known user.
pub(super) struct Call {
    pub(super) method: String,
    pub(super) segments: Vec<String>,
    pub(super) query: HashMap<String, String>,
    pub(super) body: Value,
    pub(super) credential: GitHubCredential,
}

/// A response.
pub(super) struct ApiResponse {
    status: u16,
    body: Value,
    scopes: Option<String>,
}

impl ApiResponse {
    pub(super) fn new(status: u16, body: Value) -> Self {
        Self { status, body, scopes: None }
    }

    pub(super) fn refusal(status: u16, message: &str) -> Self {
        Self::new(status, json!({ "message": message, "status": status.to_string() }))
    }

    pub(super) fn not_found() -> Self {
        Self::refusal(404, "Not Found")
    }

    /// The refusal of a field of a request.
    pub(super) fn invalid(message: &str) -> Self {
        let errors = json!([{ "code": "custom", "message": message }]);
        Self::new(422, json!({ "message": "Validation Failed", "errors": errors }))
    }
}

impl IntoResponse for ApiResponse {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).expect("a status");
        let json = [(header::CONTENT_TYPE, "application/json")];
        let mut response = (status, json, self.body.to_string()).into_response();
        if let Some(scopes) = self.scopes {
            response.headers_mut().insert("x-oauth-scopes", scopes.parse().expect("a value"));
        }
        response
    }
}

impl Call {
    /// Returns a text of the body; empty if there is none.
    pub(super) fn text(&self, field: &str) -> &str {
        self.body[field].as_str().unwrap_or_default()
    }

    /// Returns the requested page of a list.
    pub(super) fn page<T>(&self, items: Vec<T>) -> Vec<T> {
        let number = |name: &str| self.query.get(name).and_then(|value| value.parse().ok());
        let size = number("per_page").unwrap_or(PER_PAGE);
        let page: usize = number("page").unwrap_or(1);
        items.into_iter().skip((page - 1) * size).take(size).collect()
    }
}

/// Carries a request out.
pub(super) fn respond(repository: &Repository, state: &mut State, call: &Call) -> ApiResponse {
    let segments: Vec<&str> = call.segments.iter().map(String::as_str).collect();
    let rest = match segments.as_slice() {
        ["user"] => return user(call),
        ["repos", "octocat", "hello", rest @ ..] => rest,
        _ => return ApiResponse::not_found(),
    };
    let is_review = matches!(rest, ["pulls", _, "reviews"]);
    if call.method != "GET" && !is_review && !call.credential.can_push {
        return ApiResponse::refusal(403, "Resource not accessible by personal access token");
    }
    match (call.method.as_str(), rest) {
        ("GET", []) => repository_of(state, call),
        ("GET", ["git", "ref", name @ ..]) => git_ref(repository, &name.join("/")),
        ("POST", ["git", "refs"]) => create_ref(repository, call),
        ("GET", ["branches", name]) => branch(repository, state, name),
        ("GET", ["rules", "branches", name]) => rules(state, call, name),
        ("POST", ["statuses", sha]) => create_status(repository, state, call, sha),
        ("GET", ["commits", sha, "status"]) => combined_status(state, call, sha),
        ("GET", ["commits", sha, "check-runs"]) => check_runs(state, call, sha),
        (_, ["pulls", rest @ ..]) => pulls::respond(repository, state, call, rest),
        _ => ApiResponse::not_found(),
    }
}

fn user(call: &Call) -> ApiResponse {
    let body = json!({ "login": call.credential.login });
    ApiResponse { scopes: call.credential.scopes.clone(), ..ApiResponse::new(200, body) }
}

/// The methods of merges are hidden from users who can't push.
fn repository_of(state: &State, call: &Call) -> ApiResponse {
    let can_push = call.credential.can_push;
    let mut body = json!({
        "full_name": "octocat/hello", "default_branch": "main", "private": true,
        "permissions": { "admin": false, "push": can_push, "pull": true },
    });
    let flags = [("squash", "squash_merge"), ("rebase", "rebase_merge"), ("merge", "merge_commit")];
    for (method, flag) in flags.into_iter().filter(|_| can_push) {
        let is_allowed = state.merge_methods.iter().any(|allowed| allowed == method);
        body[format!("allow_{flag}")] = is_allowed.into();
    }
    ApiResponse::new(200, body)
}

fn git_ref(repository: &Repository, name: &str) -> ApiResponse {
    let found = name.strip_prefix("heads/").and_then(|branch| repository.head(branch));
    found.map_or_else(ApiResponse::not_found, |sha| ApiResponse::new(200, ref_body(name, &sha)))
}

fn ref_body(name: &str, sha: &str) -> Value {
    let url = "https://git.example.org/api/v3/x";
    json!({ "ref": format!("refs/{name}"), "node_id": "x", "url": url,
        "object": { "type": "commit", "sha": sha, "url": url } })
}

fn create_ref(repository: &Repository, call: &Call) -> ApiResponse {
    let name = call.text("ref").strip_prefix("refs/").unwrap_or_default();
    let Some(branch) = name.strip_prefix("heads/") else {
        return ApiResponse::refusal(422, "Reference name must start with 'refs/'.");
    };
    if repository.head(branch).is_some() {
        return ApiResponse::refusal(422, "Reference already exists");
    }
    let Some(sha) = repository.resolve(call.text("sha")) else {
        return ApiResponse::refusal(422, "Object does not exist");
    };
    repository.set_head(branch, &sha);
    ApiResponse::new(201, ref_body(name, &sha))
}

fn branch(repository: &Repository, state: &State, name: &str) -> ApiResponse {
    let Some(sha) = repository.head(name) else {
        return ApiResponse::refusal(404, "Branch not found");
    };
    let required = state.required_of(name, false);
    let contexts: Vec<&str> = required.iter().map(|check| check.context.as_str()).collect();
    let checks: Vec<Value> = required
        .iter()
        .map(|check| json!({ "context": check.context, "app_id": check.app_id }))
        .collect();
    let is_protected = !required.is_empty();
    let level = if is_protected { "everyone" } else { "off" };
    let checks = json!({ "enforcement_level": level, "contexts": contexts, "checks": checks });
    let protection = json!({ "enabled": is_protected, "required_status_checks": checks });
    let body = json!({ "name": name, "commit": { "sha": sha }, "protected": is_protected,
        "protection": protection });
    ApiResponse::new(200, body)
}

fn rules(state: &State, call: &Call, branch: &str) -> ApiResponse {
    let check = |check: RequiredCheck| {
        let mut body = json!({ "context": check.context });
        if let Some(app) = check.app_id {
            body["integration_id"] = app.into();
        }
        body
    };
    let rule = |required: RequiredCheck| {
        json!({ "type": "required_status_checks", "ruleset_id": 1, "parameters": {
            "strict_required_status_checks_policy": false,
            "required_status_checks": [check(required)] } })
    };
    // A rule of another type comes first, as a repository may have.
    let other = json!({ "type": "deletion", "ruleset_id": 1 });
    let required = state.required_of(branch, true).into_iter().map(rule);
    ApiResponse::new(200, call.page(std::iter::once(other).chain(required).collect()).into())
}

fn create_status(
    repository: &Repository,
    state: &mut State,
    call: &Call,
    sha: &str,
) -> ApiResponse {
    if repository.resolve(sha).is_none() {
        return ApiResponse::refusal(422, &format!("No commit found for SHA: {sha}"));
    }
    if !matches!(call.text("state"), "error" | "failure" | "pending" | "success") {
        return ApiResponse::invalid("State is not included in the list");
    }
    if call.text("description").chars().count() > DESCRIPTION {
        return ApiResponse::invalid("description is too long (maximum is 140 characters)");
    }
    let status = Status {
        id: state.next_id(),
        sha: sha.to_owned(),
        state: call.text("state").to_owned(),
        context: call.text("context").to_owned(),
        description: call.text("description").to_owned(),
        target_url: call.body["target_url"].as_str().map(str::to_owned),
    };
    let body = status_body(&status);
    state.statuses.push(status);
    ApiResponse::new(201, body)
}

fn status_body(status: &Status) -> Value {
    json!({ "id": status.id, "state": status.state, "context": status.context,
        "description": status.description, "target_url": status.target_url })
}

fn combined_status(state: &State, call: &Call, sha: &str) -> ApiResponse {
    let statuses = state.latest_statuses(sha);
    let (count, page) = (statuses.len(), call.page(statuses));
    let page: Vec<Value> = page.iter().map(status_body).collect();
    ApiResponse::new(200, json!({ "sha": sha, "total_count": count, "statuses": page }))
}

fn check_runs(state: &State, call: &Call, sha: &str) -> ApiResponse {
    let of_commit = state.check_runs.iter().filter(|run| run.sha == sha);
    let body = |run: &CheckRun| {
        let status = if run.conclusion.is_some() { "completed" } else { "in_progress" };
        json!({ "id": run.id, "name": run.name, "head_sha": sha, "status": status,
            "conclusion": run.conclusion, "app": { "id": run.app_id } })
    };
    // The newest comes first.
    let runs: Vec<Value> = of_commit.rev().map(body).collect();
    let (count, page) = (runs.len(), call.page(runs));
    ApiResponse::new(200, json!({ "total_count": count, "check_runs": page }))
}
