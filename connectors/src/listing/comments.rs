//! Reading of comments page by page.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use crate::error::Error;
use crate::event::{Comment, DESCRIPTION};

/// Pages of comments that are read of one issue.
pub(crate) const MAX_PAGES: u64 = 10;
/// Pages that are searched for own comments, which may be on the last one.
const MAX_PAGES_OF_OWN: u64 = 100;

/// The comments on an issue.
#[derive(Default)]
pub(crate) struct CommentList {
    /// The public comments, oldest first.
    pub(crate) comments: Vec<Comment>,
    /// Whether `comments` has every public comment.
    pub(crate) has_all: bool,
}

/// A page of comments in the provider's form.
pub(crate) struct CommentPage<C> {
    pub(crate) comments: Vec<C>,
    pub(crate) is_last: bool,
    /// The number of comments on all pages, if it is sent: pages may have fewer than requested.
    pub(crate) total: Option<u64>,
}

impl<C> CommentPage<C> {
    /// Returns a page of a provider that marks the last one only by its size.
    pub(crate) fn of_size(comments: Vec<C>, page_size: usize) -> Self {
        let is_last = comments.len() < page_size;
        Self { comments, is_last, total: None }
    }

    /// Returns the only page.
    pub(crate) fn single(comments: Vec<C>) -> Self {
        Self { comments, is_last: true, total: None }
    }
}

/// A comment in the provider's form.
pub(crate) trait RawComment {
    /// The credential's user.
    type User;

    /// Returns whether every reader of the issue may read the comment.
    fn is_public(&self) -> bool;

    /// Returns whether the user wrote the comment, and not the provider in the user's name.
    fn is_by(&self, user: &Self::User) -> bool;

    /// Returns the comment; `None` if it is empty.
    fn into_comment(self) -> impl Future<Output = Option<Comment>> + Send;
}

/// Reads public comments from the page `first` on, up to a maximum, in the order of the pages.
/// `load` takes the number of a page, from 0.
pub(crate) async fn read_public<C, F>(
    first: u64,
    load: impl Fn(u64) -> F,
) -> Result<CommentList, Error>
where
    C: RawComment,
    F: Future<Output = Result<CommentPage<C>, Error>>,
{
    let (mut list, mut received) = (CommentList::default(), 0);
    for number in first..first + MAX_PAGES {
        let page = load(number).await?;
        received += page.comments.len() as u64;
        for comment in page.comments.into_iter().filter(C::is_public) {
            list.comments.extend(comment.into_comment().await);
        }
        if page.is_last {
            list.has_all = first == 0 && page.total.is_none_or(|total| received >= total);
            break;
        }
    }
    Ok(list)
}

/// Reads the comments that a user wrote, public or not.
pub(crate) async fn read_own<C, F>(
    user: &C::User,
    load: impl Fn(u64) -> F,
) -> Result<Vec<Comment>, Error>
where
    C: RawComment,
    F: Future<Output = Result<CommentPage<C>, Error>>,
{
    let mut comments = Vec::new();
    for number in 0..MAX_PAGES_OF_OWN {
        let page = load(number).await?;
        for comment in page.comments.into_iter().filter(|comment| comment.is_by(user)) {
            comments.extend(comment.into_comment().await);
        }
        if page.is_last {
            break;
        }
    }
    Ok(comments)
}

impl CommentList {
    /// Returns a list without comments, of an issue that has none.
    pub(crate) fn none() -> Self {
        Self { comments: Vec::new(), has_all: true }
    }

    /// Reverses a list that was read newest first. A comment that is created during the reads moves
    /// the others to later pages, so that some come twice.
    pub(crate) fn reversed(mut self) -> Self {
        let mut known = BTreeSet::new();
        self.comments.retain(|comment| known.insert(comment.id.clone()));
        self.comments.reverse();
        self
    }
}

/// Returns the description of an issue as its first comment.
pub(crate) fn description(
    author: Option<String>,
    at: Option<DateTime<Utc>>,
    text: &str,
) -> Option<Comment> {
    comment(DESCRIPTION.to_owned(), author, [at, at], text)
}

/// Returns a comment with its times of creation and of change; `None` if it is empty. It is
/// truncated as in deliveries, so that both ways lead to equal comments.
pub(crate) fn comment(
    id: String,
    author: Option<String>,
    [sent_at, updated_at]: [Option<DateTime<Utc>>; 2],
    text: &str,
) -> Option<Comment> {
    let (text, updated_at) = (text.to_owned(), updated_at.or(sent_at));
    let comment = Comment { id, author, text, sent_at, updated_at, is_deleted: false }.truncated();
    (!comment.is_deleted).then_some(comment)
}
