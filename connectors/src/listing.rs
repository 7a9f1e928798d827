//! Lists of trackers and wikis by the time of change, read incrementally.
//!
//! A provider implements [`Source`], for issues with [`IssueSource`]. [`Incremental`] makes a
//! [`Tracker`] or a [`Wiki`] of it.

mod comments;

pub(crate) use comments::{
    CommentList, CommentPage, MAX_PAGES, RawComment, comment, description, read_own, read_public,
};

use chrono::Utc;

use crate::error::Error;
use crate::event::{Comment, Issue};
use crate::http::Http;
use crate::incremental::{HasUpdatedAt, ListPage, Position};
use crate::traits::{
    Cursor, IssueWithComments, ListIds, Page, ResponseFuture, Tracker, Wiki, WikiPage,
};

/// The fields that a list has of each item, if the provider lets the client choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldSet {
    /// All fields that are used.
    Full,
    /// The id, the time of change, and the restriction of readers.
    Ids,
}

/// A list of items by their time of change.
pub(crate) trait Source: Send + Sync {
    /// An item in the provider's form.
    type Item: HasUpdatedAt + Send + Sync;
    /// An item in the form of all providers.
    type PublicItem: PublicItem;

    fn http(&self) -> &Http;

    /// Lists the items that changed since a position, the oldest change first.
    fn list(
        &self,
        position: &Position,
        fields: FieldSet,
    ) -> impl Future<Output = Result<ListPage<Self::Item>, Error>> + Send;

    /// Converts an item; `None` if it is not public, or is no issue.
    fn public_item(&self, item: &Self::Item) -> Option<Self::PublicItem>;
}

/// An issue or a page.
pub(crate) trait PublicItem: Sized + Send {
    /// Checks and truncates the item. An invalid one must not stop the sync before later ones.
    fn checked(self, _connector: &str) -> Option<Self> {
        Some(self)
    }

    fn into_id(self) -> String;
}

impl PublicItem for Issue {
    /// Truncates the texts as those of deliveries are.
    fn checked(self, connector: &str) -> Option<Self> {
        let title = Some(self.title.trim()).filter(|title| !title.is_empty());
        let title = title.unwrap_or(&self.external_id).to_owned();
        let log = |reason: &_| tracing::warn!(connector, %reason, "issue left out of a sync");
        Self { title, ..self }.truncated().inspect_err(log).ok()
    }

    fn into_id(self) -> String {
        self.external_id
    }
}

impl PublicItem for WikiPage {
    fn into_id(self) -> String {
        self.id
    }
}

/// A list of issues, and the comments on them.
pub(crate) trait IssueSource: Source<PublicItem = Issue> {
    /// Returns the description of an issue as a comment.
    fn description(&self, item: &Self::Item) -> impl Future<Output = Option<Comment>> + Send;

    /// Reads the public comments on an issue.
    fn comments(
        &self,
        item: &Self::Item,
    ) -> impl Future<Output = Result<CommentList, Error>> + Send;

    /// Fails if the issue was moved to another project.
    ///
    /// A provider may keep the old id as an alias, and a text that was approved for the readers of
    /// one project is not approved for those of another. The default is for providers whose
    /// addresses of issues contain the project: there a write would be redirected, which fails.
    fn check_not_moved(
        &self,
        _external_id: &str,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        std::future::ready(Ok(()))
    }

    /// Lists the comments of the credential's user, public or not, in any order.
    fn list_own_comments(
        &self,
        external_id: &str,
    ) -> impl Future<Output = Result<Vec<Comment>, Error>> + Send;

    /// Updates the comment `earlier` on an issue, or creates one, and returns its id.
    fn upsert_comment(
        &self,
        comment: NewComment<'_>,
    ) -> impl Future<Output = Result<String, Error>> + Send;
}

/// A comment to post.
pub(crate) struct NewComment<'a> {
    /// The id of the issue.
    pub(crate) external_id: &'a str,
    /// The id of the comment to update; `None` to create one.
    pub(crate) earlier: Option<&'a str>,
    pub(crate) text: &'a str,
}

/// A source, read incrementally.
pub(crate) struct Incremental<S>(pub(crate) S);

