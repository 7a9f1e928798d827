//! Records and documents as MCP resources: `memory://records/{id}` and `memory://docs/{id}`, the
//! latter with `?project=KEY` where the server's default project isn't meant.

use mc_domain::{DocId, ProjectKey, RecordId};
use rmcp::model::{Resource, ResourceTemplate};
use serde_json::Value;

use crate::core::CoreCall;
use crate::render::one_line;

/// Resources in one page of `resources/list`.
const PAGE: usize = 50;
/// Longest name of a resource, in characters.
const NAME: usize = 80;
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
                Some(CoreCall::get("/documents/lookup", query))
            }
        }
    }
}

/// A link to the document that the Core answered with, in `project` if that isn't the default one.
pub fn document_link(document: &Value, project: Option<&str>) -> Option<Resource> {
    let id: DocId = document.get("id")?.as_str()?.parse().ok()?;
    let query = project.map(|key| format!("?project={key}")).unwrap_or_default();
    let title = document.get("title").and_then(Value::as_str).unwrap_or("document");
    let title = one_line(title, NAME);
    Some(
        Resource::new(format!("memory://docs/{id}{query}"), title.clone())
            .with_title(title)
            .with_mime_type(MIME),
    )
}

/// Where `resources/list` goes on: a project's records come first, then its documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Records after this one.
    Records(Option<RecordId>),
    /// Documents after this one.
    Documents(Option<DocId>),
}

impl Place {
    /// Reads a cursor that an earlier page gave; `None` if it is no such.
    pub fn parse(cursor: Option<&str>) -> Option<Self> {
        let Some(cursor) = cursor else { return Some(Self::Records(None)) };
        match cursor.split_once(':')? {
            ("records", id) => Some(Self::Records(Some(id.parse().ok()?))),
            ("documents", "") => Some(Self::Documents(None)),
            ("documents", id) => Some(Self::Documents(Some(id.parse().ok()?))),
            _ => None,
        }
    }

    /// The call for the page that begins here.
    pub fn call(&self, project: &ProjectKey) -> CoreCall {
        let (path, after) = match self {
            Self::Records(after) => ("/records", after.map(|id| id.to_string())),
            Self::Documents(after) => ("/documents", after.map(|id| id.to_string())),
        };
        let mut query = vec![("project_key", project.to_string()), ("limit", PAGE.to_string())];
        query.extend(after.map(|after| ("cursor", after)));
        CoreCall::get(path, query)
    }

    /// What the Core answered to [`Place::call`] as resources, and the cursor of the next page.
    pub fn listed(&self, answer: &Value) -> (Vec<Resource>, Option<String>) {
        let items = |name: &str| answer.get(name).and_then(Value::as_array).into_iter().flatten();
        let next = answer.get("next_cursor").and_then(Value::as_str);
        match self {
            Self::Records(_) => {
                let next = next.map_or("documents:".to_owned(), |id| format!("records:{id}"));
                (items("items").filter_map(record_resource).collect(), Some(next))
            }
            Self::Documents(_) => {
                let documents = items("items").filter_map(|one| document_link(one, None));
                (documents.collect(), next.map(|id| format!("documents:{id}")))
            }
        }
    }
}

fn record_resource(record: &Value) -> Option<Resource> {
    let text = |name: &str| record.get(name).and_then(Value::as_str);
    let id: RecordId = text("id")?.parse().ok()?;
    let title = text("title").filter(|title| !title.is_empty());
    let title = title.or_else(|| text("content")?.lines().next()).unwrap_or("record");
    let title = one_line(title, NAME);
    Some(
        Resource::new(format!("memory://records/{id}"), title.clone())
            .with_title(title)
            .with_description(one_line(text("kind").unwrap_or("record"), NAME))
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
    fn records_are_listed_before_documents() {
        let shop = ProjectKey::parse("shop").expect("a key");
        let mut place = Place::parse(None).expect("the beginning");
        let records = json!({
            "items": [{"id": ID, "kind": "fact", "content": "Units match\nalways"}, {"id": 7}],
            "next_cursor": ID,
        });
        let (resources, next) = place.listed(&records);
        assert_eq!(resources.len(), 1);
        assert_eq!(resources[0].name, "Units match", "a record without title by its first line");
        place = Place::parse(next.as_deref()).expect("a cursor of ours");
        assert_eq!(place.call(&shop).query[2], ("cursor", ID.to_owned()));

        let (_, next) = place.listed(&json!({"items": []}));
        place = Place::parse(next.as_deref()).expect("a cursor of ours");
        assert_eq!(place, Place::Documents(None));
        let documents = json!({"items": [{"id": ID, "title": "Timing"}], "next_cursor": ID});
        let (resources, next) = place.listed(&documents);
        assert_eq!(resources[0].uri, format!("memory://docs/{ID}"));
        place = Place::parse(next.as_deref()).expect("a cursor of ours");
        assert_eq!(place.listed(&json!({"items": []})), (vec![], None));
    }

    #[test]
    fn a_strange_cursor_is_none() {
        for cursor in ["", "records", "records:", "records:7", "documents:x", "page two"] {
            assert_eq!(Place::parse(Some(cursor)), None, "{cursor:?}");
        }
    }
}
