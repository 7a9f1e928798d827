//! Loads of passages with the data of their source.

use chrono::{DateTime, Utc};
use mc_domain::{DialogId, PassageId, ProjectId, RepositoryId, UserId};
use serde_json::Value;
use uuid::Uuid;

use super::{CodeFacet, CommitFacet, DocFacet, IndexedPassage, Passage, RecordFacet};
use crate::error::{record_meta, word};
use crate::row::{read, uuids};
use crate::{Result, Store};

/// Loads passages of one project for results, in no order. Passages that are deleted, expired,
/// superseded or of another project are left out.
pub async fn load(store: &Store, project: ProjectId, ids: &[PassageId]) -> Result<Vec<Passage>> {
    let rows = sqlx::query_as!(
        Row,
        r#"select p.id as "id!", p.project_id as "project_id!", p.private_to,
               p.source_kind as "source_kind!",
                  p.record_kind as "record_kind!", p.title as "title!", coalesce(h.sha,
                      p.location) as "place!",
                  p.symbols as "symbols!", p.scope as "scope!", p.tags as "tags!",
                      p.language as "language!",
                  p.author as "author!", p.context as "context!", p.text as "text!",
                      p.updated_at as "updated_at!",
                  p.dialog_id, p.line_start as first_line, p.line_end as last_line,
                  r.id as "record_id?", r.kind as "kind?", r.state as "state?", r.ttl as "ttl?",
                  r.trust as "trust?", r.recall_count as "hits?", r.use_count as "used?",
                      r.open_count as "opened?",
                  r.cite_count as "cited?", r.pull_request_count as "merged?",
                      r.skip_count as "passed_over?", r.version as "version?", r.last_used_at,
                  r.created_at as "record_created?", r.updated_at as "record_updated?",
                  r.meta as "meta?",
                  case when r.patch_sha is not null then mc.patch_ci_status(r.project_id,
                      r.patch_sha) end as ci,
                  exists(select from record_citations m where m.record_id = r.id) as "cites!",
                  (select length(w.content) from docs w where w.record_id = r.id
                   order by w.id desc limit 1) as whole_chars,
                  (select s.source from record_contributions s
                   where s.record_id = r.id and s.version = r.version
                   order by s.id limit 1) as "record_source?",
                  c.file_id as "file_id?", c.trust as "code_trust?",
                      p.repository_id,
                  c.chunk_index as "chunk_index?", c.line_start as "line_start?",
                  c.line_end as "line_end?", c.overlap_lines as "overlap_lines?",
                  c.chunk_hash as "chunk_hash?", c.span_hash as "span_hash?",
                  c.summary as "summary?", c.parent_symbol, f.source_ref as "source_ref?",
                  d.id as "doc_id?", d.title as "doc_title?", d.url as "doc_url?",
                  d.source as "doc_source?", coalesce(b.trust, d.trust) as "doc_trust?",
                  h.sha as "sha?", h.trust as "commit_trust?"
           from passages p
           left join memory_records r on r.id = p.record_id
           left join code_chunks c on c.passage_id = p.id
           left join docs d on d.id = p.doc_id
           left join files f on f.id = coalesce(c.file_id, d.file_id)
           -- The record of the document.
           left join memory_records b on b.id = d.record_id
           left join history_commits h on h.id = p.commit_id
           where p.id = any($1) and p.project_id = $2
             and (r.id is null or (r.state in ('active', 'stale') and r.ttl > now()))
             and (d.record_id is null
                  or (b.state in ('active', 'stale') and b.ttl > now()
                      and b.visibility <> 'proposed'))"#,
        &uuids(ids),
        project.0
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    rows.into_iter().map(Row::into_passage).collect()
}

/// The columns of a passage and of its source. Of the four groups of optional columns, one is set.
struct Row {
    id: Uuid,
    project_id: Uuid,
    private_to: Option<Uuid>,
    source_kind: String,
    record_kind: String,
    title: String,
    place: String,
    symbols: Vec<String>,
    scope: Vec<String>,
    tags: Vec<String>,
    language: String,
    author: String,
    context: String,
    text: String,
    updated_at: DateTime<Utc>,
    dialog_id: Option<Uuid>,
    first_line: Option<i32>,
    last_line: Option<i32>,

    record_id: Option<Uuid>,
    kind: Option<String>,
    state: Option<String>,
    ttl: Option<DateTime<Utc>>,
    trust: Option<String>,
    hits: Option<i32>,
    used: Option<i32>,
    opened: Option<i32>,
    cited: Option<i32>,
    merged: Option<i32>,
    passed_over: Option<i32>,
    version: Option<i32>,
    last_used_at: Option<DateTime<Utc>>,
    record_created: Option<DateTime<Utc>>,
    record_updated: Option<DateTime<Utc>>,
    meta: Option<Value>,
    ci: Option<String>,
    cites: bool,
    whole_chars: Option<i32>,
    record_source: Option<String>,

    file_id: Option<Uuid>,
    code_trust: Option<String>,
    repository_id: Option<Uuid>,
    chunk_index: Option<i32>,
    line_start: Option<i32>,
    line_end: Option<i32>,
    overlap_lines: Option<i32>,
    chunk_hash: Option<Vec<u8>>,
    span_hash: Option<Vec<u8>>,
    summary: Option<String>,
    parent_symbol: Option<String>,
    source_ref: Option<String>,

    doc_id: Option<Uuid>,
    doc_title: Option<String>,
    doc_url: Option<String>,
    doc_source: Option<String>,
    doc_trust: Option<String>,

    sha: Option<String>,
    commit_trust: Option<String>,
}

impl Row {
    fn into_passage(mut self) -> Result<Passage> {
        let (record, code, doc) = (self.take_record()?, self.take_code()?, self.take_doc()?);
        let commit = self.take_commit()?;
        let indexed = read!(self => IndexedPassage {
            id: self.id.into(), project: self.project_id.into(),
            private_to: self.private_to.map(UserId), source: word(&self.source_kind)?, record_kind,
            title, location: self.place, symbols, scope, tags,
            repository: self.repository_id.map(RepositoryId), language, author, context, text
        })?;
        let (dialog, updated_at) = (self.dialog_id.map(DialogId), self.updated_at);
        Ok(Passage { indexed, updated_at, record, code, doc, dialog, commit })
    }

    fn take_record(&mut self) -> Result<Option<RecordFacet>> {
        let (Some(id), Some(kind), Some(state), Some(trust), Some(ttl)) =
            (self.record_id, &self.kind, &self.state, &self.trust, self.ttl)
        else {
            return Ok(None);
        };
        Ok(Some(RecordFacet {
            id: id.into(),
            kind: word(kind)?,
            state: word(state)?,
            trust: word(trust)?,
            source: self.record_source.take().filter(|source| !source.is_empty()),
            ttl,
            recall_count: self.hits.unwrap_or_default(),
            use_count: self.used.unwrap_or_default(),
            open_count: self.opened.unwrap_or_default(),
            cite_count: self.cited.unwrap_or_default(),
            pull_request_count: self.merged.unwrap_or_default(),
            skip_count: self.passed_over.unwrap_or_default(),
            version: self.version.unwrap_or(1),
            last_used_at: self.last_used_at,
            created_at: self.record_created.unwrap_or(self.updated_at),
            updated_at: self.record_updated.unwrap_or(self.updated_at),
            meta: self.meta.take().map(record_meta).transpose()?.unwrap_or_default(),
            cites: self.cites,
            ci_status: self.ci.as_deref().map(word).transpose()?,
            whole_chars: self.whole_chars.and_then(|chars| usize::try_from(chars).ok()),
        }))
    }

    fn take_code(&mut self) -> Result<Option<CodeFacet>> {
        let (Some(file), Some(repository), Some(trust)) =
            (self.file_id, self.repository_id, &self.code_trust)
        else {
            return Ok(None);
        };
        Ok(Some(CodeFacet {
            file_id: file.into(),
            trust: word(trust)?,
            repository_id: repository.into(),
            chunk_index: self.chunk_index.unwrap_or_default(),
            line_start: self.line_start.unwrap_or(1),
            line_end: self.line_end.unwrap_or(1),
            overlap_lines: self.overlap_lines.unwrap_or_default(),
            chunk_hash: hex::encode(self.chunk_hash.take().unwrap_or_default()),
            span_hash: hex::encode(self.span_hash.take().unwrap_or_default()),
            summary: self.summary.take().unwrap_or_default(),
            parent_symbol: self.parent_symbol.take(),
            source_ref: self.source_ref.take().unwrap_or_default(),
        }))
    }

    fn take_doc(&mut self) -> Result<Option<DocFacet>> {
        let (Some(id), Some(trust)) = (self.doc_id, &self.doc_trust) else { return Ok(None) };
        Ok(Some(DocFacet {
            id: id.into(),
            trust: word(trust)?,
            title: self.doc_title.take().unwrap_or_default(),
            url: self.doc_url.take().unwrap_or_default(),
            source: self.doc_source.take().unwrap_or_default(),
            lines: self.first_line.zip(self.last_line),
            source_ref: self.source_ref.take().unwrap_or_default(),
        }))
    }

    fn take_commit(&mut self) -> Result<Option<CommitFacet>> {
        let (Some(sha), Some(trust)) = (self.sha.take(), &self.commit_trust) else {
            return Ok(None);
        };
        Ok(Some(CommitFacet { sha, trust: word(trust)? }))
    }
}
