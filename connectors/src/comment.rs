//! Texts that people write at trackers and git hosts: comments, reviews, notes of releases.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::delivery::ParseError;
use crate::event::{self, Event};

/// Characters of a text that are kept.
const TEXT: usize = 8_000;
/// What an issue says itself is longer.
const DESCRIPTION_TEXT: usize = 32_000;
/// Its id among what is said of the issue.
pub(crate) const DESCRIPTION: &str = "description";
/// Characters of an id among its like.
const ID: usize = 128;
/// What ids of comments begin with that are numbered apart from the others: at lines of a change, and of reviews.
pub(crate) const LINE: &str = "line";
pub(crate) const REVIEW: &str = "review";

/// What a comment belongs to: an issue, a pull or merge request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// The tracker's own id, such as `octocat/hello#12` or `CS-214`.
    pub external_id: String,
    /// Title.
    pub title: String,
    /// Where people look at it; may be empty.
    pub url: String,
}

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// Its id among those of its issue or change.
    pub id: String,
    /// Who said it.
    pub author: Option<String>,
    /// What, as Markdown or as its tracker writes; empty where it is gone.
    pub text: String,
    /// When.
    pub sent_at: Option<DateTime<Utc>>,
    /// When it was last changed.
    pub updated_at: Option<DateTime<Utc>>,
    /// Whether it was taken back, or is no longer for everybody.
    pub is_deleted: bool,
}

/// A version that was published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// The repository at its host, such as `octocat/hello`.
    pub path: String,
    /// Its id at the host.
    pub id: String,
    /// The tag that it was made at.
    pub tag: String,
    /// Title; the tag where it has none.
    pub title: String,
    /// Who published it.
    pub author: Option<String>,
    /// What is new, as Markdown; empty where it is gone.
    pub notes: String,
    /// Where people look at it; may be empty.
    pub url: String,
    /// When it was published.
    pub sent_at: Option<DateTime<Utc>>,
    /// When it was last changed.
    pub updated_at: Option<DateTime<Utc>>,
    /// Whether it was taken back.
    pub is_deleted: bool,
}

impl Thread {
    pub(crate) fn truncated(self) -> Result<Self, ParseError> {
        Ok(Self {
            external_id: event::checked_id(self.external_id)?,
            title: event::title(&self.title),
            url: event::page(Some(self.url)),
        })
    }

    pub(crate) fn mask(&mut self, mask: &mut impl FnMut(&str) -> String) {
        self.external_id = event::path_masked(&self.external_id, &mut *mask);
        self.title = mask(&self.title);
        self.url = mask(&self.url);
    }
}

impl Comment {
    /// The same, with every text cut to its size; what says nothing is gone.
    pub(crate) fn bounded(self) -> Self {
        let most = if self.id == DESCRIPTION { DESCRIPTION_TEXT } else { TEXT };
        let text = if self.is_deleted { String::new() } else { bounded(&self.text, most) };
        Self {
            id: self.id.chars().filter(|c| !c.is_control()).take(ID).collect(),
            author: event::name(self.author),
            is_deleted: text.is_empty(),
            text,
            sent_at: event::bounded_time(self.sent_at),
            updated_at: event::bounded_time(self.updated_at),
        }
    }

    pub(crate) fn mask(&mut self, mask: &mut impl FnMut(&str) -> String) {
        let kinds = self.id.split_once('-').filter(|(kind, _)| [LINE, REVIEW].contains(kind));
        if !event::is_number(kinds.map_or(self.id.as_str(), |(_, number)| number)) {
            self.id = mask(&self.id);
        }
        self.text = mask(&self.text);
        if let Some(author) = &mut self.author {
            *author = mask(author);
        }
    }
}

impl Release {
    /// The event, with every text cut to its size.
    pub(crate) fn bounded(self) -> Result<Event, ParseError> {
        let title = event::title(&self.title);
        Ok(Event::Release(Self {
            path: event::checked_path(self.path)?,
            id: event::checked_id(self.id)?,
            title: if title.is_empty() { event::title(&self.tag) } else { title },
            tag: event::title(&self.tag),
            author: event::name(self.author),
            notes: if self.is_deleted { String::new() } else { bounded(&self.notes, TEXT) },
            url: event::page(Some(self.url)),
            sent_at: event::bounded_time(self.sent_at),
            updated_at: event::bounded_time(self.updated_at),
            is_deleted: self.is_deleted,
        }))
    }

    pub(crate) fn mask(&mut self, mask: &mut impl FnMut(&str) -> String) {
        self.path = event::path_masked(&self.path, &mut *mask);
        let Self { id, tag, title, author, notes, url, .. } = self;
        if !event::is_number(id) {
            *id = mask(id);
        }
        [tag, title, notes, url].into_iter().chain(author).for_each(|text| *text = mask(text));
    }
}

/// The beginning of a text, in which lines may end and nothing else is out of sight.
fn bounded(text: &str, most: usize) -> String {
    let shown = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t'));
    shown.take(most).collect::<String>().trim().to_owned()
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
    fn a_text_keeps_its_lines_and_no_more_than_its_size() {
        let text = comment(" one\r\n\ttwo\u{0}\u{7}\n ").bounded().text;
        assert_eq!(text, "one\n\ttwo");
        let long = "ж".repeat(40_000);
        assert_eq!(comment(&long).bounded().text, "ж".repeat(8_000));
        let description = Comment { id: DESCRIPTION.to_owned(), ..comment(&long) };
        assert_eq!(description.bounded().text, "ж".repeat(32_000));
    }

    #[test]
    fn numbers_of_the_host_are_left_and_everything_else_is_masked() {
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
    fn what_says_nothing_is_gone_and_what_is_gone_says_nothing() {
        assert!(comment(" \n").bounded().is_deleted);
        let gone = Comment { is_deleted: true, ..comment("secret") }.bounded();
        assert_eq!((gone.text.as_str(), gone.is_deleted), ("", true));
    }
}
