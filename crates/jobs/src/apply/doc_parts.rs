//! What people say of issues and changes, and what versions bring: documents, made anew from what
//! was told of their parts whenever one of those changes.

use chrono::{DateTime, Utc};
use mc_connectors::{Comment, Release, Thread};
use mc_domain::{Policy, ProjectId, Provider};
use mc_indexer::chunker::Limits;
use mc_indexer::conversation::{self, Message};
use mc_indexer::document::{self, Page};
use mc_memory::content_filter::{filter_field, filter_field_text, run_blocking};
use mc_memory::task_comment::is_ours;
use mc_sanitizer::{Sanitized, mask_with};
use mc_store::doc_parts::{self, DocKey, DocPart, NewDocPart};
use mc_store::policies::sanitizing;
use mc_store::{Error, Tx, docs, task_comments};

use crate::apply::pull_request::at;

/// Comments that a document is made of at most: the newest.
const COMMENTS: usize = 200;
/// The one part of a document that has no others.
const NOTES: &str = "";

/// What was said of an issue or a change, as a project's policy has it. Made before the transaction
/// that writes it: masking much takes long.
#[derive(Debug)]
pub struct DocPartBatch {
    source: String,
    doc_id: String,
    title: String,
    url: String,
    texts: Vec<NewDocPart>,
    listed: Option<Listed>,
}

/// What comes of a system's list of comments besides them.
#[derive(Debug)]
struct Listed {
    /// When the system was asked.
    at: DateTime<Utc>,
    /// Their ids, where there are no others.
    all: Option<Vec<String>>,
}

impl DocPartBatch {
    /// Comments as the system tells of them one by one. What says no time was said at `heard_at`.
    /// None is taken in unless the project's policy says so, but what is gone goes.
    pub fn told(
        policy: &Policy,
        (system, of): (Provider, &Thread),
        said: &[Comment],
        heard_at: DateTime<Utc>,
    ) -> Self {
        let is_known = |comment: &&Comment| comment.is_deleted || policy.trackers.import_comments;
        let known = said.iter().filter(is_known).filter(|comment| !is_ours(&comment.text));
        Self {
            source: source(system),
            doc_id: of.external_id.clone(),
            title: filter_field_text(policy, &of.title),
            url: filter_field_text(policy, &of.url),
            texts: known.map(|comment| as_text(policy, comment, heard_at)).collect(),
            listed: None,
        }
    }

    /// Comments as the system listed them when it was asked at `listed_at`, oldest first; where
    /// they are all that there are (`is_whole`), the others that are known are gone.
    pub fn listed(
        policy: &Policy,
        of: (Provider, &Thread),
        said: &[Comment],
        listed_at: DateTime<Utc>,
        is_whole: bool,
    ) -> Self {
        let ids = || said.iter().map(|comment| comment.id.clone()).collect();
        let newest = said.len().saturating_sub(COMMENTS);
        Self {
            listed: Some(Listed { at: listed_at, all: is_whole.then(ids) }),
            ..Self::told(policy, of, &said[newest..], Utc::now())
        }
    }

    fn whole(&self) -> DocKey<'_> {
        DocKey { source: &self.source, doc_id: &self.doc_id }
    }
}

/// Takes in what was said of an issue or a change, by whichever way it was heard of: one document
/// for each, of the source [`source`], in which every comment is found by itself and read with the
/// two before it. What was said of a comment later counts, in whichever order it comes. Answers
/// whether the document is another now.
pub async fn write(
    tx: &mut Tx,
    project: ProjectId,
    policy: &Policy,
    said: &DocPartBatch,
) -> Result<bool, Error> {
    doc_parts::lock(tx, project, said.whole()).await?;
    // Whoever lists the comments says anew what they belong to as well.
    if !put_texts(tx, project, said).await? && said.listed.is_none() {
        return Ok(false);
    }
    let most = i64::try_from(COMMENTS).unwrap_or(i64::MAX);
    let texts = doc_parts::list(tx, project, said.whole(), most).await?;
    let page = page(said.whole(), said.title.clone(), said.url.clone());
    put_conversation(tx, project, policy, page, texts).await
}

/// Forgets what was said of an issue or a change; answers whether anything was.
pub async fn forget(
    tx: &mut Tx,
    project: ProjectId,
    system: Provider,
    external_id: &str,
) -> Result<bool, Error> {
    let source = source(system);
    doc_parts::lock(tx, project, DocKey { source: &source, doc_id: external_id }).await?;
    docs::remove(tx, project, &source, external_id).await
}

