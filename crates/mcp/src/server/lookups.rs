//! What only the Core can read of a call's arguments: handles of bundles and absolute paths.

use http::HeaderValue;
use mc_domain::{Classified, ErrorKind, Handle, ProjectKey};
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::errors::CallError;
use crate::core::{CoreCall, CoreClient, CoreError};
use crate::tools::{self, FieldError, Handles, Reference, Tool, glob, project_of};

/// Most handles that a refusal names.
const NAMED: usize = 30;

/// A call's way to the Core.
pub(super) struct Asker<'a> {
    pub core: &'a CoreClient,
    pub authorization: Option<&'a HeaderValue>,
    /// The project of a call that names none.
    pub project: Option<&'a ProjectKey>,
}

impl Asker<'_> {
    pub(super) async fn send(&self, call: CoreCall) -> Result<Value, CoreError> {
        self.core.send(call, self.authorization).await
    }

    /// The same; `None` for what is not there.
    pub(super) async fn find(&self, call: CoreCall) -> Result<Option<Value>, CoreError> {
        match self.send(call).await {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The project that `arguments` are about. Where none is named, the refusal lists those that
    /// the caller may use.
    pub(super) async fn project(&self, arguments: &JsonObject) -> Result<String, CallError> {
        match project_of(arguments, self.project) {
            Err(error) if !arguments.contains_key("project_key") => {
                let own = self.send(CoreCall::get("/projects", Vec::new())).await?;
                let own = own["items"].as_array().into_iter().flatten();
                let keys: Vec<&str> =
                    own.filter_map(|own| own["key"].as_str()).take(NAMED).collect();
                let rule = match keys.as_slice() {
                    [] => error.rule,
                    keys => format!("{}. You may use: {}", error.rule, keys.join(", ")),
                };
                Err(FieldError::new("project_key", rule).into())
            }
            result => Ok(result?),
        }
    }
}

/// Puts what they stand for in the place of handles and absolute paths. Answers the item that
/// `open_doc` is to read, where a handle names it.
pub(super) async fn resolve(
    ask: &Asker<'_>,
    tool: &Tool,
    arguments: &mut JsonObject,
) -> Result<Option<Value>, CallError> {
    let (mut handles, mut item) = (Vec::new(), None);
    for (field, reference) in tools::references(arguments) {
        match reference {
            Reference::Handle(handle) => handles.push((field, handle)),
            Reference::Path(path) => put_path(ask, arguments, &field, &path).await?,
        }
    }
    let uses = tool.spec.handles;
    let needs_bundle = uses == Handles::Items && !arguments.contains_key("bundle_id");
    if handles.is_empty() && !needs_bundle {
        return Ok(None);
    }
    let named = look_up(ask, arguments, &handles).await?;
    if needs_bundle {
        arguments.insert("bundle_id".into(), named["bundle_id"].clone());
    }
    for (field, handle) in handles {
        let found = found(&named, &field, handle)?;
        if uses == Handles::Read {
            item = Some(found.clone());
        } else {
            tools::put(arguments, &field, id_for(uses, &field, handle, found)?)?;
        }
    }
    if uses != Handles::Items {
        arguments.remove("bundle_id");
    }
    Ok(item)
}

async fn look_up(
    ask: &Asker<'_>,
    arguments: &JsonObject,
    handles: &[(String, Handle)],
) -> Result<Value, CallError> {
    let mut query = vec![("project_key", ask.project(arguments).await?)];
    let bundle = arguments.get("bundle_id").and_then(Value::as_str);
    query.extend(bundle.map(|id| ("bundle_id", id.to_owned())));
    let mut names: Vec<String> = handles.iter().map(|(_, handle)| handle.to_string()).collect();
    names.dedup();
    // Of many all: a request has its length.
    if !names.is_empty() && names.len() <= NAMED {
        query.push(("handles", names.join(",")));
    }
    Ok(ask.send(CoreCall::get("/handles", query)).await?)
}

/// What the bundle has under a handle.
fn found<'a>(named: &'a Value, field: &str, handle: Handle) -> Result<&'a Value, FieldError> {
    let mut items = named["items"].as_array().into_iter().flatten();
    items.find(|item| item["handle"] == json!(handle.to_string())).ok_or_else(|| {
        let known = named["known"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let known: Vec<&str> = known.take(NAMED).collect();
        let rule = match known.as_slice() {
            [] => format!("no {handle} is known, since that bundle is empty; recall again"),
            known => format!(
                "that bundle has no {handle}; it has {}. For another bundle give its bundle_id",
                known.join(", ")
            ),
        };
        FieldError::new(field, rule)
    })
}

