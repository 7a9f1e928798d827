//! Brings a set's corpus into its scratch project.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::set::{Corpus, Document, EvalSet, Meta};
use crate::commands::ingest;
use crate::output::{Format, list, number, text};
use crate::remote::Remote;

/// Documents a call.
const BATCH: usize = 100;
const LOOK: Duration = Duration::from_millis(300);

/// The set's own ids by the service's ids of documents; empty for a repository.
pub type DocumentIds = HashMap<String, String>;

/// Indexes the corpus and waits until every passage has its vector.
pub async fn prepare(
    set: &EvalSet,
    project: &str,
    repo_dir: Option<&Path>,
    remote: &Remote,
    format: Format,
) -> Result<DocumentIds> {
    remote.ensure_project(project).await?;
    let mut ids = DocumentIds::new();
    match &set.corpus {
        Corpus::Documents(documents) => ids = add_documents(documents, project, remote).await?,
        Corpus::Repository(meta) => {
            let dir = repo_dir.context("--repo-dir is needed: the folder with clones")?;
            index(meta, &clone_of(meta, dir)?, project, remote, format).await?;
        }
    }
    let path = format!("/projects/{project}");
    while number(&remote.get(&path, &[]).await?, "pending_vectors") > 0 {
        tokio::time::sleep(LOOK).await;
    }
    Ok(ids)
}

async fn add_documents(
    documents: &[Document],
    project: &str,
    remote: &Remote,
) -> Result<DocumentIds> {
    let mut ids = DocumentIds::new();
    for batch in documents.chunks(BATCH) {
        let documents: Vec<_> = batch
            .iter()
            .map(|d| {
                json!({
                    "doc_id": d.id,
                    "title": if d.title.is_empty() { &d.id } else { &d.title },
                    "content": d.text,
                })
            })
            .collect();
        let body = json!({ "project_key": project, "source": "eval", "documents": documents });
        let answer = remote.post("/ingest/docs", body).await?;
        for document in list(&answer, "documents") {
            ids.insert(text(document, "id").to_owned(), text(document, "doc_id").to_owned());
        }
    }
    Ok(ids)
}

async fn index(
    meta: &Meta,
    clone: &Path,
    project: &str,
    remote: &Remote,
    format: Format,
) -> Result<()> {
    let (owner, name) = meta.repository.split_once('/').context("repository is owner/name")?;
    let body = json!({
        "project_key": project,
        "location": clone,
        "ref": meta.base_commit,
        "owner": owner,
        "name": name,
    });
    let status = remote.post("/ingest/git", body).await?;
    let status = ingest::follow(remote, status, true, format == Format::Json).await?;
    if text(&status, "status") == "FAILED" {
        bail!("{}", status["last_error"]);
    }
    Ok(())
}

/// `<dir>/<owner>/<name>`, `<dir>/<owner>+<name>`, `<dir>/<name>` or `<dir>` itself, with or without
/// a work tree.
fn clone_of(meta: &Meta, dir: &Path) -> Result<PathBuf> {
    let name = meta.repository.rsplit('/').next().unwrap_or_default();
    let places = [
        dir.join(&meta.repository),
        dir.join(meta.repository.replace('/', "+")),
        dir.join(name),
        dir.join(format!("{name}.git")),
        dir.to_path_buf(),
    ];
    let found = places.iter().find(|p| p.join(".git").exists() || p.join("HEAD").exists());
    let found = found.with_context(|| {
        format!("no clone of {} in {}; clone it there first", meta.repository, dir.display())
    })?;
    std::fs::canonicalize(found).context("the clone's path can't be resolved")
}
