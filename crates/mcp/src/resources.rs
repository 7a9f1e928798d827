//! Records and documents as MCP resources: `memory://records/{id}` and `memory://docs/{id}`, the
//! latter with `?project=KEY` for another than the default project.

use mc_domain::{DocId, ProjectKey, RecordId};
use rmcp::model::{Resource, ResourceTemplate};
use serde_json::Value;

use crate::core::CoreCall;
use crate::render::{MIME, ModelText, UNCONFIRMED, is_proposal};

/// Resources per page of `resources/list`.
const PAGE: usize = 50;
/// Maximum length of the name of a resource, in characters.
const NAME: usize = 80;

/// Returns the URI templates of records and documents.
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

/// Target of a resource URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A memory record.
    Record(RecordId),
    /// A document of the default project or of `project`.
    Document { id: DocId, project: Option<ProjectKey> },
}

impl Target {
    /// Parses a URI; `None` if it is not a resource of this server.
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

    /// Returns the Core call that reads the target; `None` for a document without a project.
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

/// Returns a link to a document, with `project` if it is not the default one.
pub fn document_link(document: &Value, project: Option<&str>) -> Option<Resource> {
    let id: DocId = document.get("id")?.as_str()?.parse().ok()?;
    let query = project.map(|key| format!("?project={key}")).unwrap_or_default();
    let title = document.get("title").and_then(Value::as_str).unwrap_or("document");
    Some(ModelText::from_line(title, NAME).into_resource(format!("memory://docs/{id}{query}")))
}

/// Cursor of `resources/list`, which lists the records of a project first and then its documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListCursor {
    /// Records after this one.
    Records(Option<RecordId>),
    /// Documents after this one.
    Documents(Option<DocId>),
}

impl ListCursor {
    /// Parses the cursor of a previous page; `None` if it is invalid.
    pub fn parse(cursor: Option<&str>) -> Option<Self> {
        let Some(cursor) = cursor else { return Some(Self::Records(None)) };
        match cursor.split_once(':')? {
            ("records", id) => Some(Self::Records(Some(id.parse().ok()?))),
            ("documents", "") => Some(Self::Documents(None)),
            ("documents", id) => Some(Self::Documents(Some(id.parse().ok()?))),
            _ => None,
        }
    }

    /// Returns the call for the page at this cursor.
    pub fn call(&self, project: &ProjectKey) -> CoreCall {
        let (path, after) = match self {
            Self::Records(after) => ("/records", after.map(|id| id.to_string())),
            Self::Documents(after) => ("/documents", after.map(|id| id.to_string())),
        };
        let mut query = vec![("project_key", project.to_string()), ("limit", PAGE.to_string())];
        query.extend(after.map(|after| ("cursor", after)));
        CoreCall::get(path, query)
    }

    /// Converts the Core's response to [`ListCursor::call`] into resources and the next cursor.
    pub fn resources(&self, answer: &Value) -> (Vec<Resource>, Option<String>) {
        let items = |name: &str| answer.get(name).and_then(Value::as_array).into_iter().flatten();
        let next = answer.get("next_cursor").and_then(Value::as_str);
        match self {
            Self::Records(_) => {
                let next = next.map_or("documents:".to_owned(), |id| format!("records:{id}"));
                (items("items").filter_map(record_resource).collect(), Some(next))
            }
            Self::Documents(_) => {
                let documents = items("items").filter_map(|doc| document_link(doc, None));
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
    let mut description = ModelText::from_line(text("kind").unwrap_or("record"), NAME);
    if is_proposal(record) {
        description.add(", ").add(UNCONFIRMED);
    }
    let resource =
        ModelText::from_line(title, NAME).into_resource(format!("memory://records/{id}"));
    Some(description.into_description_of(resource))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

    #[test]
    fn uri_of_a_link_is_parsed() {
        let link = document_link(&json!({"id": ID, "title": "Timing"}), Some("bank"));
        let uri = link.expect("a link").uri;
        assert_eq!(uri, format!("memory://docs/{ID}?project=bank"));
        let target = Target::parse(&uri).expect("a target");
        let call = target.call(None).expect("a call");
        assert_eq!(call.query, vec![("project_key", "bank".into()), ("id", ID.into())]);
    }

    #[test]
    fn foreign_uris_are_rejected() {
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
    fn document_requires_a_project() {
        let target = Target::parse(&format!("memory://docs/{ID}")).expect("a target");
        assert_eq!(target.call(None), None);
        let shop = ProjectKey::parse("shop").ok();
        assert!(target.call(shop.as_ref()).is_some());
    }

    #[test]
    fn records_are_listed_before_documents() {
        let shop = ProjectKey::parse("shop").expect("a key");
        let mut cursor = ListCursor::parse(None).expect("the beginning");
        let records = json!({
            "items": [{"id": ID, "kind": "fact", "content": "Units match\nalways"}, {"id": 7}],
            "next_cursor": ID,
        });
        let (resources, next) = cursor.resources(&records);
        assert_eq!(resources.len(), 1);
        assert_eq!(resources[0].name, "Units match", "a record without title by its first line");
        cursor = ListCursor::parse(next.as_deref()).expect("a valid cursor");
        assert_eq!(cursor.call(&shop).query[2], ("cursor", ID.to_owned()));

        let (_, next) = cursor.resources(&json!({"items": []}));
        cursor = ListCursor::parse(next.as_deref()).expect("a valid cursor");
        assert_eq!(cursor, ListCursor::Documents(None));
        let documents = json!({"items": [{"id": ID, "title": "Timing"}], "next_cursor": ID});
        let (resources, next) = cursor.resources(&documents);
        assert_eq!(resources[0].uri, format!("memory://docs/{ID}"));
        cursor = ListCursor::parse(next.as_deref()).expect("a valid cursor");
        assert_eq!(cursor.resources(&json!({"items": []})), (vec![], None));
    }

    #[test]
    fn proposal_is_listed_as_unconfirmed() {
        let mut record = json!({"id": ID, "kind": "rule", "content": "x", "visibility": "team"});
        let description = |record: &Value| record_resource(record).and_then(|of| of.description);
        assert_eq!(description(&record).as_deref(), Some("rule"));
        record["visibility"] = json!("proposed");
        let expected = "rule, proposal that no reviewer has confirmed";
        assert_eq!(description(&record).as_deref(), Some(expected));
    }

    /// Titles come from files of repositories and from notes.
    #[test]
    fn titles_are_neutralized_lines() {
        let title = "a\u{2028}b <tool_call> \u{1b}[2J <|im_start|>system";
        let record = json!({"id": ID, "kind": title, "content": "x", "title": title});
        let document = json!({"id": ID, "title": title});
        for (cursor, item) in
            [(ListCursor::Records(None), record), (ListCursor::Documents(None), document)]
        {
            let (resources, _) = cursor.resources(&json!({"items": [item]}));
            let listed = serde_json::to_value(&resources[0]).expect("JSON");
            for (field, text) in listed.as_object().expect("an object") {
                let text = text.as_str().expect("a text");
                for raw in ["\u{2028}", "\u{1b}", "<tool_call>", "<|im_start|>"] {
                    assert!(!text.contains(raw), "{field}: {text}");
                }
            }
            assert!(resources[0].name.contains("tool_call"), "{}", resources[0].name);
        }
    }

    #[test]
    fn invalid_cursor_is_rejected() {
        for cursor in ["", "records", "records:", "records:7", "documents:x", "page two"] {
            assert_eq!(ListCursor::parse(Some(cursor)), None, "{cursor:?}");
        }
    }
}
