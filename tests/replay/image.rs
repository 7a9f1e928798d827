//! The stored rows of a repository, for comparison.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use mc_domain::RepositoryId;
use mc_store::{Store, testing};

use super::Result;

/// Every row that an index run writes of the files: its kind, the path of its file, the hash of its
/// text, the hash of all its fields, and its id.
///
/// Of the fields, only ids, times and `files.source_ref` are left out: a file keeps the commit at
/// which it was read.
const FILES: &str = "
    select 'file' as kind, f.path, encode(f.content_hash, 'hex') as text,
        md5(row(f.content_hash, f.size_bytes, f.language, f.line_count, f.chunker_version,
            f.masking_fingerprint)::text) as fields, f.id::text as id
    from files f where f.repository_id = '{id}'
    union all
    select 'symbol', f.path, encode(s.span_hash, 'hex'),
        md5(row(s.name, s.kind, s.line_start, s.line_end, s.span_hash)::text), ''
    from files f join code_symbols s on s.file_id = f.id where f.repository_id = '{id}'
    union all
    select 'chunk', f.path, encode(c.chunk_hash, 'hex'),
        md5(row(c.chunk_index, c.line_start, c.line_end, c.overlap_lines, c.chunk_hash,
            c.span_hash, c.summary, c.parent_symbol, c.trust)::text), c.passage_id::text
    from files f join code_chunks c on c.file_id = f.id where f.repository_id = '{id}'
    union all
    select 'document', f.path, md5(d.content),
        md5(row(d.source, d.doc_id, d.title, d.url, d.content, d.scope, d.tags, d.message_spans,
            d.trust)::text), d.id::text
    from files f join docs d on d.file_id = f.id where f.repository_id = '{id}'
    union all
    select 'passage', f.path, encode(p.content_hash, 'hex'),
        md5(row(p.source_kind, p.ordinal, p.title, p.location, p.line_start, p.line_end, p.symbols,
            p.scope, p.tags, p.language, p.author, p.context, p.text, p.content_hash)::text),
        p.id::text
    from files f left join docs d on d.file_id = f.id
    cross join lateral (
        select * from passages where file_id = f.id
        union all
        select * from passages where doc_id = d.id) p
    where f.repository_id = '{id}'";

/// The rows of the history of commits, in the same form.
const HISTORY: &str = "
    select 'commit' as kind, c.sha as path, c.sha as text,
        md5(row(c.sha, c.subject, c.committed_at, c.trust)::text) as fields, c.id::text as id
    from history_commits c where c.repository_id = '{id}'
    union all
    select 'commit passage', c.sha, encode(p.content_hash, 'hex'),
        md5(row(p.title, p.location, p.text, p.content_hash)::text), p.id::text
    from history_commits c join passages p on p.commit_id = c.id where c.repository_id = '{id}'
    union all
    select 'commit file', c.sha, f.path, md5(row(c.sha, f.path)::text), ''
    from history_commits c join history_commit_files h on h.commit_id = c.id
    join files f on f.id = h.file_id where c.repository_id = '{id}'";

/// The rows of a repository.
#[derive(Debug, Clone, Default)]
pub struct Image {
    rows: Vec<Row>,
}

#[derive(Debug, Clone)]
struct Row {
    kind: String,
    path: String,
    text: String,
    fields: String,
    id: String,
}

/// The chunks that a commit left as they were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reuse {
    /// Chunks and passages whose text is in the same file before and after.
    pub unchanged: usize,
    /// Those of them that kept their id, and so their vector.
    pub reused: usize,
}

impl Image {
    /// Reads the files, in one statement, so that all rows are of one moment.
    pub async fn of_files(store: &Store, repository: RepositoryId) -> Result<Self> {
        Self::read(store, repository, FILES).await
    }

    /// Reads the history.
    pub async fn of_history(store: &Store, repository: RepositoryId) -> Result<Self> {
        Self::read(store, repository, HISTORY).await
    }