/// Takes in what a version brings, as a document of the source `releases:owner/name`; answers
/// whether it is another than before.
pub(crate) async fn publish(
    tx: &mut Tx,
    project: ProjectId,
    policy: &Policy,
    release: &Release,
    heard_at: DateTime<Utc>,
) -> Result<bool, Error> {
    let source = format!("releases:{}", release.path);
    let whole = DocKey { source: &source, doc_id: &release.id };
    doc_parts::lock(tx, project, whole).await?;
    let title = filter_field(policy, &release.title);
    let heading = format!("# {} ({})\n\n", title.as_str(), release.tag);
    let text = NewDocPart {
        part_id: NOTES.to_owned(),
        author: filter_field_text(policy, release.author.as_deref().unwrap_or_default()),
        text: (!release.is_deleted)
            .then(|| filter_field(policy, &format!("{heading}{}", release.notes))),
        sent_at: release.sent_at,
        source_updated_at: at(release.updated_at, heard_at),
    };
    if !doc_parts::put(tx, project, whole, &text, None).await? {
        return Ok(false);
    }
    let Some(notes) = text.text else {
        return docs::remove(tx, project, &source, &release.id).await;
    };
    let page = Page {
        content: notes,
        tags: vec!["release".to_owned()],
        ..page(whole, title.into_string(), filter_field_text(policy, &release.url))
    };
    let masking = sanitizing(policy);
    let (doc, passages) =
        run_blocking(move || document::cut(page, Limits::default(), &masking)).await;
    docs::upsert(tx, project, &doc, &passages).await?;
    Ok(true)
}

/// Where a system's comments are documents of.
pub fn source(system: Provider) -> String {
    format!("tracker:{system}")
}

fn as_text(policy: &Policy, comment: &Comment, heard_at: DateTime<Utc>) -> NewDocPart {
    NewDocPart {
        part_id: comment.id.clone(),
        author: filter_field_text(policy, comment.author.as_deref().unwrap_or_default()),
        text: (!comment.is_deleted).then(|| filter_field(policy, &comment.text)),
        sent_at: comment.sent_at,
        source_updated_at: at(comment.updated_at, heard_at),
    }
}

/// Writes what was said; answers whether any of it is another than before.
async fn put_texts(tx: &mut Tx, project: ProjectId, said: &DocPartBatch) -> Result<bool, Error> {
    let (whole, mut is_another) = (said.whole(), false);
    let listed_at = said.listed.as_ref().map(|listed| listed.at);
    // Ours is not what people say, whatever they made of it.
    let ours = if said.texts.is_empty() {
        None
    } else {
        task_comments::own_comment(tx, project, &said.doc_id).await?
    };
    for text in said.texts.iter().filter(|text| Some(&text.part_id) != ours.as_ref()) {
        is_another |= doc_parts::put(tx, project, whole, text, listed_at).await?;
    }
    if let Some(Listed { at, all: Some(all) }) = &said.listed {
        is_another |= doc_parts::delete_others(tx, project, whole, all, *at).await?;
    }
    Ok(is_another)
}

/// Makes the document anew; answers whether it is another now.
async fn put_conversation(
    tx: &mut Tx,
    project: ProjectId,
    policy: &Policy,
    page: Page,
    texts: Vec<DocPart>,
) -> Result<bool, Error> {
    if texts.is_empty() {
        return docs::remove(tx, project, &page.source, &page.doc_id).await;
    }
    let masking = sanitizing(policy);
    let cut = move || {
        let messages = messages(texts, &masking);
        conversation::cut(page, &messages, Limits::default(), &masking)
    };
    let (doc, passages) = run_blocking(cut).await;
    let (_, outcome) = docs::upsert(tx, project, &doc, &passages).await?;
    Ok(outcome != docs::Outcome::Unchanged)
}

/// What a document was made of that was told of part by part, as `masking` has it; nothing where no
/// part of it is known.
pub(crate) async fn find_known(
    tx: &mut Tx,
    project: ProjectId,
    whole: DocKey<'_>,
    masking: &mc_sanitizer::Policy,
) -> Result<Vec<Message>, Error> {
    let most = i64::try_from(COMMENTS).unwrap_or(i64::MAX);
    Ok(messages(doc_parts::list(tx, project, whole, most).await?, masking))
}

fn messages(texts: Vec<DocPart>, masking: &mc_sanitizer::Policy) -> Vec<Message> {
    let message = |text: DocPart| Message {
        author: text.author,
        sent_at: text.sent_at,
        // Masked when it came, and again as the policy has it by now.
        text: mask_with(&text.text, masking).text,
    };
    texts.into_iter().map(message).collect()
}

fn page(whole: DocKey<'_>, title: String, url: String) -> Page {
    Page {
        source: whole.source.to_owned(),
        doc_id: whole.doc_id.to_owned(),
        title,
        url,
        content: Sanitized::default(),
        scope: Vec::new(),
        tags: Vec::new(),
    }
}
