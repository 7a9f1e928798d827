//! What people say of issues and changes, and what versions bring: documents, made anew from what was told of their
//! parts whenever one of those changes.

use chrono::{DateTime, Utc};
use mc_connectors::{Comment, Release, Thread};
use mc_domain::{Policy, ProjectId, WebhookSource};
use mc_indexer::chunker::Limits;
use mc_indexer::conversation::{self, Message};
use mc_indexer::document::{self, Page};
use mc_memory::gate::{beside, pass_alone, pass_text_alone};
use mc_memory::task_links::is_ours;
use mc_sanitizer::{Sanitized, mask_with};
use mc_store::policies::sanitizing;
use mc_store::told::{self, NewText, Text, Whole};
use mc_store::{Error, Tx, docs, task_links};

use crate::told::at;

/// Comments that a document is made of at most: the newest.
const COMMENTS: usize = 200;
/// The one part of a document that has no others.
const NOTES: &str = "";

/// What was said of an issue or a change, as a project's policy has it. Made before the transaction that writes it:
/// masking much takes long.
#[derive(Debug)]
pub struct Said {
    source: String,
    doc_id: String,
    title: String,
    url: String,
    texts: Vec<NewText>,
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

impl Said {
    /// Comments as the system tells of them one by one. What says no time was said at `heard_at`. None is taken in
    /// unless the project's policy says so, but what is gone goes.
    pub fn told(
        policy: &Policy,
        (system, of): (WebhookSource, &Thread),
        said: &[Comment],
        heard_at: DateTime<Utc>,
    ) -> Self {
        let is_known = |comment: &&Comment| comment.is_gone || policy.trackers.comments;
        let known = said.iter().filter(is_known).filter(|comment| !is_ours(&comment.text));
        Self {
            source: source(system),
            doc_id: of.external_id.clone(),
            title: pass_text_alone(policy, &of.title),
            url: pass_text_alone(policy, &of.url),
            texts: known.map(|comment| as_text(policy, comment, heard_at)).collect(),
            listed: None,
        }
    }

