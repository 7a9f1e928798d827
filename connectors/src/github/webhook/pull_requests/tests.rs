use super::*;

fn parsed(kind: &str, action: &str, pull: &str, rest: &str) -> PullRequestEvent {
    let body = format!(
        r#"{{"action": "{action}", {rest} "repository": {{"full_name": "octocat/hello"}},
        "pull_request": {{"number": 12, "title": "Mend the delay", "body": "Fixes #7, for CS-214",
        "user": {{"login": "vera"}}, "head": {{"ref": "ABC-3-delay", "sha": "{}"}},
        "base": {{"ref": "main", "sha": "{}"}}, "merge_commit_sha": "{}", {pull}
        "html_url": "https://git.example.org/octocat/hello/pull/12",
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-02T03:04:05Z"}}}}"#,
        "AB".repeat(20),
        "cd".repeat(20),
        "ef".repeat(20)
    );
    match parse(kind, serde_json::from_str(&body).expect("JSON")) {
        Ok(Event::PullRequest(change)) => change,
        other => panic!("{other:?}"),
    }
}

#[test]
fn pull_request_has_its_present_fields() {
    let open = parsed("pull_request", "opened", r#""state": "open", "merged": false,"#, "");
    let expected = PullRequestEvent {
        external_id: "octocat/hello!12".to_owned(),
        title: "Mend the delay".to_owned(),
        state: PullRequestState::Open,
        author: Some("vera".to_owned()),
        head_sha: Some("ab".repeat(20)),
        merge_sha: None,
        base_ref: Some("main".to_owned()),
        url: "https://git.example.org/octocat/hello/pull/12".to_owned(),
        tasks: ["octocat/hello#7", "CS-214", "ABC-3"].map(str::to_owned).into(),
        reviews: Vec::new(),
        comment: None,
        opened_at: field::time("2026-01-01T00:00:00Z"),
        closed_at: None,
        merged_at: None,
        updated_at: field::time("2026-01-02T03:04:05Z"),
    };
    assert_eq!(open, expected);
}

#[test]
fn only_a_merged_pull_request_has_a_merge_commit() {
    let merged = parsed("pull_request", "closed", r#""state": "closed", "merged": true,"#, "");
    assert_eq!((merged.state, merged.merge_sha), (PullRequestState::Merged, Some("ef".repeat(20))));
    let at = r#""state": "closed", "merged_at": "2026-01-02T03:04:05Z","#;
    assert_eq!(parsed("pull_request_review", "submitted", at, "").state, PullRequestState::Merged);
    let closed = parsed("pull_request", "closed", r#""state": "closed", "merged": false,"#, "");
    assert_eq!((closed.state, closed.merge_sha), (PullRequestState::Closed, None));
}

#[test]
fn pull_request_has_the_times_of_its_end() {
    let times = r#""state": "closed", "closed_at": "2026-01-02T03:04:05Z",
        "merged_at": "2026-01-02T03:04:04Z","#;
    let merged = parsed("pull_request", "closed", times, "");
    assert_eq!(merged.closed_at, field::time("2026-01-02T03:04:05Z"));
    assert_eq!(merged.merged_at, field::time("2026-01-02T03:04:04Z"));
}

#[test]
fn review_has_reviewer_and_decision() {
    let review = |state: &str, body: &str| {
        let rest = format!(
            r#""review": {{"id": 5, "user": {{"login": "omar"}}, "state": "{state}", "body": {body},
            "submitted_at": "2026-01-02T03:04:00Z"}},"#
        );
        parsed("pull_request_review", "submitted", r#""state": "open","#, &rest)
    };
    let approved = review("approved", r#""Fine.""#);
    let source_updated_at = field::time("2026-01-02T03:04:00Z");
    let state = Some(PullRequestReview::Approved);
    assert_eq!(
        approved.reviews,
        [Review { reviewer: "omar".to_owned(), state, source_updated_at }]
    );
    let comment = approved.comment.expect("what was written");
    assert_eq!((comment.id.as_str(), comment.text.as_str()), ("review-5", "Fine."));
    assert_eq!(
        review("CHANGES_REQUESTED", "null").reviews[0].state,
        Some(PullRequestReview::ChangesRequested)
    );
    assert_eq!(review("dismissed", "null").reviews[0].state, None);
    let mere = review("commented", "null");
    assert_eq!((mere.reviews, mere.comment), (Vec::new(), None));
}

#[test]
fn comment_on_a_line_has_an_id_of_its_own() {
    let rest = r#""comment": {"id": 5, "body": "Why?", "updated_at": "2026-01-02T03:04:00Z"},"#;
    let comment = |action: &str| {
        let change = parsed("pull_request_review_comment", action, "", rest);
        change.comment.expect("a comment")
    };
    assert_eq!((comment("created").id.as_str(), comment("created").is_deleted), ("line-5", false));
    assert!(comment("deleted").is_deleted);
}
