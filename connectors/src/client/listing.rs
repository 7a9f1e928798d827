//! What trackers and wikis have in common: a list of what changed, gone through by a sweep.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;

use super::Error;
use super::http::Http;
use super::incremental::{HasUpdatedAt, ListPage, Position};
use crate::comment::{Comment, DESCRIPTION};
use crate::event::{Event, Issue};
use crate::traits::{Cursor, IssueWithComments, Page, Tracker, Wiki, WikiPage};

/// What is asked for of each item, where a system leaves that to the asker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldSet {
    /// All that is of use.
    Whole,
    /// Enough to know that it is there, and whether everybody there may see it.
    Ids,
}

/// A list of what there is, by when it changed.
pub(super) trait Source: Send + Sync {
    /// One of it, as the system writes it.
    type Item: HasUpdatedAt + Send + Sync;

    /// The system.
    fn http(&self) -> &Http;

    /// What changed since a position, oldest change first.
    fn list<'a>(
        &'a self,
        position: &'a Position,
        wanted: FieldSet,
    ) -> BoxFuture<'a, Result<ListPage<Self::Item>, Error>>;
}

/// Such a list of issues.
pub(super) trait Issues: Source {
    /// The issue; `None` where it is not everybody's, or no issue.
    fn issue(&self, item: &Self::Item) -> Option<Issue>;

    /// Fails where one that is known by its id alone has left for another project. A system may go on answering to the
    /// id that it had, and who agreed to have something said to one project's readers did not agree to others'. Where
    /// the address of each issue names its project there is nothing to ask: a redirect of what is written is refused.
    fn check_not_moved<'a>(&'a self, _external_id: &'a str) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }

    /// What was said about it.
    fn comments<'a>(&'a self, item: &'a Self::Item) -> BoxFuture<'a, Result<CommentList, Error>>;

    /// What the credential's own user said about one that is known by its id alone, in any order; what only some there
    /// may see as well.
    fn list_own_comments<'a>(
        &'a self,
        external_id: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Comment>, Error>>;

    /// Says something about one, in place of what an earlier comment says or as a new one; answers the comment's id.
    fn upsert_comment<'a>(
        &'a self,
        external_id: &'a str,
        earlier: Option<&'a str>,
        text: &'a str,
    ) -> BoxFuture<'a, Result<String, Error>>;
}

/// What was said about an issue.
#[derive(Default)]
pub(super) struct CommentList {
    /// Oldest first, after what the issue says itself.
    pub(super) comments: Vec<Comment>,
    /// Whether that is all.
    pub(super) is_all: bool,
}

impl CommentList {
    /// Of what was asked for newest first, behind what the issue says itself. What is said meanwhile moves the others,
    /// so that some come twice.
    pub(super) fn newest_first(
        description: Option<Comment>,
        mut newest: Vec<Comment>,
        is_all: bool,
    ) -> Self {
        let mut known = BTreeSet::new();
        newest.retain(|comment| known.insert(comment.id.clone()));
        let comments = description.into_iter().chain(newest.into_iter().rev()).collect();
        Self { comments, is_all }
    }
}

/// Such a list of a wiki's pages.
pub(super) trait Pages: Source {
    /// The page; `None` where it is not everybody's.
    fn page(&self, item: &Self::Item) -> Option<WikiPage>;
}

/// A source, swept.
pub(super) struct Incremental<S>(pub(super) S);

impl<S: Source> Incremental<S> {
    async fn next(&self, from: &Cursor, wanted: FieldSet) -> Result<Page<S::Item>, Error> {
        let system = self.0.http().system();
        let now = Utc::now();
        let mut position = Position::read(from, system)?;
        let listed = match self.0.list(&position, wanted).await {
            // Its own word for a place is good for a while only.
            Err(Error::Rejected { .. } | Error::NotFound { .. }) if position.has_token() => {
                position.place = None;
                self.0.list(&position, wanted).await
            }
            listed => listed,
        }?;
        let step = position.advance(listed, now);
        Ok(Page { items: step.items, next: step.next.cursor(system)?, is_last: step.is_last })
    }

    async fn ids_from(
        &self,
        from: &Cursor,
        id: impl Fn(&S::Item) -> Option<String>,
    ) -> Result<Page<String>, Error> {
        let page = self.next(from, FieldSet::Ids).await?;
        let items = page.items.iter().filter_map(id).collect();
        // Whoever asks again begins anew: what is there is asked for whole.
        let next = if page.is_last { Cursor::default() } else { page.next };
        Ok(Page { items, next, is_last: page.is_last })
    }
}