    /// Comments as the system listed them when it was asked at `listed_at`, oldest first; where they are all that there
    /// are (`is_whole`), the others that are known are gone.
    pub fn listed(
        policy: &Policy,
        of: (WebhookSource, &Thread),
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

    fn whole(&self) -> Whole<'_> {
        Whole { source: &self.source, doc_id: &self.doc_id }
    }
}

/// Takes in what was said of an issue or a change, by whichever way it was heard of: one document for each, of the
/// source [`source`], in which every comment is found by itself and read with the two before it. What was said of a
/// comment later counts, in whichever order it comes. Answers whether the document is another now.
pub async fn write(
    tx: &mut Tx,
    project: ProjectId,
    policy: &Policy,
    said: &Said,
) -> Result<bool, Error> {
    told::lock(tx, project, said.whole()).await?;
    // Whoever lists the comments says anew what they belong to as well.
    if !put_texts(tx, project, said).await? && said.listed.is_none() {
        return Ok(false);
    }
    let most = i64::try_from(COMMENTS).unwrap_or(i64::MAX);
    let texts = told::texts(tx, project, said.whole(), most).await?;
    let page = page(said.whole(), said.title.clone(), said.url.clone());
    put_conversation(tx, project, policy, page, texts).await
}

/// Forgets what was said of an issue or a change; answers whether anything was.
pub async fn forget(
    tx: &mut Tx,
    project: ProjectId,
    system: WebhookSource,
    external_id: &str,
) -> Result<bool, Error> {
    let source = source(system);
    told::lock(tx, project, Whole { source: &source, doc_id: external_id }).await?;
    docs::remove(tx, project, &source, external_id).await
}

/// Takes in what a version brings, as a document of the source `releases:owner/name`; answers whether it is another
/// than before.
pub(crate) async fn publish(
    tx: &mut Tx,
    project: ProjectId,
    policy: &Policy,
    release: &Release,
    heard_at: DateTime<Utc>,
) -> Result<bool, Error> {
    let source = format!("releases:{}", release.path);
    let whole = Whole { source: &source, doc_id: &release.id };
    told::lock(tx, project, whole).await?;
    let title = pass_alone(policy, &release.title);
    let heading = format!("# {} ({})\n\n", title.as_str(), release.tag);
    let text = NewText {
        part: NOTES.to_owned(),
        author: pass_text_alone(policy, release.author.as_deref().unwrap_or_default()),
        text: (!release.is_gone)
            .then(|| pass_alone(policy, &format!("{heading}{}", release.notes))),
        sent_at: release.sent_at,
        said_at: at(release.updated_at, heard_at),
    };
    if !told::put(tx, project, whole, &text, None).await? {
        return Ok(false);
    }
    let Some(notes) = text.text else {
        return docs::remove(tx, project, &source, &release.id).await;
    };
    let page = Page {
        content: notes,
        tags: vec!["release".to_owned()],
        ..page(whole, title.into_string(), pass_text_alone(policy, &release.url))
    };
    let masking = sanitizing(policy);
    let (doc, passages) = beside(move || document::cut(page, Limits::default(), &masking)).await;
    docs::upsert(tx, project, &doc, &passages).await?;
    Ok(true)
}

/// Where a system's comments are documents of.
pub fn source(system: WebhookSource) -> String {
    format!("tracker:{system}")
}

fn as_text(policy: &Policy, comment: &Comment, heard_at: DateTime<Utc>) -> NewText {
    NewText {
        part: comment.id.clone(),
        author: pass_text_alone(policy, comment.author.as_deref().unwrap_or_default()),
        text: (!comment.is_gone).then(|| pass_alone(policy, &comment.text)),
        sent_at: comment.sent_at,
        said_at: at(comment.updated_at, heard_at),
    }
}

/// Writes what was said; answers whether any of it is another than before.
async fn put_texts(tx: &mut Tx, project: ProjectId, said: &Said) -> Result<bool, Error> {
    let (whole, mut is_another) = (said.whole(), false);
    let listed_at = said.listed.as_ref().map(|listed| listed.at);
    // Ours is not what people say, whatever they made of it.
    let ours = if said.texts.is_empty() {
        None
    } else {
        task_links::own_comment(tx, project, &said.doc_id).await?
    };
    for text in said.texts.iter().filter(|text| Some(&text.part) != ours.as_ref()) {
        is_another |= told::put(tx, project, whole, text, listed_at).await?;
    }
    if let Some(Listed { at, all: Some(all) }) = &said.listed {
        is_another |= told::keep_only(tx, project, whole, all, *at).await?;
    }
    Ok(is_another)
}

/// Makes the document anew; answers whether it is another now.
async fn put_conversation(
    tx: &mut Tx,
    project: ProjectId,
    policy: &Policy,
    page: Page,
    texts: Vec<Text>,
) -> Result<bool, Error> {
    if texts.is_empty() {
        return docs::remove(tx, project, &page.source, &page.doc_id).await;
    }
    let masking = sanitizing(policy);
    let cut = move || {
        let messages = messages(texts, &masking);
        conversation::cut(page, &messages, Limits::default(), &masking)
    };
    let (doc, passages) = beside(cut).await;
    let (_, outcome) = docs::upsert(tx, project, &doc, &passages).await?;
    Ok(outcome != docs::Outcome::Unchanged)
}

/// What a document was made of that was told of part by part, as `masking` has it; nothing where no part of it is known.
pub(crate) async fn known(
    tx: &mut Tx,
    project: ProjectId,
    whole: Whole<'_>,
    masking: &mc_sanitizer::Policy,
) -> Result<Vec<Message>, Error> {
    let most = i64::try_from(COMMENTS).unwrap_or(i64::MAX);
    Ok(messages(told::texts(tx, project, whole, most).await?, masking))
}

fn messages(texts: Vec<Text>, masking: &mc_sanitizer::Policy) -> Vec<Message> {
    let message = |text: Text| Message {
        author: text.author,
        sent_at: text.sent_at,
        // Masked when it came, and again as the policy has it by now.
        text: mask_with(&text.text, masking).text,
    };
    texts.into_iter().map(message).collect()
}

fn page(whole: Whole<'_>, title: String, url: String) -> Page {
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
