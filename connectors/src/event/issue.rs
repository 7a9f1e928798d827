//! Issues.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::field::{self, line};
use super::{Comment, Thread};
use crate::delivery::ParseError;

/// Characters of a label.
const LABEL: usize = 64;
/// Labels and links of one issue.
const LABELS: usize = 32;
const LINKS: usize = 16;

/// An issue as its tracker has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    /// The tracker's own id, such as `octocat/hello#12` or `CS-214`.
    pub external_id: String,
    /// Title; truncated to one line before storage.
    pub title: String,
    /// The state, in the tracker's words.
    pub status: Option<String>,
    /// Name of the assignee, if there is one.
    pub assignee: Option<String>,
    /// Names of the labels.
    pub labels: Vec<String>,
    /// The issue at its tracker.
    pub links: Vec<Link>,
    /// When it was opened, by the tracker's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_at: Option<DateTime<Utc>>,
    /// When it was closed or resolved; `None` while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<DateTime<Utc>>,
    /// When the issue last changed, by the tracker's clock.
    pub updated_at: Option<DateTime<Utc>>,
    /// Whether the delivery has every field. Otherwise, absent fields are unchanged.
    pub is_whole: bool,
    /// The comment that caused the delivery.
    pub comment: Option<Comment>,
}

/// A link to a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The name of the page.
    pub title: String,
    /// `http` or `https`.
    pub url: String,
}

impl Issue {
    /// Returns the thread of the issue's comments.
    pub fn thread(&self) -> Thread {
        Thread {
            external_id: self.external_id.clone(),
            title: self.title.clone(),
            url: self.links.first().map(|link| link.url.clone()).unwrap_or_default(),
        }
    }

    pub(crate) fn truncated(self) -> Result<Self, ParseError> {
        let labels = self.labels.iter().map(|label| line(label, LABEL));
        let links = self.links.into_iter().filter(|link| field::is_web_url(&link.url));
        Ok(Self {
            external_id: field::checked_id(self.external_id)?,
            title: field::title(&self.title),
            status: field::name(self.status),
            assignee: field::name(self.assignee),
            labels: labels.filter(|label| !label.is_empty()).take(LABELS).collect(),
            links: links.take(LINKS).collect(),
            opened_at: field::checked_time(self.opened_at),
            closed_at: field::checked_time(self.closed_at),
            updated_at: field::checked_time(self.updated_at),
            is_whole: self.is_whole,
            comment: self.comment.map(Comment::truncated),
        })
    }

    pub(super) fn mask(&mut self, mask: &mut impl FnMut(&str) -> String) {
        let Self { external_id, title, status, assignee, labels, links, comment, .. } = self;
        if let Some(comment) = comment {
            comment.mask(mask);
        }
        *external_id = field::path_masked(external_id, &mut *mask);
        let links = links.iter_mut().flat_map(|Link { title, url }| [title, url]);
        let texts = std::iter::once(title).chain(status).chain(assignee).chain(labels);
        texts.chain(links).for_each(|text| *text = mask(text));
    }
}
