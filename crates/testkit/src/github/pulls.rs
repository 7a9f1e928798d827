//! Pull requests: opened, reviewed and merged.

use serde_json::{Value, json};

use super::api::{ApiResponse, Call};
use super::git::Repository;
use super::state::{Merge, Progress, Pull, RequiredCheck, Review, State};

pub(super) fn respond(
    repository: &Repository,
    state: &mut State,
    call: &Call,
    rest: &[&str],
) -> ApiResponse {
    match (call.method.as_str(), rest) {
        ("GET", []) => list(repository, state, call),
        ("POST", []) => open(repository, state, call),
        ("GET", [number]) => match state.pull(number) {
            Some(pull) => ApiResponse::new(200, body(repository, pull, true)),
            None => ApiResponse::not_found(),
        },
        ("POST", [number, "requested_reviewers"]) => {
            request_reviewers(repository, state, call, number)
        }
        ("GET", [number, "reviews"]) => list_reviews(state, call, number),
        ("POST", [number, "reviews"]) => review(repository, state, call, number),
        ("PUT", [number, "merge"]) => merge(repository, state, call, number),
        _ => ApiResponse::not_found(),
    }
}

/// GitHub ignores a head without an owner.
fn list(repository: &Repository, state: &State, call: &Call) -> ApiResponse {
    let query = |name: &str| call.query.get(name).map(String::as_str);
    let head = query("head").and_then(|head| head.strip_prefix("octocat:"));
    let is_meant = |pull: &&Pull| {
        let is_state = query("state") == Some("all") || pull.merge.is_none();
        let is_head = head.is_none_or(|head| pull.head == head);
        is_state && is_head && query("base").is_none_or(|base| pull.base == base)
    };
    let pulls = state.pulls.iter().filter(is_meant);
    let pulls = call.page(pulls.map(|pull| body(repository, pull, false)).collect());
    ApiResponse::new(200, pulls.into())
}

fn open(repository: &Repository, state: &mut State, call: &Call) -> ApiResponse {
    let (head, base) = (call.text("head"), call.text("base"));
    let (Some(head_sha), Some(base_sha)) = (repository.head(head), repository.head(base)) else {
        return ApiResponse::invalid("head or base is invalid");
    };
    let is_same = |pull: &Pull| pull.merge.is_none() && pull.head == head && pull.base == base;
    if state.pulls.iter().any(is_same) {
        return ApiResponse::invalid(&format!("A pull request already exists for octocat:{head}."));
    }
    if repository.count_new(&base_sha, &head_sha) == 0 {
        return ApiResponse::invalid(&format!("No commits between {base} and {head}"));
    }
    let pull = Pull {
        number: state.next_id(),
        title: call.text("title").to_owned(),
        body: call.text("body").to_owned(),
        author: call.credential.login.clone(),
        is_draft: call.body["draft"] == true,
        head: head.to_owned(),
        base: base.to_owned(),
        reviewers: Vec::new(),
        reviews: Vec::new(),
        merge: None,
    };
    let opened = body(repository, &pull, false);
    state.pulls.push(pull);
    ApiResponse::new(201, opened)
}

/// Returns a pull request. GitHub computes whether it can be merged after the first response.
fn body(repository: &Repository, pull: &Pull, is_computed: bool) -> Value {
    let merge = pull.merge.as_ref();
    let (head, base) = match merge {
        Some(merge) => (merge.head.clone(), merge.base.clone()),
        None => (sha(repository, &pull.head), sha(repository, &pull.base)),
    };
    let is_open = merge.is_none();
    let mergeable = (is_computed && is_open)
        .then(|| repository.merge("merge", &base, &head, "Test merge").is_some());
    let side = |branch: &str, sha: &str| {
        json!({ "ref": branch, "sha": sha, "label": format!("octocat:{branch}"),
            "repo": { "full_name": "octocat/hello" } })
    };
    let logins = pull.reviewers.iter().map(|login| json!({ "login": login }));
    json!({
        "number": pull.number, "title": pull.title, "body": pull.body,
        "state": if is_open { "open" } else { "closed" },
        "html_url": format!("https://git.example.org/octocat/hello/pull/{}", pull.number),
        "draft": pull.is_draft, "merged": !is_open, "mergeable": mergeable,
        "merge_commit_sha": merge.map(|merge| &merge.sha), "user": { "login": pull.author },
        "head": side(&pull.head, &head), "base": side(&pull.base, &base),
        "requested_reviewers": logins.collect::<Vec<_>>(),
    })
}

fn sha(repository: &Repository, branch: &str) -> String {
    repository.head(branch).unwrap_or_else(|| "0".repeat(40))
}

