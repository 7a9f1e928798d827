//! The dependencies between crates, as drawn in ARCHITECTURE.md.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Crates in layers, from the bottom. A crate may use those of lower layers, and those before it in
/// its own layer.
const LAYERS: &[&[&str]] = &[
    &["mc-domain", "mc-processor-time", "mc-metrics"],
    &[
        "mc-sanitizer",
        "mc-privileges",
        "mc-files",
        "mc-git",
        "mc-parser-pool",
        "mc-sandbox",
        "mc-sgr",
        "mc-contract",
        "mc-prompt-guard",
        "mc-patch",
        "mc-text-edit",
        "mc-tokens",
        "mc-crypto",
        "mc-postgres",
        "mc-store",
        "mc-model-server",
        "mc-embed",
        "mc-chat",
        "mc-auth",
        "mc-connectors",
        "mc-redis",
    ],
    &["mc-search", "mc-indexer", "mc-import", "mc-optimizer"],
    &["mc-accounts", "mc-memory", "mc-integrations", "mc-rag", "mc-workspaces", "mc-coding"],
    &["mc-jobs", "mc-mcp", "mc-api"],
    &["mc-app"],
    &["mc-bench"],
];

/// Libraries, each with the crates that may use it.
const RESERVED: &[(&str, &[&str])] = &[
    ("sqlx", &["mc-postgres", "mc-store"]),
    ("apalis", &["mc-jobs"]),
    ("apalis-postgres", &["mc-jobs", "mc-postgres"]),
    ("redis", &["mc-redis"]),
    ("tantivy", &["mc-search"]),
    ("axum", &["mc-api", "mc-mcp", "mc-app", "mc-bench", "mc-testkit"]),
    ("rmcp", &["mc-mcp"]),
    ("octocrab", &["mc-connectors"]),
    ("tree-sitter", &["mc-indexer"]),
    ("bpe-openai", &["mc-tokens"]),
    ("tiktoken-rs", &["mc-tokens"]),
    ("seccompiler", &["mc-parser-pool", "mc-sandbox"]),
    ("bollard", &["mc-sandbox"]),
    ("fastembed", &["mc-embed"]),
    ("genai", &["mc-chat"]),
    ("prometheus-client", &["mc-metrics"]),
    ("jsonwebtoken", &["mc-auth"]),
    ("oauth2", &["mc-auth"]),
    ("openidconnect", &["mc-auth"]),
    ("anyhow", &["mc-app", "mc-bench"]),
];

#[test]
fn dependencies_point_downwards() {
    let dependencies = dependencies();
    let order: Vec<&str> = LAYERS.concat();
    let rank = |name: &str| order.iter().position(|known| *known == name);
    for (name, uses) in dependencies.iter().filter(|(name, _)| *name != "mc-testkit") {
        let own = rank(name).unwrap_or_else(|| panic!("{name} has no place in LAYERS"));
        for used in uses.iter().filter(|used| used.starts_with("mc-")) {
            let below = rank(used).is_some_and(|rank| rank < own);
            assert!(below, "{name} must not depend on {used}");
        }
    }
}

#[test]
fn reserved_libraries_are_used_by_their_owners_only() {
    for (name, uses) in dependencies() {
        for (library, owners) in RESERVED {
            let named = uses.iter().any(|used| used == library);
            assert!(!named || owners.contains(&name.as_str()), "{name} must not name {library}");
        }
    }
}

#[test]
fn product_has_no_code_for_tests() {
    for package in packages() {
        let name = name(&package);
        for used in uses(&package).filter(|_| !["mc-testkit", "mc-bench"].contains(&name)) {
            let features = used["features"].as_array().expect("features");
            let is_for_tests = features.iter().any(|feature| feature == "testing");
            assert!(!is_for_tests, "{name} must not enable {}/testing", used["name"]);
        }
    }
}

#[test]
fn api_begins_no_transaction() {
    for (file, source) in rust_sources("api/src") {
        for call in [".begin()", ".begin_frequent()", ".begin_with_memory_lock("] {
            assert!(!source.contains(call), "{} calls {call}", file.display());
        }
    }
}

/// Files that may read an `UntrustedText`: its own, and the renderers for a model, a terminal and
/// REST.
const RENDERERS: [&str; 5] = [
    "api/src/problem.rs",
    "app/src/terminal.rs",
    "domain/src/untrusted.rs",
    "mcp/src/render/model_text.rs",
    "mcp/src/render/untrusted_block.rs",
];

#[test]
fn untrusted_text_is_read_by_renderers_only() {
    let mut found = 0;
    for (file, source) in rust_sources("") {
        if source.contains("unrendered") {
            let is_renderer = RENDERERS.iter().any(|renderer| file.ends_with(renderer));
            assert!(is_renderer, "{} must not read untrusted text", file.display());
            found += 1;
        }
    }
    assert_eq!(found, RENDERERS.len());
}

/// Constructors with text that a model reads.
const MODEL_OUTLETS: [&str; 15] = [
    "ContentBlock::embedded_text(",
    "ContentBlock::json(",
    "ContentBlock::text(",
    "ErrorData::header_mismatch(",
    "ErrorData::internal_error(",
    "ErrorData::invalid_params(",
    "ErrorData::invalid_request(",
    "ErrorData::new(",
    "ErrorData::parse_error(",
    "ErrorData::resource_not_found(",
    "Prompt::new(",
    "PromptMessage::new_text(",
    "Resource::new(",
    "ResourceContents::blob(",
    "ResourceContents::text(",
];

#[test]
fn models_read_rendered_text_only() {
    let mut found = 0;
    for (file, source) in rust_sources("mcp/src") {
        let used: Vec<_> =
            MODEL_OUTLETS.iter().filter(|outlet| source.contains(**outlet)).collect();
        let is_own = file.ends_with("render/model_text.rs");
        assert!(is_own || used.is_empty(), "{} must use a ModelText: {used:?}", file.display());
        found += used.len();
    }
    assert!(found > 0, "no text for a model");
}

/// Returns the Rust files below a directory of `crates`, each with its text.
fn rust_sources(dir: &str) -> impl Iterator<Item = (PathBuf, String)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    rust_files(&crates.join(dir)).into_iter().map(|file| {
        let source = fs::read_to_string(&file).expect("a source file");
        (file, source)
    })
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("a directory");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

/// Returns the dependencies of each crate of the workspace, without those of its tests.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let names =
        |package: &Value| uses(package).map(|used| name(used).to_owned()).collect::<Vec<_>>();
    packages().iter().map(|package| (name(package).to_owned(), names(package))).collect()
}

/// Returns the dependencies of a package, without those of its tests.
fn uses(package: &Value) -> impl Iterator<Item = &Value> {
    let all = package["dependencies"].as_array().expect("dependencies");
    all.iter().filter(|used| used["kind"].as_str() != Some("dev"))
}

fn name(package: &Value) -> &str {
    package["name"].as_str().expect("a name")
}

/// Returns the packages of the workspace, as cargo describes them.
fn packages() -> Vec<Value> {
    let package = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    let manifest = format!("{package}/Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version=1",
            "--manifest-path",
            manifest.as_str(),
        ])
        .output()
        .expect("cargo metadata runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    metadata["packages"].as_array().expect("packages").clone()
}
