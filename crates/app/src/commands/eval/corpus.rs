//! Indexing of the corpus of a set into its temporary project.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::set::{Corpus, Document, EvalSet, Meta};
use crate::api_client::ApiClient;
use crate::commands::ingest;
use crate::output::{Format, list, number, text};

/// Documents per request.
const BATCH_SIZE: usize = 100;
/// Maximum number of messages in one conversation.
const CONVERSATION_MAX_MESSAGES: usize = 500;
/// Interval of the check whether every passage has its vector.
const POLL_INTERVAL: Duration = Duration::from_millis(300);

/// Mapping from the documents of a search response to the ids of the set; empty for a repository.
#[derive(Default)]
pub struct DocumentIds(HashMap<String, Vec<(i64, String)>>);

impl DocumentIds {
    /// Returns the id of the last part of a document that begins at or before a line.
    pub fn at(&self, document: &str, line: i64) -> Option<&str> {
        let parts = self.0.get(document)?;
        let count = parts.partition_point(|(first, _)| *first <= line);
        parts.get(count.saturating_sub(1)).map(|(_, id)| id.as_str())
    }
}

/// Indexes the corpus and waits until every passage has its vector.
pub async fn prepare(
    set: &EvalSet,
    project: &str,
    repo_dir: Option<&Path>,
    remote: &ApiClient,
    format: Format,
) -> Result<DocumentIds> {
    remote.ensure_project(project).await?;
    let mut ids = DocumentIds::default();
    match &set.corpus {
        Corpus::Documents(documents) => ids = add_documents(documents, project, remote).await?,
        Corpus::Repository(meta) => {
            let dir = repo_dir
                .context("--repo-dir is missing; set it to the directory with the clones")?;
            index(meta, &find_clone(meta, dir)?, project, remote, format).await?;
        }
    }
    let path = format!("/projects/{project}");
    while number(&remote.get(&path, &[]).await?, "pending_vectors") > 0 {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Ok(ids)
}

async fn add_documents(
    documents: &[Document],
    project: &str,
    remote: &ApiClient,
) -> Result<DocumentIds> {
    let mut entries: Vec<Entry> = documents.chunk_by(same_session).flat_map(entries).collect();
    let mut ids = DocumentIds::default();
    for batch in entries.chunks_mut(BATCH_SIZE) {
        let documents: Vec<_> = batch.iter_mut().map(|entry| entry.body.take()).collect();
        let body = json!({ "project_key": project, "source": "eval", "documents": documents });
        let response = remote.post("/ingest/docs", body).await?;
        for (document, entry) in list(&response, "documents").iter().zip(batch) {
            ids.0.insert(text(document, "id").to_owned(), std::mem::take(&mut entry.parts));
        }
    }
    Ok(ids)
}

/// A document in the request format, and the first line and id of each row of the set in it.
struct Entry {
    body: Value,
    parts: Vec<(i64, String)>,
}

fn same_session(a: &Document, b: &Document) -> bool {
    a.metadata.session.is_some() && a.metadata.session == b.metadata.session
}

/// Converts the messages of one session to conversations, and any other row to a document.
fn entries(rows: &[Document]) -> Vec<Entry> {
    match &rows[0].metadata.session {
        Some(_) => rows.chunks(CONVERSATION_MAX_MESSAGES).map(conversation).collect(),
        None => rows.iter().map(document).collect(),
    }
}

fn document(row: &Document) -> Entry {
    let title = if row.title.is_empty() { &row.id } else { &row.title };
    let body = json!({ "doc_id": row.id, "title": title, "content": row.text });
    Entry { body, parts: vec![(0, row.id.clone())] }
}

fn conversation(rows: &[Document]) -> Entry {
    let first = &rows[0];
    let mut line = 1;
    let mut parts = Vec::with_capacity(rows.len());
    let messages: Vec<_> = rows
        .iter()
        .map(|row| {
            parts.push((line, row.id.clone()));
            // The service separates messages with a blank line.
            line += i64::try_from(row.text.split('\n').count()).unwrap_or(i64::MAX - 1) + 1;
            let (author, text) = split_author(&row.text);
            json!({ "author": author, "text": text })
        })
        .collect();
    let title = first.metadata.date.as_deref().unwrap_or(&first.id);
    let body = json!({ "doc_id": first.id, "title": title, "messages": messages });
    Entry { body, parts }
}

/// Splits `Maria: I moved.` into the author and the text.
fn split_author(text: &str) -> (Option<&str>, &str) {
    let is_name = |name: &str| {
        name.split(' ').count() <= 3
            && name.chars().all(|c| c.is_alphanumeric() || " .-".contains(c))
    };
    match text.split_once(": ") {
        Some((author, text)) if is_name(author) => (Some(author), text),
        _ => (None, text),
    }
}

async fn index(
    meta: &Meta,
    clone: &Path,
    project: &str,
    remote: &ApiClient,
    format: Format,
) -> Result<()> {
    let (owner, name) = meta.repository.split_once('/').context("repository must be owner/name")?;
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

/// Finds the clone of a repository: `<dir>/<owner>/<name>`, `<dir>/<owner>+<name>`, `<dir>/<name>`
/// or `<dir>` itself, with or without a work tree.
fn find_clone(meta: &Meta, dir: &Path) -> Result<PathBuf> {
    let name = meta.repository.rsplit('/').next().unwrap_or_default();
    let candidates = [
        dir.join(&meta.repository),
        dir.join(meta.repository.replace('/', "+")),
        dir.join(name),
        dir.join(format!("{name}.git")),
        dir.to_path_buf(),
    ];
    let found = candidates.iter().find(|p| p.join(".git").exists() || p.join("HEAD").exists());
    let found = found.with_context(|| {
        format!("no clone of {} in {}; clone it there first", meta.repository, dir.display())
    })?;
    std::fs::canonicalize(found).context("the path of the clone can't be resolved")
}