/// The id of what a handle stands for, as the argument needs it.
fn id_for(uses: Handles, field: &str, handle: Handle, item: &Value) -> Result<String, FieldError> {
    let (wanted, names): (&str, &[&str]) = match (uses, field) {
        (Handles::Items, _) => ("thing", &["record_id", "doc_id", "passage_id"]),
        (_, "dialog_id") => ("dialog", &["dialog_id"]),
        _ => ("memory record", &["record_id"]),
    };
    let id = names.iter().find_map(|name| item[*name].as_str());
    id.map(ToOwned::to_owned).ok_or_else(|| {
        FieldError::new(
            field,
            format!("{handle} is no {wanted}, or not there any more; recall again"),
        )
    })
}

/// Where an absolute path lies in one of the project's repositories. A glob's wildcards stay as
/// they are.
async fn put_path(
    ask: &Asker<'_>,
    arguments: &mut JsonObject,
    field: &str,
    path: &str,
) -> Result<(), CallError> {
    let is_glob = field == "path";
    let (folder, rest) = if is_glob { split_glob(path) } else { (path, "") };
    let query = vec![("project_key", ask.project(arguments).await?), ("path", folder.to_owned())];
    let found = ask.find(CoreCall::get("/paths", query)).await?;
    let path = match found.as_ref().map(|found| found["path"].as_str().unwrap_or_default()) {
        Some("") if is_glob => rest.to_owned(),
        Some(inside) if rest.is_empty() && is_glob => glob(inside),
        Some(inside) if is_glob => format!("{inside}/{rest}"),
        Some(inside) => inside.to_owned(),
        // As the glob has always been read: from the repository's root.
        None if is_glob => glob(path.trim_start_matches('/')),
        None => {
            let rule =
                "lies in none of the project's repositories; give it relative to the root of one";
            return Err(FieldError::new(field, rule).into());
        }
    };
    Ok(tools::put(arguments, field, path)?)
}

/// The folder before a glob's first wildcard, and the rest.
fn split_glob(path: &str) -> (&str, &str) {
    let Some(wild) = path.find(['*', '?', '[', '{']) else {
        return (path.trim_end_matches('/'), "");
    };
    match path[..wild].rfind('/') {
        Some(0) | None => (path, ""),
        Some(slash) => (&path[..slash], &path[slash + 1..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_is_split_before_its_first_wildcard() {
        assert_eq!(split_glob("/srv/shop/app/**/*.rb"), ("/srv/shop/app", "**/*.rb"));
        assert_eq!(split_glob("/srv/shop/app/"), ("/srv/shop/app", ""));
        assert_eq!(split_glob("/*.rb"), ("/*.rb", ""));
    }

    #[test]
    fn a_handle_stands_for_what_the_argument_needs() {
        let named = json!({"known": ["m1", "d1"], "items": [
            {"handle": "m1", "record_id": "r", "passage_id": "p"},
            {"handle": "d1", "doc_id": "d", "passage_id": "q"}]});
        let handle = |text: &str| text.parse::<Handle>().expect("a handle");
        let id = |uses, field: &str, name: &str| {
            id_for(uses, field, handle(name), found(&named, field, handle(name))?)
        };
        assert_eq!(id(Handles::Ids, "supersedes", "m1").as_deref(), Ok("r"));
        assert_eq!(id(Handles::Items, "used[0]", "d1").as_deref(), Ok("d"));
        let error = id(Handles::Ids, "id", "d1").expect_err("a document");
        assert!(error.to_string().starts_with("id: d1 is no memory record"), "{error}");
        let error = id(Handles::Items, "used[1]", "m9").expect_err("unknown");
        assert!(error.to_string().contains("no m9; it has m1, d1."), "{error}");
    }
}
