//! What trackers and wikis have in common: a list of what changed, gone through by a sweep.

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;

use super::Error;
use super::http::Http;
use super::sweep::{Dated, Listed, Position};
use crate::event::{Event, Issue};
use crate::system::{Comment, Cursor, Page, Thread, Tracker, Wiki, WikiPage};

/// A list of what there is, by when it changed.
pub(super) trait Source: Send + Sync {
    /// One of it, as the system writes it.
    type Item: Dated + Send + Sync;

    /// The system.
    fn http(&self) -> &Http;

    /// What changed since a position, oldest change first.
    fn list<'a>(
        &'a self,
        position: &'a Position,
    ) -> BoxFuture<'a, Result<Listed<Self::Item>, Error>>;
}

/// Such a list of issues.
pub(super) trait Issues: Source {
    /// The issue; `None` where it is not everybody's, or no issue.
    fn issue(&self, item: &Self::Item) -> Option<Issue>;

    /// What was said about it; the first is what it says itself.
    fn comments<'a>(&'a self, item: &'a Self::Item) -> BoxFuture<'a, Result<Vec<Comment>, Error>>;

    /// Says something about one.
    fn say<'a>(&'a self, external_id: &'a str, text: &'a str) -> BoxFuture<'a, Result<(), Error>>;
}

/// Such a list of a wiki's pages.
pub(super) trait Pages: Source {
    /// The page; `None` where it is not everybody's.
    fn page(&self, item: &Self::Item) -> Option<WikiPage>;
}

/// A source, swept.
pub(super) struct Swept<S>(pub(super) S);

impl<S: Source> Swept<S> {
    async fn next(&self, from: &Cursor) -> Result<Page<S::Item>, Error> {
        let system = self.0.http().system();
        let now = Utc::now();
        let mut position = Position::read(from, system)?;
        let listed = match self.0.list(&position).await {
            // Its own word for a place is good for a while only.
            Err(Error::Rejected { .. } | Error::NotFound { .. }) if position.has_token() => {
                position.place = None;
                self.0.list(&position).await
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
        let page = self.next(from).await?;
        let items = page.items.iter().filter_map(id).collect();
        // Whoever asks again begins anew: what is there is asked for whole.
        let next = if page.is_last { Cursor::default() } else { page.next };
        Ok(Page { items, next, is_last: page.is_last })
    }
}

impl<S: Issues> Swept<S> {
    async fn threads(&self, since: &Cursor, with_comments: bool) -> Result<Page<Thread>, Error> {
        let page = self.next(since).await?;
        let mut items = Vec::new();
        for item in &page.items {
            let Some(issue) = self.0.issue(item) else { continue };
            match self.comments(item, with_comments).await {
                Ok(comments) => items.push(Thread { issue, comments }),
                // It was deleted a moment ago.
                Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Page { items, next: page.next, is_last: page.is_last })
    }

    /// Of one issue after the other: systems count what is asked for at once.
    async fn comments(&self, item: &S::Item, are_wanted: bool) -> Result<Vec<Comment>, Error> {
        if are_wanted { self.0.comments(item).await } else { Ok(Vec::new()) }
    }
}

impl<S: Issues> Tracker for Swept<S> {
    fn changed<'a>(
        &'a self,
        since: &'a Cursor,
        with_comments: bool,
    ) -> BoxFuture<'a, Result<Page<Thread>, Error>> {
        Box::pin(self.threads(since, with_comments))
    }

    fn ids<'a>(&'a self, from: &'a Cursor) -> BoxFuture<'a, Result<Page<String>, Error>> {
        Box::pin(self.ids_from(from, |item| Some(self.0.issue(item)?.external_id)))
    }

    fn comment<'a>(
        &'a self,
        external_id: &'a str,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), Error>> {
        self.0.say(external_id, text)
    }
}

impl<S: Pages> Wiki for Swept<S> {
    fn changed<'a>(&'a self, since: &'a Cursor) -> BoxFuture<'a, Result<Page<WikiPage>, Error>> {
        Box::pin(async move {
            let page = self.next(since).await?;
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
    comment("description".to_owned(), author, at, text)
}

/// Something that was said; `None` where that is nothing.
pub(super) fn comment(
    id: String,
    author: Option<String>,
    at: Option<DateTime<Utc>>,
    text: &str,
) -> Option<Comment> {
    let text = super::text::prose(text);
    let author = super::text::line(&author.unwrap_or_default(), 128);
    (!text.is_empty()).then_some(Comment { id, author, at, text })
}