fn request_reviewers(
    repository: &Repository,
    state: &mut State,
    call: &Call,
    number: &str,
) -> ApiResponse {
    let logins = call.body["reviewers"].as_array().into_iter().flatten();
    let logins: Vec<String> = logins.filter_map(Value::as_str).map(str::to_owned).collect();
    let users: Vec<String> = state.credentials.iter().map(|user| user.login.clone()).collect();
    let Some(pull) = state.pull(number) else { return ApiResponse::not_found() };
    if logins.contains(&pull.author) {
        return ApiResponse::refusal(422, "Review cannot be requested from pull request author.");
    }
    if !logins.iter().all(|login| users.contains(login)) {
        return ApiResponse::refusal(422, "Reviews may only be requested from collaborators.");
    }
    for login in logins {
        if !pull.reviewers.contains(&login) {
            pull.reviewers.push(login);
        }
    }
    ApiResponse::new(201, body(repository, pull, false))
}

fn list_reviews(state: &mut State, call: &Call, number: &str) -> ApiResponse {
    let Some(pull) = state.pull(number) else { return ApiResponse::not_found() };
    let reviews = call.page(pull.reviews.clone());
    ApiResponse::new(200, reviews.iter().map(review_body).collect::<Vec<_>>().into())
}

fn review_body(review: &Review) -> Value {
    json!({ "id": review.id, "user": { "login": review.login }, "state": "APPROVED",
        "commit_id": review.commit, "body": review.body })
}

/// Takes approvals only.
fn review(repository: &Repository, state: &mut State, call: &Call, number: &str) -> ApiResponse {
    let (id, login) = (state.next_id(), call.credential.login.clone());
    let Some(pull) = state.pull(number) else { return ApiResponse::not_found() };
    if call.text("event") != "APPROVE" {
        return ApiResponse::invalid("the event is not supported by this stand-in");
    }
    if pull.author == login {
        let errors = ["Review Can not approve your own pull request"];
        let message = "Unprocessable Entity";
        return ApiResponse::new(422, json!({ "message": message, "errors": errors }));
    }
    let Some(commit) = repository.resolve(call.text("commit_id")) else {
        return ApiResponse::invalid("the commit is not part of the pull request");
    };
    let review = Review { id, login, commit, body: call.text("body").to_owned() };
    pull.reviewers.retain(|reviewer| *reviewer != review.login);
    let response = ApiResponse::new(200, review_body(&review));
    pull.reviews.push(review);
    response
}

fn merge(repository: &Repository, state: &mut State, call: &Call, number: &str) -> ApiResponse {
    let Some(pull) = state.pull(number) else { return ApiResponse::not_found() };
    let (head, base) = (sha(repository, &pull.head), sha(repository, &pull.base));
    let (base_branch, title) = (pull.base.clone(), pull.title.clone());
    if let Some(refusal) = merge_refusal(pull, call, &head) {
        return refusal;
    }
    let method = or(call.text("merge_method"), "merge");
    if !state.merge_methods.iter().any(|allowed| allowed == method) {
        let message = format!("{method} merges are not allowed on this repository.");
        return ApiResponse::refusal(405, &message);
    }
    if let Some(refusal) = missing_check(state, &base_branch, &head) {
        return refusal;
    }
    let title = or(call.text("commit_title"), &title);
    let message = format!("{title}\n\n{}", call.text("commit_message"));
    let Some(sha) = repository.merge(method, &base, &head, &message) else {
        return ApiResponse::refusal(405, "Pull Request is not mergeable");
    };
    repository.set_head(&base_branch, &sha);
    if let Some(pull) = state.pull(number) {
        pull.merge = Some(Merge { sha: sha.clone(), head, base });
    }
    let message = "Pull Request successfully merged";
    ApiResponse::new(200, json!({ "sha": sha, "merged": true, "message": message }))
}

/// Returns the refusal of a merge because of the state or the head of the pull request.
fn merge_refusal(pull: &Pull, call: &Call, head: &str) -> Option<ApiResponse> {
    if pull.merge.is_some() {
        return Some(ApiResponse::refusal(405, "Pull Request is not mergeable"));
    }
    if or(call.text("sha"), head) != head {
        let message = "Head branch was modified. Review and try the merge again.";
        return Some(ApiResponse::refusal(409, message));
    }
    let draft = "Pull Request is still a draft";
    pull.is_draft.then(|| ApiResponse::refusal(405, draft))
}

/// Returns a text, or the default if it is empty.
fn or<'a>(text: &'a str, default: &'a str) -> &'a str {
    if text.is_empty() { default } else { text }
}

fn missing_check(state: &State, base: &str, head: &str) -> Option<ApiResponse> {
    let refusal = |required: &RequiredCheck| {
        let progress = match state.progress(required, head) {
            Progress::Missing => "expected",
            Progress::Pending => "pending",
            Progress::Failed => "failing",
            Progress::Passed => return None,
        };
        let message = format!("Required status check \"{}\" is {progress}.", required.context);
        Some(ApiResponse::refusal(405, &message))
    };
    let mut required = state.required.iter().filter(|required| required.branch == base);
    required.find_map(refusal)
}
