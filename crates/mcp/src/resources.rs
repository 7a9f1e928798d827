//! Records and documents as MCP resources: `memory://records/{id}` and `memory://docs/{id}`, the
//! latter with `?project=KEY` where the server's default project isn't meant.

use mc_domain::{DocId, ProjectKey, RecordId};
use rmcp::model::{Resource, ResourceTemplate};
use serde_json::Value;

use crate::core::CoreCall;

/// Resources in one page of `resources/list`.
const PAGE: usize = 50;
const MIME: &str = "text/markdown";

/// The two templates.
pub fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("memory://records/{id}", "memory-record")
            .with_title("Memory record")
            .with_description("One thing the team knows, with its citations")
            .with_mime_type(MIME),
        ResourceTemplate::new("memory://docs/{id}{?project}", "document")
            .with_title("Document")
            .with_description("An ADR, wiki page or other document in full")
            .with_mime_type(MIME),
    ]
}

/// What a resource URI names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A memory record.
    Record(RecordId),
    /// A document of the default project, or of the one named.
    Document { id: DocId, project: Option<ProjectKey> },
}

impl Target {
    /// Reads a URI; `None` if it names nothing of ours.
    pub fn parse(uri: &str) -> Option<Self> {
        let (path, query) = uri.strip_prefix("memory://")?.split_once('?').map_or_else(
            || (uri.strip_prefix("memory://").unwrap_or_default(), None),
            |(path, query)| (path, Some(query)),
        );
        match (path.split_once('/')?, query) {
            (("records", id), None) => Some(Self::Record(id.parse().ok()?)),
            (("docs", id), query) => {
                let project = match query {
                    Some(query) => Some(ProjectKey::parse(query.strip_prefix("project=")?).ok()?),
                    None => None,
                };
                Some(Self::Document { id: id.parse().ok()?, project })
            }
            _ => None,
        }
    }

    /// The Core call that reads it; `None` if a document's project is neither given nor set.
    pub fn call(&self, default_project: Option<&ProjectKey>) -> Option<CoreCall> {
        match self {
            Self::Record(id) => Some(CoreCall::get(format!("/records/{id}"), Vec::new())),
            Self::Document { id, project } => {
                let project = project.as_ref().or(default_project)?;
                let query = vec![("project_key", project.to_string()), ("id", id.to_string())];
                Some(CoreCall::get("/documents", query))
            }
        }
    }
}

/// A link to the document that the Core answered with, in `project` if that isn't the default one.
pub fn document_link(document: &Value, project: Option<&str>) -> Option<Resource> {
    let id: DocId = document.get("id")?.as_str()?.parse().ok()?;
    let query = project.map(|key| format!("?project={key}")).unwrap_or_default();
    let title = document.get("title").and_then(Value::as_str).unwrap_or("document");
    Some(
        Resource::new(format!("memory://docs/{id}{query}"), title)
            .with_title(title)
            .with_mime_type(MIME),
    )
}

/// The call for a page of recent records after `cursor`, which an earlier page gave.
pub fn list_call(project: &ProjectKey, cursor: Option<&str>) -> CoreCall {
    let mut query = vec![("project_key", project.to_string()), ("limit", PAGE.to_string())];
    query.extend(cursor.map(|cursor| ("after", cursor.to_owned())));
    CoreCall::get("/records", query)
}

/// The records of a page as resources, and the cursor of the next page.
pub fn listed(answer: &Value) -> (Vec<Resource>, Option<String>) {
    let records = answer.get("records").and_then(Value::as_array);
    let resources = records.into_iter().flatten().filter_map(record_resource).collect();
    let next = answer.get("next").and_then(Value::as_str).map(ToOwned::to_owned);
    (resources, next)
}

fn record_resource(record: &Value) -> Option<Resource> {
    let text = |name: &str| record.get(name).and_then(Value::as_str);
    let id: RecordId = text("id")?.parse().ok()?;
    let title = text("title").filter(|title| !title.is_empty());
    let title = title.or_else(|| text("content")?.lines().next()).unwrap_or("record");
    let title: String = title.chars().take(80).collect();
    Some(
        Resource::new(format!("memory://records/{id}"), title.clone())
            .with_title(title)
            .with_description(text("kind").unwrap_or("record"))
            .with_mime_type(MIME),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

    #[test]
    fn a_uri_is_read_back_as_it_was_written() {
        let link = document_link(&json!({"id": ID, "title": "Timing"}), Some("bank"));
        let uri = link.expect("a link").uri;
        assert_eq!(uri, format!("memory://docs/{ID}?project=bank"));
        let target = Target::parse(&uri).expect("a target");
        let call = target.call(None).expect("a call");
        assert_eq!(call.query, vec![("project_key", "bank".into()), ("id", ID.into())]);
    }

    #[test]
    fn foreign_uris_name_nothing() {
        for uri in [
            "",
            "memory://",
            "memory://records/",
            "memory://records/42",
            "file:///etc/passwd",
            "memory://docs/../records",
            "memory://docs/x?project=a/b",
        ] {
            assert_eq!(Target::parse(uri), None, "{uri:?}");
        }
        assert_eq!(Target::parse(&format!("memory://docs/{ID}?other=1")), None);
    }

    #[test]
    fn a_document_needs_a_project() {
        let target = Target::parse(&format!("memory://docs/{ID}")).expect("a target");
        assert_eq!(target.call(None), None);
        let shop = ProjectKey::parse("shop").ok();
        assert!(target.call(shop.as_ref()).is_some());
    }

    #[test]
    fn a_record_without_title_is_listed_by_its_first_line() {
        let (resources, next) = listed(&json!({
            "records": [{"id": ID, "kind": "fact", "content": "Units match\nalways"}, {"id": 7}],
            "next": "c2",
        }));
        assert_eq!(resources.len(), 1);
        assert_eq!(resources[0].name, "Units match");
        assert_eq!(next.as_deref(), Some("c2"));
    }
}