impl<S: Source> Incremental<S> {
    async fn next_page(&self, from: &Cursor, fields: FieldSet) -> Result<Page<S::Item>, Error> {
        let connector = self.0.http().connector();
        let now = Utc::now();
        let mut position = Position::from_cursor(from, connector)?;
        let listed = match self.0.list(&position, fields).await {
            // Page tokens expire.
            Err(Error::Rejected { .. } | Error::NotFound { .. }) if position.token().is_some() => {
                position.marker = None;
                self.0.list(&position, fields).await
            }
            listed => listed,
        }?;
        let step = position.advance(listed, now);
        let next = step.next.to_cursor(connector)?;
        Ok(Page { items: step.items, next, is_last: step.is_last })
    }

    fn public_item(&self, item: &S::Item) -> Option<S::PublicItem> {
        self.0.public_item(item)?.checked(self.0.http().connector())
    }
}

impl<S: Source> ListIds for Incremental<S> {
    fn list_ids<'a>(&'a self, from: &'a Cursor) -> ResponseFuture<'a, Page<String>> {
        Box::pin(async move {
            let page = self.next_page(from, FieldSet::Ids).await?;
            let public = page.items.iter().filter_map(|item| self.public_item(item));
            let items = public.map(PublicItem::into_id).collect();
            // The list of ids has no later changes: the next one starts from the beginning.
            let next = if page.is_last { Cursor::default() } else { page.next };
            Ok(Page { items, next, is_last: page.is_last })
        })
    }
}

impl<S: IssueSource> Incremental<S> {
    /// Reads the comments of one issue after the other: providers limit concurrent requests.
    async fn list_issues(
        &self,
        since: &Cursor,
        with_comments: bool,
    ) -> Result<Page<IssueWithComments>, Error> {
        let page = self.next_page(since, FieldSet::Full).await?;
        let mut items = Vec::new();
        for item in &page.items {
            let Some(issue) = self.public_item(item) else { continue };
            let mut list = CommentList::default();
            if with_comments {
                list = self.public_comments(item, &issue).await?;
            }
            let CommentList { comments, has_all } = list;
            items.push(IssueWithComments { issue, comments, has_all_comments: has_all });
        }
        Ok(Page { items, next: page.next, is_last: page.is_last })
    }

    async fn public_comments(&self, item: &S::Item, issue: &Issue) -> Result<CommentList, Error> {
        match self.0.comments(item).await {
            Ok(mut list) => {
                list.comments.splice(0..0, self.0.description(item).await);
                Ok(list)
            }
            // Either the issue was just deleted, which reconciliation will find, or its comments
            // are hidden.
            Err(Error::NotFound { .. }) => {
                let connector = self.0.http().connector();
                let issue = issue.external_id.as_str();
                tracing::warn!(connector, issue, "comments of an issue not found");
                Ok(CommentList::default())
            }
            Err(error) => Err(error),
        }
    }
}

impl<S: IssueSource> Tracker for Incremental<S> {
    fn list_changed<'a>(
        &'a self,
        since: &'a Cursor,
        with_comments: bool,
    ) -> ResponseFuture<'a, Page<IssueWithComments>> {
        Box::pin(self.list_issues(since, with_comments))
    }

    fn upsert_comment<'a>(
        &'a self,
        external_id: &'a str,
        earlier: Option<&'a str>,
        text: &'a str,
    ) -> ResponseFuture<'a, String> {
        Box::pin(async move {
            self.0.check_not_moved(external_id).await?;
            self.0.upsert_comment(NewComment { external_id, earlier, text }).await
        })
    }

    fn list_own_comments<'a>(&'a self, external_id: &'a str) -> ResponseFuture<'a, Vec<Comment>> {
        Box::pin(async move {
            self.0.check_not_moved(external_id).await?;
            self.0.list_own_comments(external_id).await
        })
    }
}

impl<S: Source<PublicItem = WikiPage>> Wiki for Incremental<S> {
    fn list_changed<'a>(&'a self, since: &'a Cursor) -> ResponseFuture<'a, Page<WikiPage>> {
        Box::pin(async move {
            let page = self.next_page(since, FieldSet::Full).await?;
            let items = page.items.iter().filter_map(|item| self.public_item(item)).collect();
            Ok(Page { items, next: page.next, is_last: page.is_last })
        })
    }
}
