//! `open_doc`: whichever thing has the id or handle, else the document of that title or URL.

use rmcp::model::{CallToolResult, JsonObject};
use serde_json::{Value, json};

use super::errors::CallError;
use super::lookups::Asker;
use crate::core::CoreCall;
use crate::render;
use crate::tools::{self, FieldError};

/// Reads what `arguments` name; `item` is what their handle stands for.
pub(super) async fn open(
    ask: &Asker<'_>,
    arguments: &JsonObject,
    item: Option<Value>,
) -> Result<CallToolResult, CallError> {
    let project = ask.project(arguments).await?;
    let (answer, line) = match item {
        Some(item) => of_item(ask, &project, &item).await?,
        None => (named(ask, &project, arguments).await?, None),
    };
    tools::opened(arguments, ask.project, answer, line)
        .map_err(|error| CallError::NoSection(render::no_section(&error)))
}

/// What a bundle's item stands for. Of a document that is too long to be shown whole the section is
/// shown through which it was found.
async fn of_item(
    ask: &Asker<'_>,
    project: &str,
    item: &Value,
) -> Result<(Value, Option<usize>), CallError> {
    let id = |name: &str| item[name].as_str();
    if let Some(record) = id("record_id") {
        return Ok((record_called(ask, project, record).await?.ok_or_else(gone)?, None));
    }
    let passage = match id("passage_id") {
        Some(passage) => passage_called(ask, project, passage).await?,
        None => None,
    };
    let Some(doc) = id("doc_id") else { return Ok((passage.ok_or_else(gone)?, None)) };
    let line = passage.as_ref().and_then(|passage| passage["line_start"].as_u64());
    let line = line.and_then(|line| usize::try_from(line).ok());
    Ok((document(ask, project, "id", doc).await?, line))
}

fn gone() -> FieldError {
    FieldError::new("id", "what it stood for has changed or is gone; recall again")
}

async fn named(ask: &Asker<'_>, project: &str, arguments: &JsonObject) -> Result<Value, CallError> {
    let given: Vec<(&str, &str)> = ["id", "url", "title"]
        .into_iter()
        .filter_map(|name| Some((name, arguments.get(name)?.as_str()?)))
        .collect();
    let [(name, text)] = given.as_slice() else {
        let field = given.get(1).map_or("id", |(name, _)| name);
        return Err(FieldError::new(field, "give exactly one of id, title, url").into());
    };
    if *name != "id" {
        return Ok(document(ask, project, name, text).await?);
    }
    if let Some(record) = record_called(ask, project, text).await? {
        return Ok(record);
    }
    if let Some(found) = document_called(ask, project, text).await? {
        return Ok(found);
    }
    let passage = passage_called(ask, project, text).await?;
    let rule =
        "the project has no record, document or passage of this id; search finds what is there";
    Ok(passage.ok_or_else(|| FieldError::new("id", rule))?)
}

/// A record, or the document behind it: where the record is the statement of a longer text, that is
/// what it says.
async fn record_called(
    ask: &Asker<'_>,
    project: &str,
    id: &str,
) -> Result<Option<Value>, CallError> {
    let found = ask.find(CoreCall::get(format!("/records/{id}"), Vec::new())).await?;
    let Some(record) = found else { return Ok(None) };
    if let Some(whole) = record["document_id"].as_str()
        && let Some(whole) = document_called(ask, project, whole).await?
    {
        return Ok(Some(whole));
    }
    Ok(Some(what("record", record)))
}

async fn document_called(
    ask: &Asker<'_>,
    project: &str,
    id: &str,
) -> Result<Option<Value>, CallError> {
    let query = vec![("project_key", project.to_owned()), ("id", id.to_owned())];
    let found = ask.find(CoreCall::get("/documents/lookup", query)).await?;
    Ok(found.map(|document| what("document", document)))
}

async fn document(
    ask: &Asker<'_>,
    project: &str,
    by: &str,
    text: &str,
) -> Result<Value, crate::core::CoreError> {
    let by = if by == "url" {
        "url"
    } else if by == "id" {
        "id"
    } else {
        "title"
    };
    let query = vec![("project_key", project.to_owned()), (by, text.to_owned())];
    Ok(what("document", ask.send(CoreCall::get("/documents/lookup", query)).await?))
}

async fn passage_called(
    ask: &Asker<'_>,
    project: &str,
    id: &str,
) -> Result<Option<Value>, CallError> {
    let query = vec![("project_key", project.to_owned())];
    let Some(mut found) = ask.find(CoreCall::get(format!("/passages/{id}"), query)).await? else {
        return Ok(None);
    };
    found["content"] = found["text"].take();
    let source = found["source"].as_str().unwrap_or("passage").to_owned();
    Ok(Some(what(&source, found)))
}

fn what(what: &str, mut answer: Value) -> Value {
    answer["what"] = json!(what);
    answer
}
