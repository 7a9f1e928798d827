//! Confluence, Cloud and Data Center. What is delivered names a page and hardly more.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::delivery::{ParseError, parse};
use crate::event::{self, Event};

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
    page: Option<Page>,
    blog: Option<Page>,
    /// Of an app's.
    content: Option<Page>,
    space: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Page {
    id: Option<Id>,
}

/// Data Center's are numbers, Cloud's texts.
#[derive(Deserialize)]
#[serde(untagged)]
enum Id {
    Number(u64),
    Text(String),
}

pub(crate) fn read(body: &[u8]) -> Result<(String, Event), ParseError> {
    let named: Named = parse(body)?;
    // What stands on a page comes with the page.
    let subjects = [
        ("comment", named.comment.is_some()),
        ("attachment", named.attachment.is_some() || named.attachments.is_some()),
        ("label", named.label.is_some()),
        ("page", named.page.is_some()),
        ("blog", named.blog.is_some()),
        ("space", named.space.is_some()),
    ];
    let subject = || {
        let known = subjects.iter().find(|(_, is_there)| *is_there);
        known.map_or("unknown", |(name, _)| *name).to_owned()
    };
    let page = named.page.or(named.blog).or(named.content).and_then(|page| page.id);
    let name = named.event.or(named.event_type).unwrap_or_else(subject);
    let told = match page {
        Some(id) => told(&name, id.text())?,
        None => Event::ignored("it names no page"),
    };
    Ok((name, told))
}

/// Whatever happens to a page or to what stands on it: it is another one now, or there is none.
fn told(name: &str, id: String) -> Result<Event, ParseError> {
    let id = event::checked_id(id)?;
    let is_gone = ["page_removed", "page_trashed", "blog_removed", "blog_trashed"].contains(&name)
        || ["avi:confluence:deleted:page", "avi:confluence:trashed:page"].contains(&name);
    Ok(if is_gone { Event::PageGone { id } } else { Event::PageChanged { id } })
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
    fn a_page_is_told_by_its_id_until_it_is_gone() {
        let told = |body: &str| read(body.as_bytes()).expect("readable").1;
        let changed = Event::PageChanged { id: "98".to_owned() };
        assert_eq!(told(r#"{"event": "page_created", "page": {"id": 98}}"#), changed);
        assert_eq!(told(r#"{"page": {"id": "98"}, "updateTrigger": "edit_page"}"#), changed);
        let commented = r#"{"event": "comment_created", "comment": {}, "page": {"id": 98}}"#;
        assert_eq!(told(commented), changed);
        let app = r#"{"eventType": "avi:confluence:updated:page", "content": {"id": "98"}}"#;
        assert_eq!(told(app), changed);
        let gone = Event::PageGone { id: "98".to_owned() };
        for name in ["page_trashed", "page_removed", "blog_trashed"] {
            let body = format!(r#"{{"event": "{name}", "page": {{"id": 98}}}}"#);
            assert_eq!(told(&body), gone, "{name}");
        }
        let none = Event::ignored("it names no page");
        assert_eq!(told(r#"{"event": "space_created", "space": {"key": "A"}}"#), none);
    }
}
