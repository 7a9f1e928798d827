//! Resolution of arguments by the Core: handles of bundles, and absolute paths.

use mc_domain::{Classified, ErrorKind, Handle, ProjectKey};
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::errors::CallError;
use crate::core::{CoreCall, CoreClient, CoreError, Forwarded};
use crate::tools::{self, FieldError, Handles, Reference, Tool, glob, project_of};

/// Maximum number of handles or projects in an error or request.
const NAMES_MAX: usize = 30;

/// Core client with the forwarded headers and default project of one call.
pub(super) struct CoreCaller<'a> {
    pub core: &'a CoreClient,
    pub headers: Forwarded<'a>,
    /// Default project of calls without one.
    pub project: Option<&'a ProjectKey>,
}

impl CoreCaller<'_> {
    pub(super) async fn send(&self, call: CoreCall) -> Result<Value, CoreError> {
        self.core.send(call, self.headers).await
    }

    /// Sends a call; `None` if the Core responds that nothing was found.
    pub(super) async fn find(&self, call: CoreCall) -> Result<Option<Value>, CoreError> {
        match self.send(call).await {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the project of `arguments`. If there is none, the error lists the projects that the
    /// caller may use.
    pub(super) async fn project(&self, arguments: &JsonObject) -> Result<String, CallError> {
        match project_of(arguments, self.project) {
            Err(error) if !arguments.contains_key("project_key") => {
                let projects = self.send(CoreCall::get("/projects", Vec::new())).await?;
                let projects = projects["items"].as_array().into_iter().flatten();
                let keys: Vec<&str> = projects
                    .filter_map(|project| project["key"].as_str())
                    .take(NAMES_MAX)
                    .collect();
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

/// Replaces handles by ids, and absolute paths by paths in a repository. Returns the item that
/// `open_doc` has to read, if a handle names it.
pub(super) async fn resolve(
    caller: &CoreCaller<'_>,
    tool: &Tool,
    arguments: &mut JsonObject,
) -> Result<Option<Value>, CallError> {
    let uses = tool.spec.handles;
    if uses == Handles::None {
        return Ok(None);
    }
    let (mut handles, mut item) = (Vec::new(), None);
    for (field, reference) in tools::references(uses, arguments) {
        match reference {
            Reference::Handle(handle) => handles.push((field, handle)),
            Reference::Path(path) => resolve_path(caller, arguments, &field, &path).await?,
        }
    }
    let needs_bundle = uses == Handles::Items && !arguments.contains_key("bundle_id");
    if handles.is_empty() && !needs_bundle {
        return Ok(None);
    }
    let bundle = look_up(caller, arguments, &handles).await?;
    if needs_bundle {
        arguments.insert("bundle_id".into(), bundle["bundle_id"].clone());
    }
    for (field, handle) in handles {
        let found = find_item(&bundle, &field, handle)?;
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
    caller: &CoreCaller<'_>,
    arguments: &JsonObject,
    handles: &[(String, Handle)],
) -> Result<Value, CallError> {
    let mut query = vec![("project_key", caller.project(arguments).await?)];
    let bundle = arguments.get("bundle_id").and_then(Value::as_str);
    query.extend(bundle.map(|id| ("bundle_id", id.to_owned())));
    let mut names: Vec<String> = handles.iter().map(|(_, handle)| handle.to_string()).collect();
    names.dedup();
    // More handles than fit into a request are not sent; the Core then returns all items.
    if !names.is_empty() && names.len() <= NAMES_MAX {
        query.push(("handles", names.join(",")));
    }
    Ok(caller.send(CoreCall::get("/handles", query)).await?)
}

fn find_item<'a>(bundle: &'a Value, field: &str, handle: Handle) -> Result<&'a Value, FieldError> {
    let mut items = bundle["items"].as_array().into_iter().flatten();
    items.find(|item| item["handle"] == json!(handle.to_string())).ok_or_else(|| {
        let known = bundle["known"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let known: Vec<&str> = known.take(NAMES_MAX).collect();
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

/// Returns the id of an item of the kind that the argument requires.
fn id_for(uses: Handles, field: &str, handle: Handle, item: &Value) -> Result<String, FieldError> {
    let (kind, names): (&str, &[&str]) = match (uses, field) {
        (Handles::Items, _) => ("thing", &["record_id", "doc_id", "passage_id"]),
        (_, "dialog_id") => ("dialog", &["dialog_id"]),
        _ => ("memory record", &["record_id"]),
    };
    let id = names.iter().find_map(|name| item[*name].as_str());
    id.map(ToOwned::to_owned).ok_or_else(|| {
        FieldError::new(
            field,
            format!("{handle} is no {kind}, or not there any more; recall again"),
        )
    })
}

/// Replaces an absolute path by the path in one of the project's repositories. Wildcards of a glob
/// are kept.
async fn resolve_path(
    caller: &CoreCaller<'_>,
    arguments: &mut JsonObject,
    field: &str,
    path: &str,
) -> Result<(), CallError> {
    let is_glob = field == "path";
    let (directory, rest) = if is_glob { split_glob(path) } else { (path, "") };
    let query =
        vec![("project_key", caller.project(arguments).await?), ("path", directory.to_owned())];
    let found = caller.find(CoreCall::get("/paths", query)).await?;
    let path = match found.as_ref().map(|found| found["path"].as_str().unwrap_or_default()) {
        Some("") if is_glob => rest.to_owned(),
        Some(inside) if rest.is_empty() && is_glob => glob(inside),
        Some(inside) if is_glob => format!("{inside}/{rest}"),
        Some(inside) => inside.to_owned(),
        // A glob with a leading slash is relative to the root of the repository.
        None if is_glob => glob(path.trim_start_matches('/')),
        None => {
            let rule =
                "lies in none of the project's repositories; give it relative to the root of one";
            return Err(FieldError::new(field, rule).into());
        }
    };
    Ok(tools::put(arguments, field, path)?)
}

/// Splits a glob into the directory before its first wildcard, and the rest.
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
    fn glob_is_split_before_its_first_wildcard() {
        assert_eq!(split_glob("/srv/shop/app/**/*.rb"), ("/srv/shop/app", "**/*.rb"));
        assert_eq!(split_glob("/srv/shop/app/"), ("/srv/shop/app", ""));
        assert_eq!(split_glob("/*.rb"), ("/*.rb", ""));
    }

    #[test]
    fn handle_resolves_to_the_id_that_the_argument_requires() {
        let bundle = json!({"known": ["m1", "d1"], "items": [
            {"handle": "m1", "record_id": "r", "passage_id": "p"},
            {"handle": "d1", "doc_id": "d", "passage_id": "q"}]});
        let handle = |text: &str| text.parse::<Handle>().expect("a handle");
        let id = |uses, field: &str, name: &str| {
            id_for(uses, field, handle(name), find_item(&bundle, field, handle(name))?)
        };
        assert_eq!(id(Handles::Ids, "supersedes", "m1").as_deref(), Ok("r"));
        assert_eq!(id(Handles::Items, "used[0]", "d1").as_deref(), Ok("d"));
        let error = id(Handles::Ids, "id", "d1").expect_err("a document");
        assert!(error.to_string().starts_with("id: d1 is no memory record"), "{error}");
        let error = id(Handles::Items, "used[1]", "m9").expect_err("unknown");
        assert!(error.to_string().contains("no m9; it has m1, d1."), "{error}");
    }
}
