//! Confluence, Cloud and Data Center. What is delivered names a page and hardly more.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::delivery::{Unreadable, parse};
use crate::event::Event;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Named {
    /// Data Center's.
    event: Option<String>,
    /// What apps are told.
    #[serde(rename = "eventType")]
    event_type: Option<String>,
    // What the event is about, where nothing else tells.
    comment: Option<IgnoredAny>,
    attachment: Option<IgnoredAny>,
    attachments: Option<IgnoredAny>,
    label: Option<IgnoredAny>,
    page: Option<IgnoredAny>,
    blog: Option<IgnoredAny>,
    space: Option<IgnoredAny>,
}

pub(crate) fn read(body: &[u8]) -> Result<(String, Event), Unreadable> {
    let named: Named = parse(body)?;
    // What stands on a page comes with the page.
    let subjects = [
        ("comment", named.comment),
        ("attachment", named.attachment),
        ("attachment", named.attachments),
        ("label", named.label),
        ("page", named.page),
        ("blog", named.blog),
        ("space", named.space),
    ];
    let subject = || {
        let known = subjects.iter().find(|(_, subject)| subject.is_some());
        known.map_or("unknown", |(name, _)| *name).to_owned()
    };
    let name = named.event.or(named.event_type).unwrap_or_else(subject);
    Ok((name, Event::ignored("pages are not fetched yet")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_is_named_by_what_it_is_about_where_it_has_no_name() {
        let name = |body: &str| read(body.as_bytes()).expect("readable").0;
        assert_eq!(name(r#"{"event": "page_updated", "page": {"id": 1}}"#), "page_updated");
        let by_type = r#"{"eventType": "avi:confluence:updated:page", "content": {}}"#;
        assert_eq!(name(by_type), "avi:confluence:updated:page");
        assert_eq!(name(r#"{"page": {"id": "1"}, "updateTrigger": "edit_page"}"#), "page");
        assert_eq!(name(r#"{"comment": {"parent": {}}, "page": {}}"#), "comment");
        assert_eq!(name("{}"), "unknown");
    }

    #[test]
    fn pages_are_ignored() {
        let told = read(br#"{"event": "page_created"}"#);
        let ignored = Event::ignored("pages are not fetched yet");
        assert_eq!(told, Ok(("page_created".to_owned(), ignored)));
    }
}
