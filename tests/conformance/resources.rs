//! Resources with fixed contents.

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use crate::samples::PNG;

const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
const WATCHED: &str = "test://watched-resource";

pub fn listed() -> Vec<Resource> {
    vec![
        Resource::new(TEXT, "Static text")
            .with_description("A text that never changes")
            .with_mime_type("text/plain"),
        Resource::new(BINARY, "Static binary")
            .with_description("An image of one pixel")
            .with_mime_type("image/png"),
        Resource::new(WATCHED, "Watched resource")
            .with_description("A resource to subscribe to")
            .with_mime_type("text/plain"),
    ]
}

pub fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("test://template/{id}/data", "Template")
            .with_description("Data of an id")
            .with_mime_type("application/json"),
    ]
}

pub fn read(uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let contents = match uri {
        TEXT => ResourceContents::text("This is the content of the static text resource.", uri)
            .with_mime_type("text/plain"),
        BINARY => ResourceContents::blob(PNG, uri).with_mime_type("image/png"),
        WATCHED => ResourceContents::text("Watched.", uri).with_mime_type("text/plain"),
        _ => from_template(uri).ok_or_else(|| {
            ErrorData::resource_not_found("no such resource", Some(json!({"uri": uri})))
        })?,
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

fn from_template(uri: &str) -> Option<ResourceContents> {
    let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
    let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
    Some(ResourceContents::text(data.to_string(), uri).with_mime_type("application/json"))
}
