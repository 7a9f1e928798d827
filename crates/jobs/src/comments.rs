//! What people say of issues and changes, and what versions bring: documents, made anew from what was told of their
//! parts whenever one of those changes.

use chrono::{DateTime, Utc};
use mc_connectors::{Comment, Release, Thread};
use mc_domain::{Policy, ProjectId, WebhookSource};
use mc_indexer::conversation::{self, Message};
use mc_indexer::cut::Limits;
use mc_indexer::document::{self, Page};
use mc_memory::gate::{beside, pass_alone};
use mc_sanitizer::{Sanitized, mask_with};
use mc_store::policies::sanitizing;
use mc_store::told::{self, NewText, Text, Whole};
use mc_store::{Error, Tx, docs};

use crate::told::at;

/// Comments that a document is made of at most: the newest.
const COMMENTS: i64 = 200;
/// The one part of a document that has no others.
const NOTES: &str = "";

/// Takes in what was said of an issue or a change, by whichever way it was heard of: one document for each, of the
/// source [`source`], in which every comment is found by itself and read with the two before it. What was said of a
/// comment later counts, in whichever order it comes; what says no time was said at `heard_at`. Answers whether
/// anything changed. Nothing is taken in unless the project's policy says so, but what is gone goes.
pub async fn write(
    tx: &mut Tx,
    project: ProjectId,
    policy: &Policy,
    (system, of): (WebhookSource, &Thread),
    said: &[Comment],
    heard_at: DateTime<Utc>,
) -> Result<bool, Error> {
    let source = source(system);
    let whole = Whole { source: &source, doc_id: &of.external_id };
    told::lock(tx, project, whole).await?;
    let mut is_another = false;
    for comment in said.iter().filter(|comment| comment.is_gone || policy.trackers.comments) {
        let text = NewText {
            part: comment.id.clone(),
            author: plain(policy, comment.author.as_deref().unwrap_or_default()),
            text: (!comment.is_gone).then(|| pass_alone(policy, &comment.text)),
            sent_at: comment.sent_at,
            said_at: at(comment.updated_at, heard_at),
        };
        is_another |= told::put(tx, project, whole, &text).await?;
    }
    if is_another {
        let texts = told::texts(tx, project, whole, COMMENTS).await?;
        let page = page(whole, plain(policy, &of.title), plain(policy, &of.url));
        put_conversation(tx, project, policy, page, texts).await?;
    }
    Ok(is_another)
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
        author: plain(policy, release.author.as_deref().unwrap_or_default()),
        text: (!release.is_gone)
            .then(|| pass_alone(policy, &format!("{heading}{}", release.notes))),
        sent_at: release.sent_at,
        said_at: at(release.updated_at, heard_at),
    };
    if !told::put(tx, project, whole, &text).await? {
        return Ok(false);
    }
    let Some(notes) = text.text else {
        return docs::remove(tx, project, &source, &release.id).await;
    };
    let page = Page {
        content: notes,
        tags: vec!["release".to_owned()],
        ..page(whole, title.into_string(), plain(policy, &release.url))
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

async fn put_conversation(
    tx: &mut Tx,
    project: ProjectId,
    policy: &Policy,
    page: Page,
    texts: Vec<Text>,
) -> Result<(), Error> {
    if texts.is_empty() {
        docs::remove(tx, project, &page.source, &page.doc_id).await?;
        return Ok(());
    }
    let masking = sanitizing(policy);
    let cut = move || {
        let message = |text: Text| Message {
            author: text.author,
            sent_at: text.sent_at,
            // Masked when it came, and again as the policy has it by now.
            text: mask_with(&text.text, &masking).text,
        };
        let messages: Vec<_> = texts.into_iter().map(message).collect();
        conversation::cut(page, &messages, Limits::default(), &masking)
    };
    let (doc, passages) = beside(cut).await;
    docs::upsert(tx, project, &doc, &passages).await?;
    Ok(())
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

fn plain(policy: &Policy, text: &str) -> String {
    pass_alone(policy, text).into_string()
}
