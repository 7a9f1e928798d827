//! `/rag/search`: questions to a repository that an index run has read.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::TestApi;
use crate::repositories::ended;

/// A shop: each file with a subject of its own.
const FILES: &[(&str, &str)] = &[
    ("README.md", "# Shop\n\nRun the tests with `cargo test`. The service listens on port 8080.\n"),
    (
        "src/cart/total.rs",
        "/// Sums the prices of a cart, and subtracts its discount.\n\
         pub fn cart_total(prices: &[u64], discount: u64) -> u64 {\n    \
             prices.iter().sum::<u64>().saturating_sub(discount)\n}\n",
    ),
    (
        "src/cart/coupon.rs",
        "/// Checks that a coupon has not expired.\n\
         pub fn is_coupon_valid(expires_at: u64, now: u64) -> bool {\n    now < expires_at\n}\n",
    ),
    (
        "src/payment/retry.rs",
        "/// Retries a failed payment with exponential backoff.\n\
         pub fn payment_backoff(attempt: u32) -> u64 {\n    250 << attempt.min(6)\n}\n",
    ),
    (
        "src/payment/gateway.rs",
        "/// Sends a charge to the payment gateway over HTTP.\n\
         pub struct GatewayClient {\n    pub endpoint: String,\n}\n\n\
         impl GatewayClient {\n    pub fn charge(&self, cents: u64) -> String {\n        \
             format!(\"{}/charge/{cents}\", self.endpoint)\n    }\n}\n",
    ),
    (
        "src/stock/reserve.rs",
        "/// Reserves stock for an order until it is paid.\n\
         pub fn reserve_stock(available: u32, wanted: u32) -> Option<u32> {\n    \
             available.checked_sub(wanted)\n}\n",
    ),
    (
        "src/mail/template.rs",
        "/// Fills the template of the confirmation mail.\n\
         pub fn confirmation_mail(name: &str) -> String {\n    format!(\"Dear {name}\")\n}\n",
    ),
    (
        "src/auth/password.rs",
        "/// Compares the hash of a password in constant time.\n\
         pub fn verify_password(stored: &[u8], given: &[u8]) -> bool {\n    \
             stored.iter().zip(given).fold(0, |all, (a, b)| all | (a ^ b)) == 0\n}\n",
    ),
    (
        "src/search/tokenize.rs",
        "/// Splits a product name into lower-case words.\n\
         pub fn tokenize_name(name: &str) -> Vec<String> {\n    \
             name.split_whitespace().map(str::to_lowercase).collect()\n}\n",
    ),
    (
        "docs/shipping.md",
        "# Shipping\n\n## Parcel sizes\n\nA parcel of more than 30 kilograms goes by freight.\n",
    ),
];

/// Questions, each with the file that answers it.
const QUESTIONS: &[(&str, &str)] = &[
    ("How do I run the tests?", "README.md"),
    ("Where is the total of a cart computed with its discount?", "src/cart/total.rs"),
    ("is_coupon_valid", "src/cart/coupon.rs"),
    ("What is the backoff when a payment fails?", "src/payment/retry.rs"),
    ("Which code sends a charge to the gateway?", "src/payment/gateway.rs"),
    ("How is stock reserved for an order?", "src/stock/reserve.rs"),
    ("confirmation mail template", "src/mail/template.rs"),
    ("Where are password hashes compared?", "src/auth/password.rs"),
    ("How are product names split into words?", "src/search/tokenize.rs"),
    ("When does a parcel go by freight?", "docs/shipping.md"),
];

fn repository() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, content) in FILES {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    git(directory.path(), &["init", "--quiet", "--initial-branch=main"]);
    git(directory.path(), &["add", "."]);
    git(directory.path(), &["commit", "--quiet", "-m", "Add the shop"]);
    directory
}

fn git(directory: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.arg("-C").arg(directory).args(["-c", "user.name=t", "-c", "user.email=t@example.org"]);
    assert!(git.args(arguments).status().unwrap().success());
}