    async fn read(store: &Store, repository: RepositoryId, rows: &str) -> Result<Self> {
        let rows = rows.replace("{id}", &repository.to_string());
        let sql = format!(
            "select coalesce(json_agg(json_build_array(kind, path, text, fields, id)),
                 '[]')::text from ({rows}) found"
        );
        let text = testing::text(store, &sql).await?;
        let rows: Vec<[String; 5]> = serde_json::from_str(&text)?;
        let row =
            |[kind, path, text, fields, id]: [String; 5]| Row { kind, path, text, fields, id };
        Ok(Self { rows: rows.into_iter().map(row).collect() })
    }

    /// Number of all rows.
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// Returns the rows that only one of both has, by kind, as `missing` and `extra`; empty if both
    /// are equal.
    pub fn differences(&self, right: &Self) -> BTreeMap<String, (usize, usize)> {
        let (mine, theirs) = (self.counts(), right.counts());
        let mut differences: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for row in mine.keys().chain(theirs.keys()).collect::<BTreeSet<_>>() {
            let [mine, theirs] = [&mine, &theirs].map(|of| of.get(row).copied().unwrap_or(0));
            if mine != theirs {
                let (missing, extra) = differences.entry(row.0.to_owned()).or_default();
                *missing += theirs.saturating_sub(mine);
                *extra += mine.saturating_sub(theirs);
            }
        }
        differences
    }

    /// Returns the first rows that only one of both has, for a message.
    pub fn examples(&self, right: &Self) -> Vec<String> {
        let (mine, theirs) = (self.counts(), right.counts());
        let differs = |row: &&Key<'_>| mine.get(row) != theirs.get(row);
        let rows = mine.keys().chain(theirs.keys()).collect::<BTreeSet<_>>();
        let row = |row: &Key<'_>| {
            let [mine, theirs] = [&mine, &theirs].map(|of| of.get(row).copied().unwrap_or(0));
            format!("{} of {}: {mine} in place of {theirs}", row.0, row.1)
        };
        rows.into_iter().filter(differs).take(5).map(row).collect()
    }

    /// Compares the chunks of code and the passages of documents with those before, in all files,
    /// and in those that differ.
    pub fn reuse(&self, before: &Self) -> (Reuse, Reuse) {
        let hashes = before.file_hashes();
        let now = self.file_hashes();
        let is_changed = |path: &str| now.get(path) != hashes.get(path);
        let old = before.texts();
        let (mut all, mut changed) = (Reuse::default(), Reuse::default());
        for (key, ids) in self.texts() {
            let Some(old) = old.get(&key) else { continue };
            let unchanged = ids.len().min(old.len());
            let reused = ids.intersection(old).count();
            for reuse in std::iter::once(&mut all).chain(is_changed(key.0).then_some(&mut changed))
            {
                reuse.unchanged += unchanged;
                reuse.reused += reused;
            }
        }
        (all, changed)
    }

    fn counts(&self) -> HashMap<Key<'_>, usize> {
        let mut counts = HashMap::new();
        for row in &self.rows {
            *counts.entry((&*row.kind, &*row.path, &*row.fields)).or_default() += 1;
        }
        counts
    }

    fn file_hashes(&self) -> HashMap<&str, &str> {
        let files = self.rows.iter().filter(|row| row.kind == "file");
        files.map(|row| (&*row.path, &*row.text)).collect()
    }

    /// Ids of the passages by path and text. A chunk has the hash of its normalized text.
    fn texts(&self) -> HashMap<(&str, &str), BTreeSet<&str>> {
        let chunks: BTreeSet<&str> =
            self.rows.iter().filter(|row| row.kind == "chunk").map(|row| &*row.id).collect();
        let mut texts: HashMap<_, BTreeSet<_>> = HashMap::new();
        for row in &self.rows {
            let is_document = row.kind == "passage" && !chunks.contains(&*row.id);
            if row.kind == "chunk" || is_document {
                texts.entry((&*row.path, &*row.text)).or_default().insert(&*row.id);
            }
        }
        texts
    }
}

/// Kind, path and hash of the fields.
type Key<'a> = (&'a str, &'a str, &'a str);

impl Reuse {
    /// Adds another commit.
    pub fn add(&mut self, other: Self) {
        self.unchanged += other.unchanged;
        self.reused += other.reused;
    }

    /// Share of the unchanged chunks that were reused.
    pub fn share(self) -> f64 {
        if self.unchanged == 0 { 1.0 } else { self.reused as f64 / self.unchanged as f64 }
    }
}
