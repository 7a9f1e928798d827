//! References in arguments that only the Core can resolve: handles of bundles, and absolute paths.

use mc_domain::Handle;
use rmcp::model::JsonObject;
use serde_json::Value;

use super::{FILE_URL, FieldError, IDS, accepts_handle, is_absolute};
use crate::tools::Handles;

/// Arguments with paths; those of citations are in `citations`.
const PATHS: [&str; 2] = ["repo_path", "path"];

/// Reference that has to be resolved before a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// An item of a bundle.
    Handle(Handle),
    /// An absolute path of a file system.
    Path(String),
}

/// Returns the references in `arguments`, each with its field (`used[0]`, `citations[1].file`).
/// `handles` is how the tool resolves handles.
pub fn references(handles: Handles, arguments: &JsonObject) -> Vec<(String, Reference)> {
    let mut found = Vec::new();
    for name in IDS.into_iter().filter(|name| accepts_handle(name)) {
        for (field, text) in strings(arguments, name) {
            found.extend(text.parse().ok().map(|handle| (field, Reference::Handle(handle))));
        }
    }
    let cited = arguments.get("citations").and_then(Value::as_array).into_iter().flatten();
    let cited = cited.enumerate().filter_map(|(index, citation)| {
        Some((format!("citations[{index}].file"), citation.get("file")?.as_str()?))
    });
    let paths = PATHS.into_iter().flat_map(|name| strings(arguments, name));
    // For a tool that reads a document, a title with the prefix of a file URL is its path; any
    // other title is not.
    let titles = strings(arguments, "title").into_iter().filter(|_| handles == Handles::Read);
    let titles = titles.filter_map(|(field, title)| Some((field, title.strip_prefix(FILE_URL)?)));
    let absolute = paths.chain(cited).chain(titles).filter(|(_, path)| is_absolute(path));
    found.extend(absolute.map(|(field, path)| (field, Reference::Path(path.to_owned()))));
    found
}

/// Returns the strings of an argument, each with its field.
fn strings<'a>(arguments: &'a JsonObject, name: &str) -> Vec<(String, &'a str)> {
    match arguments.get(name) {
        Some(Value::String(text)) => vec![(name.to_owned(), text.as_str())],
        Some(Value::Array(items)) => {
            let items = items.iter().enumerate();
            let strings = items
                .filter_map(|(index, item)| Some((format!("{name}[{index}]"), item.as_str()?)));
            strings.collect()
        }
        _ => Vec::new(),
    }
}

/// Sets `field` to `value`. An empty value removes an optional argument.
pub fn put(arguments: &mut JsonObject, field: &str, value: String) -> Result<(), FieldError> {
    if value.is_empty() && PATHS.contains(&field) {
        arguments.remove(field);
        return Ok(());
    }
    if value.is_empty() {
        return Err(FieldError::new(field, "is the repository itself; name a file within it"));
    }
    let pointer = format!("/{}", field.replace(['[', '.'], "/").replace(']', ""));
    let mut object = Value::Object(std::mem::take(arguments));
    if let Some(target) = object.pointer_mut(&pointer) {
        *target = Value::String(value);
    }
    if let Value::Object(inner) = object {
        *arguments = inner;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> JsonObject {
        let Value::Object(object) = value else { panic!("arguments are an object") };
        object
    }

    #[test]
    fn title_is_a_path_only_if_it_is_a_file_url() {
        for (title, path) in [
            ("file:///home/me/shop/docs/guide.md", Some("/home/me/shop/docs/guide.md")),
            ("file://C:/work/docs/guide.md", Some("C:/work/docs/guide.md")),
            ("/healthz and /readyz", None),
            ("docs/guide.md", None),
        ] {
            let arguments = object(json!({ "title": title }));
            let expected = path.map(|path| ("title".to_owned(), Reference::Path(path.to_owned())));
            assert_eq!(references(Handles::Read, &arguments), Vec::from_iter(expected));
        }
    }

    #[test]
    fn title_of_a_saved_record_is_no_path() {
        let arguments = object(json!({"title": "file:///home/me/shop/docs/guide.md"}));
        assert!(references(Handles::Ids, &arguments).is_empty());
    }

    #[test]
    fn handles_and_absolute_paths_are_found_and_replaced() {
        let id = "01890a5d-ac96-774b-bcce-b302099a8057";
        let mut arguments = object(json!({
            "used": ["m1", id], "supersedes": "M2", "bundle_id": id, "repo_path": "/home/me/shop",
            "citations": [{"file": "app/x.rb"}, {"file": "C:/work/shop/app/y.rb"}],
        }));
        let found = references(Handles::Items, &arguments);
        let fields: Vec<&str> = found.iter().map(|(field, _)| field.as_str()).collect();
        assert_eq!(fields, ["supersedes", "used[0]", "repo_path", "citations[1].file"]);
        for (field, value) in
            [("used[0]", id), ("citations[1].file", "app/y.rb"), ("repo_path", "")]
        {
            put(&mut arguments, field, value.to_owned()).expect("a place");
        }
        assert_eq!(arguments["used"], json!([id, id]));
        assert_eq!(arguments["citations"][1]["file"], "app/y.rb");
        assert!(!arguments.contains_key("repo_path"), "the root is the whole repository");
        let error = put(&mut arguments, "citations[0].file", String::new()).expect_err("no file");
        assert!(error.to_string().contains("name a file within it"), "{error}");
    }
}