/// Indexes the repository as `acme/shop`.
async fn indexed(api: &TestApi, repository: &TempDir) {
    let location = repository.path().to_str().unwrap();
    let request = json!({"project_key": "shop", "location": location, "owner": "acme",
        "name": "shop"});
    let run = api.post("/ingest/git", request).await.ok();
    let run = ended(api, &run).await;
    assert_eq!(run["status"], "SUCCEEDED", "{run}");
    assert_eq!(run["is_ready"], true, "{run}");
}

fn paths(answer: &Value) -> Vec<&str> {
    answer["matches"].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_questions_are_answered_by_their_files() {
    let (api, repository) = (TestApi::start().await, repository());
    let _work = api.work_and_index();
    let ask = async |body: Value| api.post("/rag/search", body).await;
    let refused = ask(json!({"project_key": "shop", "rawQuery": "anything"})).await;
    assert_eq!(refused.status, 409, "{}", refused.body);
    indexed(&api, &repository).await;

    for (question, file) in QUESTIONS {
        let answer = ask(json!({"project_key": "shop", "rawQuery": question})).await.ok();
        let first: Vec<_> = paths(&answer).into_iter().take(3).collect();
        assert!(first.contains(file), "{question}: {first:?}");
        assert_eq!(answer["repoName"], "shop");
        assert_eq!(answer["contextMissing"], false, "{answer}");
        assert!(answer["contextTokens"].as_u64().unwrap() <= 4_000);
        assert_eq!(answer["appliedModules"][0], "profile:default");
        let commit = answer["matches"][0]["metadata"]["source_ref"].as_str().unwrap();
        assert_eq!(commit.len(), 40);
        let prompt = answer["augmentedPrompt"].as_str().unwrap();
        assert!(prompt.contains(question), "{prompt}");
    }
    let answer = json!({"rawQuery": "reserve_stock", "displayRepoName": "all"});
    let answer = api.post("/rag/search/global", answer).await.ok();
    assert_eq!(paths(&answer)[0], "src/stock/reserve.rs");
    assert_eq!((&answer["repoOwner"], &answer["repoName"]), (&json!("global"), &json!("all")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_out_of_range_are_corrected_and_unknown_names_are_errors() {
    let (api, repository) = (TestApi::start().await, repository());
    let _work = api.work_and_index();
    indexed(&api, &repository).await;
    let ask = async |changes: Value| {
        let mut body = json!({"project_key": "shop", "rawQuery": "payment"});
        body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        api.post("/rag/search", body).await
    };
    let answer = ask(json!({"topK": 400, "maxContextTokens": 90_000,
        "multiQuery": {"maxQueries": 60}}))
    .await
    .ok();
    let warnings = answer["warnings"].to_string();
    for name in ["topK", "maxContextTokens", "multiQuery"] {
        assert!(warnings.contains(name), "{name}: {warnings}");
    }
    let answer = ask(json!({"filters": {"pathGlob": "src/payment/**"}})).await.ok();
    assert!(paths(&answer).iter().all(|path| path.starts_with("src/payment/")), "{answer}");
    let answer = ask(json!({"rawQuery": "zebra quagga okapi", "filters": {"languages": ["ruby"]}}))
        .await
        .ok();
    assert_eq!(answer["noResults"], true, "{answer}");
    assert!(answer["noResultsReason"].is_string() && answer["contextMissing"] == true, "{answer}");

    let unknown = ask(json!({"repoOwner": "acme", "repoName": "none"})).await;
    assert_eq!((unknown.status.as_u16(), &unknown.body["field"]), (404, &json!("repoName")));
    let unknown = ask(json!({"enabledModules": ["query.guess"]})).await;
    assert_eq!(unknown.status, 400, "{}", unknown.body);
    let missing = ask(json!({"enabledModules": ["post.cross-encoder"]})).await;
    assert_eq!(missing.body["field"], "enabledModules", "{}", missing.body);
}
