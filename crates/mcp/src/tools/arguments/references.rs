//! Arguments that only the Core can read: handles of bundles, and paths of somebody's machine.

use mc_domain::Handle;
use rmcp::model::JsonObject;
use serde_json::Value;

use super::{FILE_URL, FieldError, IDS, is_absolute, is_handle_too};

/// Where paths stand; those of citations stand in `citations`.
const PATHS: [&str; 2] = ["repo_path", "path"];

/// What has to be looked up before a call is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// An item of a bundle.
    Handle(Handle),
    /// A path from the root of a file system.
    Path(String),
}

/// The references among `arguments`, each with its field (`used[0]`, `citations[1].file`).
pub fn references(arguments: &JsonObject) -> Vec<(String, Reference)> {
    let mut found = Vec::new();
    for name in IDS.into_iter().filter(|name| is_handle_too(name)) {
        for (field, text) in strings(arguments, name) {
            found.extend(text.parse().ok().map(|handle| (field, Reference::Handle(handle))));
        }
    }
    let cited = arguments.get("citations").and_then(Value::as_array).into_iter().flatten();
    let cited = cited.enumerate().filter_map(|(index, one)| {
        Some((format!("citations[{index}].file"), one.get("file")?.as_str()?))
    });
    let paths = PATHS.into_iter().flat_map(|name| strings(arguments, name));
    // A document's path; what is given as a title without that mark is one, however it begins.
    let titles = strings(arguments, "title").into_iter();
    let titles = titles.filter_map(|(field, title)| Some((field, title.strip_prefix(FILE_URL)?)));
    let absolute = paths.chain(cited).chain(titles).filter(|(_, path)| is_absolute(path));
    found.extend(absolute.map(|(field, path)| (field, Reference::Path(path.to_owned()))));
    found
}

/// An argument's strings, each with its field.
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

/// Puts `value` where `field` says; an empty one takes an argument that may be left out away.
pub fn put(arguments: &mut JsonObject, field: &str, value: String) -> Result<(), FieldError> {
    if value.is_empty() && PATHS.contains(&field) {
        arguments.remove(field);
        return Ok(());
    }
    if value.is_empty() {
        return Err(FieldError::new(field, "is the repository itself; name a file within it"));
    }
    let pointer = format!("/{}", field.replace(['[', '.'], "/").replace(']', ""));
    let mut whole = Value::Object(std::mem::take(arguments));
    if let Some(place) = whole.pointer_mut(&pointer) {
        *place = Value::String(value);
    }
    if let Value::Object(inner) = whole {
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
    fn the_title_that_is_a_files_url_is_a_path_and_one_with_a_slash_is_none() {
        for (title, path) in [
            ("file:///home/me/shop/docs/guide.md", Some("/home/me/shop/docs/guide.md")),
            ("file://C:/work/docs/guide.md", Some("C:/work/docs/guide.md")),
            ("/healthz and /readyz", None),
            ("docs/guide.md", None),
        ] {
            let found = references(&object(json!({ "title": title })));
            let expected = path.map(|path| ("title".to_owned(), Reference::Path(path.to_owned())));
            assert_eq!(found, Vec::from_iter(expected));
        }
    }

    #[test]
    fn handles_and_absolute_paths_are_found_and_replaced_where_they_stand() {
        let id = "01890a5d-ac96-774b-bcce-b302099a8057";
        let mut arguments = object(json!({
            "used": ["m1", id], "supersedes": "M2", "bundle_id": id, "repo_path": "/home/me/shop",
            "citations": [{"file": "app/x.rb"}, {"file": "C:/work/shop/app/y.rb"}],
        }));
        let found = references(&arguments);
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
