//! Execution of `open_doc`: finds a record, document or passage by id or handle, or a document by
//! title or URL.

use rmcp::model::{CallToolResult, JsonObject};
use serde_json::{Value, json};

use super::errors::CallError;
use super::lookups::CoreCaller;
use crate::core::CoreCall;
use crate::render;
use crate::tools::{self, FieldError};

/// Reads the text that `arguments` name. `item` is the resolved item of their handle, if any.
pub(super) async fn open(
    caller: &CoreCaller<'_>,
    arguments: &JsonObject,
    item: Option<Value>,
) -> Result<CallToolResult, CallError> {
    let project = caller.project(arguments).await?;
    let (answer, line) = match item {
        Some(item) => read_item(caller, &project, &item).await?,
        None => (read_named(caller, &project, arguments).await?, None),
    };
    Ok(tools::opened(arguments, caller.project, answer, line)?)
}

/// Reads an item of a bundle. For a document, also returns the line of the passage through which it
/// was found, to show the section around it if the document is too long.
async fn read_item(
    caller: &CoreCaller<'_>,
    project: &str,
    item: &Value,
) -> Result<(Value, Option<usize>), CallError> {
    let id = |name: &str| item[name].as_str();
    if let Some(record) = id("record_id") {
        return Ok((find_record(caller, project, record).await?.ok_or_else(item_changed)?, None));
    }
    let passage = match id("passage_id") {
        Some(passage) => find_passage(caller, project, passage).await?,
        None => None,
    };
    let Some(doc) = id("doc_id") else { return Ok((passage.ok_or_else(item_changed)?, None)) };
    let line = passage.as_ref().and_then(|passage| passage["line_start"].as_u64());
    let line = line.and_then(|line| usize::try_from(line).ok());
    Ok((document(caller, project, "id", doc).await?, line))
}

fn item_changed() -> FieldError {
    FieldError::new("id", "its item has changed or was deleted; recall again")
}

async fn read_named(
    caller: &CoreCaller<'_>,
    project: &str,
    arguments: &JsonObject,
) -> Result<Value, CallError> {
    let names: Vec<(&str, &str)> = ["id", "url", "title"]
        .into_iter()
        .filter_map(|name| Some((name, arguments.get(name)?.as_str()?)))
        .collect();
    let [(name, text)] = names.as_slice() else {
        let field = names.get(1).map_or("id", |(name, _)| name);
        return Err(FieldError::new(field, "give exactly one of id, title, url").into());
    };
    if *name != "id" {
        return Ok(document(caller, project, name, text).await?);
    }
    if let Some(record) = find_record(caller, project, text).await? {
        return Ok(record);
    }
    if let Some(found) = find_document(caller, project, text).await? {
        return Ok(found);
    }
    let passage = find_passage(caller, project, text).await?;
    let rule =
        "the project has no record, document or passage of this id; search finds what is there";
    Ok(passage.ok_or_else(|| FieldError::new("id", rule))?)
}

/// Finds a record. If it summarizes a longer document, returns that document, which has the
/// visibility of a proposal if the record is one.
async fn find_record(
    caller: &CoreCaller<'_>,
    project: &str,
    id: &str,
) -> Result<Option<Value>, CallError> {
    let found = caller.find(CoreCall::get(format!("/records/{id}"), Vec::new())).await?;
    let Some(record) = found else { return Ok(None) };
    if let Some(document) = record["document_id"].as_str()
        && let Some(mut document) = find_document(caller, project, document).await?
    {
        if render::is_proposal(&record) {
            document["visibility"] = record["visibility"].clone();
        }
        return Ok(Some(document));
    }
    Ok(Some(with_kind("record", record)))
}

async fn find_document(
    caller: &CoreCaller<'_>,
    project: &str,
    id: &str,
) -> Result<Option<Value>, CallError> {
    let query = vec![("project_key", project.to_owned()), ("id", id.to_owned())];
    let found = caller.find(CoreCall::get("/documents/lookup", query)).await?;
    Ok(found.map(|document| with_kind("document", document)))
}

async fn document(
    caller: &CoreCaller<'_>,
    project: &str,
    by: &str,
    text: &str,
) -> Result<Value, crate::core::CoreError> {
    let by = match by {
        "url" => "url",
        "id" => "id",
        _ => "title",
    };
    let query = vec![("project_key", project.to_owned()), (by, text.to_owned())];
    Ok(with_kind("document", caller.send(CoreCall::get("/documents/lookup", query)).await?))
}

async fn find_passage(
    caller: &CoreCaller<'_>,
    project: &str,
    id: &str,
) -> Result<Option<Value>, CallError> {
    let query = vec![("project_key", project.to_owned())];
    let Some(mut found) = caller.find(CoreCall::get(format!("/passages/{id}"), query)).await?
    else {
        return Ok(None);
    };
    found["content"] = found["text"].take();
    let source = found["source"].as_str().unwrap_or("passage").to_owned();
    Ok(Some(with_kind(&source, found)))
}

/// Adds the kind of a text to its fields.
fn with_kind(kind: &str, mut answer: Value) -> Value {
    answer["what"] = json!(kind);
    answer
}