impl<S: Issues> Incremental<S> {
    async fn discussions(
        &self,
        since: &Cursor,
        with_comments: bool,
    ) -> Result<Page<IssueWithComments>, Error> {
        let page = self.next(since, FieldSet::Whole).await?;
        let mut items = Vec::new();
        for item in &page.items {
            let Some(issue) = self.0.issue(item) else { continue };
            let CommentList { comments, is_all } = match self.comments(item, with_comments).await {
                // It was deleted a moment ago, or its comments alone are not shown. Which of them is not known: that it
                // is gone is found where ids are compared.
                Err(Error::NotFound { .. }) => {
                    let (system, issue) = (self.0.http().system(), issue.external_id.as_str());
                    tracing::warn!(system, issue, "the comments of an issue are not found");
                    CommentList::default()
                }
                heard => heard?,
            };
            items.push(IssueWithComments { issue, comments, has_all_comments: is_all });
        }
        Ok(Page { items, next: page.next, is_last: page.is_last })
    }

    /// Of one issue after the other: systems count what is asked for at once.
    async fn comments(&self, item: &S::Item, are_wanted: bool) -> Result<CommentList, Error> {
        if are_wanted { self.0.comments(item).await } else { Ok(CommentList::default()) }
    }
}

impl<S: Issues> Tracker for Incremental<S> {
    fn list_changed<'a>(
        &'a self,
        since: &'a Cursor,
        with_comments: bool,
    ) -> BoxFuture<'a, Result<Page<IssueWithComments>, Error>> {
        Box::pin(self.discussions(since, with_comments))
    }

    fn list_ids<'a>(&'a self, from: &'a Cursor) -> BoxFuture<'a, Result<Page<String>, Error>> {
        Box::pin(self.ids_from(from, |item| Some(self.0.issue(item)?.external_id)))
    }

    fn comment<'a>(
        &'a self,
        external_id: &'a str,
        earlier: Option<&'a str>,
        text: &'a str,
    ) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async move {
            self.0.check_not_moved(external_id).await?;
            self.0.upsert_comment(external_id, earlier, text).await
        })
    }

    fn list_own_comments<'a>(
        &'a self,
        external_id: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Comment>, Error>> {
        Box::pin(async move {
            self.0.check_not_moved(external_id).await?;
            self.0.list_own_comments(external_id).await
        })
    }
}

impl<S: Pages> Wiki for Incremental<S> {
    fn changed<'a>(&'a self, since: &'a Cursor) -> BoxFuture<'a, Result<Page<WikiPage>, Error>> {
        Box::pin(async move {
            let page = self.next(since, FieldSet::Whole).await?;
            let items = page.items.iter().filter_map(|item| self.0.page(item)).collect();
            Ok(Page { items, next: page.next, is_last: page.is_last })
        })
    }

    fn ids<'a>(&'a self, from: &'a Cursor) -> BoxFuture<'a, Result<Page<String>, Error>> {
        Box::pin(self.ids_from(from, |item| Some(self.0.page(item)?.id)))
    }
}

/// An issue with every text cut to its size, as those of deliveries are. One whose id is none is left out: it would
/// keep back all that comes after it.
pub(super) fn bounded(issue: Issue, http: &Http) -> Option<Issue> {
    let title = Some(issue.title.trim()).filter(|title| !title.is_empty());
    let title = title.unwrap_or(&issue.external_id).to_owned();
    match (Issue { title, ..issue }).bounded() {
        Ok(Event::Issue(issue)) => Some(issue),
        Ok(_) => None,
        Err(unfit) => {
            tracing::warn!(system = http.system(), reason = %unfit, "an issue is left out");
            None
        }
    }
}

/// What an issue says itself, as the first thing that was said about it.
pub(super) fn description(
    author: Option<String>,
    at: Option<DateTime<Utc>>,
    text: &str,
) -> Option<Comment> {
    comment(DESCRIPTION.to_owned(), author, [at, at], text)
}

/// Something that was said, and when it was said and last changed; `None` where that is nothing. It is cut to size as
/// those of deliveries are, so that one comment is the same by either way.
pub(super) fn comment(
    id: String,
    author: Option<String>,
    [sent_at, updated_at]: [Option<DateTime<Utc>>; 2],
    text: &str,
) -> Option<Comment> {
    let (text, updated_at) = (text.to_owned(), updated_at.or(sent_at));
    let comment = Comment { id, author, text, sent_at, updated_at, is_deleted: false }.bounded();
    (!comment.is_deleted).then_some(comment)
}
