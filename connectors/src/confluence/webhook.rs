//! Parser of Confluence's deliveries, which name a page and have little else.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::delivery::{ParseError, from_json};
use crate::event::{Event, field};
use crate::provider::ParsedEvent;

#[derive(Default, Deserialize)]
struct Envelope {
    /// The event type of Data Center.
    event: Option<String>,
    /// The event type that apps receive.
    #[serde(rename = "eventType")]
    event_type: Option<String>,
    // The subject of an event without a type.
    comment: Option<IgnoredAny>,
    attachment: Option<IgnoredAny>,
    attachments: Option<IgnoredAny>,
    label: Option<IgnoredAny>,
    page: Option<Page>,
    blog: Option<Page>,
    /// The page that apps receive.
    content: Option<Page>,
    space: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
struct Page {
    id: Option<Id>,
}

/// A number in Data Center, a text in Cloud.
#[derive(Deserialize)]
#[serde(untagged)]
enum Id {
    Number(u64),
    Text(String),
}

pub(super) fn parse(body: &[u8]) -> Result<ParsedEvent, ParseError> {
    let envelope: Envelope = from_json(body)?;
    // A comment, attachment or label comes with its page.
    let subjects = [
        ("comment", envelope.comment.is_some()),
        ("attachment", envelope.attachment.is_some() || envelope.attachments.is_some()),
        ("label", envelope.label.is_some()),
        ("page", envelope.page.is_some()),
        ("blog", envelope.blog.is_some()),
        ("space", envelope.space.is_some()),
    ];
    let subject = || {
        let first = subjects.iter().find(|(_, is_present)| *is_present);
        first.map_or("unknown", |(name, _)| *name).to_owned()
    };
    let page = envelope.page.or(envelope.blog).or(envelope.content).and_then(|page| page.id);
    let name = envelope.event.or(envelope.event_type).unwrap_or_else(subject);
    let event = match page {
        Some(id) => page_event(&name, id.text())?,
        None => Event::ignored("the event names no page"),
    };
    Ok((name, event))
}

/// Any event on a page, or on a comment, attachment or label of it, changes or deletes the page.
fn page_event(name: &str, id: String) -> Result<Event, ParseError> {
    let id = field::checked_id(id)?;
    let is_deleted = ["page_removed", "page_trashed", "blog_removed", "blog_trashed"]
        .contains(&name)
        || ["avi:confluence:deleted:page", "avi:confluence:trashed:page"].contains(&name);
    Ok(if is_deleted { Event::PageDeleted { id } } else { Event::PageChanged { id } })
}

impl Id {
    fn text(self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delivery_without_a_type_is_named_after_its_subject() {
        let name = |body: &str| parse(body.as_bytes()).expect("readable").0;
        assert_eq!(name(r#"{"event": "page_updated", "page": {"id": 1}}"#), "page_updated");
        let by_type = r#"{"eventType": "avi:confluence:updated:page", "content": {}}"#;
        assert_eq!(name(by_type), "avi:confluence:updated:page");
        assert_eq!(name(r#"{"page": {"id": "1"}, "updateTrigger": "edit_page"}"#), "page");
        assert_eq!(name(r#"{"comment": {"parent": {}}, "page": {}}"#), "comment");
        assert_eq!(name("{}"), "unknown");
    }

    #[test]
    fn page_events_change_a_page_or_delete_it() {
        let event = |body: &str| parse(body.as_bytes()).expect("readable").1;
        let changed = Event::PageChanged { id: "98".to_owned() };
        assert_eq!(event(r#"{"event": "page_created", "page": {"id": 98}}"#), changed);
        assert_eq!(event(r#"{"page": {"id": "98"}, "updateTrigger": "edit_page"}"#), changed);
        let commented = r#"{"event": "comment_created", "comment": {}, "page": {"id": 98}}"#;
        assert_eq!(event(commented), changed);
        let app = r#"{"eventType": "avi:confluence:updated:page", "content": {"id": "98"}}"#;
        assert_eq!(event(app), changed);
        let deleted = Event::PageDeleted { id: "98".to_owned() };
        for name in ["page_trashed", "page_removed", "blog_trashed"] {
            let body = format!(r#"{{"event": "{name}", "page": {{"id": 98}}}}"#);
            assert_eq!(event(&body), deleted, "{name}");
        }
        let none = Event::ignored("the event names no page");
        assert_eq!(event(r#"{"event": "space_created", "space": {"key": "A"}}"#), none);
    }
}
