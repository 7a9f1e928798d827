//! The task `prompt`, and copies of prompts in git.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use mc_domain::HygieneTask;
use mc_jobs::{CommitPrompts, PromptSettings};
use mc_optimizer::{PromptFile, Section};
use serde_json::json;
use tempfile::TempDir;

use crate::fixture::{Fixture, TIMEOUT};

fn git(directory: &Path, arguments: &[&str]) -> String {
    let identity = ["-c", "user.name=ann", "-c", "user.email=ann@example.org"];
    let identity = [&identity[..], &["-c", "safe.directory=*"]].concat();
    let output = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(identity)
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Git of root changes no checkout of root.
    if rustix::process::geteuid().is_root() {
        let owner = "65534:65534";
        let parent = directory.parent().unwrap();
        let chown = Command::new("chown").args(["-R", owner]).arg(parent).status();
        assert!(chown.unwrap().success());
    }
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn night_without_dialogs_reports_why_nothing_changes() {
    let fixture = Fixture::new().await;
    for is_dry_run in [true, false] {
        let run = fixture.run(HygieneTask::Prompt, is_dry_run).await;
        assert_eq!(run.counts["held_out_cases"], 0);
        let findings = run.findings.to_string();
        assert!(findings.contains("the project has no cases"), "{findings}");
    }
    assert_eq!(fixture.text("select count(*)::text from prompt_versions").await, "0");
}

/// Stores a version in use, and enqueues the job that commits it, as its schedule does.
async fn promote(fixture: &Fixture, version: i32, text: &str) {
    let project = fixture.project;
    let prompt = json!({"instructions": [{"id": "own", "text": text}], "examples": []});
    let quality = json!({"label": "better_in_canary", "gain": 0.12, "interval": [0.05, 0.19]});
    fixture
        .execute("update prompt_versions set state = 'superseded' where state = 'current'")
        .await;
    fixture
        .execute(&format!(
            "insert into prompt_versions (project_id, version, prompt, state, quality, diff)
             values ('{project}', {version}, '{prompt}', 'current', '{quality}', '+[own] {text}')"
        ))
        .await;
    commit(fixture).await;
}

async fn commit(fixture: &Fixture) {
    let mut tx = fixture.db.store().begin().await.unwrap();
    mc_jobs::enqueue(&mut tx, &CommitPrompts {}, None).await.unwrap();
    tx.commit().await.unwrap();
}

async fn wait_for_commit(fixture: &Fixture, version: i32) -> String {
    let started = Instant::now();
    let sql =
        format!("select coalesce(git_commit, '') from prompt_versions where version = {version}");
    loop {
        let commit = fixture.text(&sql).await;
        if !commit.is_empty() {
            return commit;
        }
        assert!(started.elapsed() < TIMEOUT, "no commit");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn version_in_use_is_committed_when_git_is_back() {
    let directory = TempDir::new().unwrap();
    let checkout = directory.path().join("checkout");
    let prompts = PromptSettings { checkout: Some(checkout.clone()), ..PromptSettings::default() };
    let fixture = Fixture::with_prompts(prompts).await;
    promote(&fixture, 1, "Run the tests.").await;
    // The checkout is away: the job fails, and the prompt is in use.
    let failed = "select (count(*) = 0)::int::text from apalis.jobs where job_type = \
                  'commit_prompts' and last_result ->> 'Err' like '%got no commit for shop%'";
    fixture.wait_for_zero(failed).await;
    assert_eq!(fixture.text("select state from prompt_versions").await, "current");

    std::fs::create_dir(&checkout).unwrap();
    git(&checkout, &["init", "--quiet", "--initial-branch=main"]);
    git(&checkout, &["commit", "--quiet", "--allow-empty", "-m", "Start"]);
    commit(&fixture).await;
    let first = wait_for_commit(&fixture, 1).await;
    assert_eq!(git(&checkout, &["rev-parse", "main"]), first);
    let yaml = git(&checkout, &["show", "main:system_prompts/shop.yaml"]);
    let file = PromptFile::from_yaml(&yaml).unwrap();
    assert_eq!((file.project.as_str(), file.version, file.parent), ("shop", 1, None));
    assert_eq!(file.quality.gain, Some(0.12));
    assert_eq!(file.diff, "+[own] Run the tests.");
    assert_eq!(file.prompt.items(Section::Instructions)[0].text, "Run the tests.");

    promote(&fixture, 2, "Run all tests.").await;
    let second = wait_for_commit(&fixture, 2).await;
    assert_eq!(git(&checkout, &["rev-parse", "main~1"]), first);
    assert_eq!(git(&checkout, &["rev-parse", "main"]), second);
}
