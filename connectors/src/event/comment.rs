//! Comments, reviews and release notes.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::field;
use crate::delivery::ParseError;

/// Characters of a comment or of release notes.
const TEXT: usize = 8_000;
/// Characters of an issue's description.
const DESCRIPTION_TEXT: usize = 32_000;
/// The comment id of an issue's description.
pub(crate) const DESCRIPTION: &str = "description";
/// Characters of a comment's id.
const ID: usize = 128;
/// Prefixes of ids that hosts number separately: of comments on lines, and of reviews.
pub(crate) const LINE: &str = "line";
pub(crate) const REVIEW: &str = "review";

/// The issue or pull request that a comment is on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// The tracker's own id, such as `octocat/hello#12` or `CS-214`.
    pub external_id: String,
    /// Title of the issue or pull request.
    pub title: String,
    /// Where people read it; may be empty.
    pub url: String,
}

/// A comment on an issue or pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// The id, unique in its issue or pull request.
    pub id: String,
    /// Name of the author, if the provider sends it.
    pub author: Option<String>,
    /// The text, as Markdown or in the tracker's own markup; empty if the comment was deleted.
    pub text: String,
    /// When the comment was created.
    pub sent_at: Option<DateTime<Utc>>,
    /// When the comment last changed.
    pub updated_at: Option<DateTime<Utc>>,
    /// Whether the comment was deleted, or is no longer public.
    pub is_deleted: bool,
}

/// A release of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// The repository at its host, such as `octocat/hello`.
    pub path: String,
    /// The id at the host.
    pub id: String,
    /// Name of the tag, such as `v1.2`.
    pub tag: String,
    /// The title, or the tag if there is none.
    pub title: String,
    /// Name of the author, if the provider sends it.
    pub author: Option<String>,
    /// The release notes, as Markdown; empty if the release was withdrawn.
    pub notes: String,
    /// Where people read it; may be empty.
    pub url: String,
    /// When the release was published.
    pub sent_at: Option<DateTime<Utc>>,
    /// When the release last changed.
    pub updated_at: Option<DateTime<Utc>>,
    /// Whether the release was withdrawn.
    pub is_deleted: bool,
}

impl Thread {
    pub(crate) fn truncated(self) -> Result<Self, ParseError> {
        Ok(Self {
            external_id: field::checked_id(self.external_id)?,
            title: field::title(&self.title),
            url: field::web_url(Some(self.url)),
        })
    }

    pub(super) fn mask(&mut self, mask: &mut impl FnMut(&str) -> String) {
        self.external_id = field::path_masked(&self.external_id, &mut *mask);
        self.title = mask(&self.title);
        self.url = mask(&self.url);
    }
}

impl Comment {
    /// A comment without a text counts as deleted.
    pub(crate) fn truncated(self) -> Self {
        let max = if self.id == DESCRIPTION { DESCRIPTION_TEXT } else { TEXT };
        let text = if self.is_deleted { String::new() } else { field::lines(&self.text, max) };
        Self {
            id: self.id.chars().filter(|c| !c.is_control()).take(ID).collect(),
            author: field::name(self.author),
            is_deleted: text.is_empty(),
            text,
            sent_at: field::checked_time(self.sent_at),
            updated_at: field::checked_time(self.updated_at),
        }
    }

    pub(super) fn mask(&mut self, mask: &mut impl FnMut(&str) -> String) {
        let prefixed = self.id.split_once('-').filter(|(kind, _)| [LINE, REVIEW].contains(kind));
        if !field::is_number(prefixed.map_or(self.id.as_str(), |(_, number)| number)) {
            self.id = mask(&self.id);
        }
        self.text = mask(&self.text);
        if let Some(author) = &mut self.author {
            *author = mask(author);
        }
    }
}

impl Release {
    pub(crate) fn truncated(self) -> Result<Self, ParseError> {
        let title = field::title(&self.title);
        Ok(Self {
            path: field::checked_path(self.path)?,
            id: field::checked_id(self.id)?,
            title: if title.is_empty() { field::title(&self.tag) } else { title },
            tag: field::title(&self.tag),
            author: field::name(self.author),
            notes: if self.is_deleted { String::new() } else { field::lines(&self.notes, TEXT) },
            url: field::web_url(Some(self.url)),
            sent_at: field::checked_time(self.sent_at),
            updated_at: field::checked_time(self.updated_at),
            is_deleted: self.is_deleted,
        })
    }

    pub(super) fn mask(&mut self, mask: &mut impl FnMut(&str) -> String) {
        self.path = field::path_masked(&self.path, &mut *mask);
        let Self { id, tag, title, author, notes, url, .. } = self;
        if !field::is_number(id) {
            *id = mask(id);
        }
        [tag, title, notes, url].into_iter().chain(author).for_each(|text| *text = mask(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comment(text: &str) -> Comment {
        let text = text.to_owned();
        let (author, id) = (Some("vera".to_owned()), "7".to_owned());
        Comment { id, author, text, sent_at: None, updated_at: None, is_deleted: false }
    }

    #[test]
    fn comment_keeps_its_lines_up_to_a_maximum_length() {
        let text = comment(" one\r\n\ttwo\u{0}\u{7}\n ").truncated().text;
        assert_eq!(text, "one\n\ttwo");
        let long = "ж".repeat(40_000);
        assert_eq!(comment(&long).truncated().text, "ж".repeat(8_000));
        let description = Comment { id: DESCRIPTION.to_owned(), ..comment(&long) };
        assert_eq!(description.truncated().text, "ж".repeat(32_000));
    }

    #[test]
    fn masking_spares_numeric_comment_ids_only() {
        let masked = |id: &str| {
            let mut comment = Comment { id: id.to_owned(), ..comment("secret") };
            comment.mask(&mut |_| "***".to_owned());
            (comment.id, comment.text)
        };
        for number in ["492700400", "line-284312630", "review-5"] {
            assert_eq!(masked(number), (number.to_owned(), "***".to_owned()));
        }
        for other in ["4111111111111111", "line-4111111111111111", "me-5", "secret", ""] {
            assert_eq!(masked(other).0, "***", "{other}");
        }
    }

    #[test]
    fn comment_without_text_is_deleted_and_has_no_text_when_deleted() {
        assert!(comment(" \n").truncated().is_deleted);
        let deleted = Comment { is_deleted: true, ..comment("secret") }.truncated();
        assert_eq!((deleted.text.as_str(), deleted.is_deleted), ("", true));
    }
}
