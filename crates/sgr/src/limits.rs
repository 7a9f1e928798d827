//! Limits of schemas and answers. Texts are measured in characters unless a name says bytes. Those
//! of a schema are in `sgr/schema.json` too, which a test compares.

/// Size of a file, in bytes.
pub const FILE_MAX_BYTES: usize = 64 * 1024;
/// Length of the name of a schema.
pub const NAME_MAX_CHARS: usize = 40;
/// Length of the title of a schema.
pub const TITLE_MAX_CHARS: usize = 120;
/// Length of the description of a schema or a step.
pub const DESCRIPTION_MAX_CHARS: usize = 2_000;
/// Steps of a schema, inherited ones included.
pub const STEPS_MAX: usize = 32;
/// Length of the name of a step.
pub const STEP_NAME_MAX_CHARS: usize = 80;
/// Length of the name of a field of the answer.
pub const OUTPUT_MAX_CHARS: usize = 60;
/// Hints of a step.
pub const HINTS_MAX: usize = 16;
/// Length of a hint.
pub const HINT_MAX_CHARS: usize = 500;
/// Sources of a step.
pub const SOURCES_MAX: usize = 8;
/// Schemas that a schema extends, one through the other.
pub const EXTENDS_MAX: usize = 4;
/// Placeholders of a schema, inherited ones included. They limit the size of the instructions: each
/// is replaced by a text of the caller.
pub const PLACEHOLDERS_MAX: usize = 64;

/// Length of a field of the type `text`.
pub const TEXT_MAX_CHARS: usize = 20_000;
/// Items of a field of the type `list`.
pub const LIST_MAX: usize = 100;
/// Length of an item of a field of the type `list`.
pub const ITEM_MAX_CHARS: usize = 4_000;
/// Size of a field of the type `diff`, in bytes.
pub const DIFF_MAX_BYTES: usize = 256 * 1024;

/// Length of the content of a note, as `POST /save` accepts it.
pub const NOTE_CONTENT_MAX_CHARS: usize = 32_000;
/// Length of the title of a note, as `POST /save` accepts it.
pub const NOTE_TITLE_MAX_CHARS: usize = 300;
/// Steps of a note, as `POST /save` accepts them.
pub const NOTE_STEPS_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::form::FORM;

    #[test]
    fn limits_are_those_of_the_json_schema() {
        let form: Value = serde_json::from_str(FORM).expect("JSON");
        let step = "/properties/steps/items/properties";
        let expected = [
            ("/properties/title/maxLength", TITLE_MAX_CHARS),
            ("/properties/description/maxLength", DESCRIPTION_MAX_CHARS),
            ("/properties/steps/maxItems", STEPS_MAX),
            (&format!("{step}/name/maxLength"), STEP_NAME_MAX_CHARS),
            (&format!("{step}/description/maxLength"), DESCRIPTION_MAX_CHARS),
            (&format!("{step}/hints/maxItems"), HINTS_MAX),
            (&format!("{step}/hints/items/maxLength"), HINT_MAX_CHARS),
            (&format!("{step}/source/maxItems"), SOURCES_MAX),
        ];
        for (pointer, limit) in expected {
            assert_eq!(form.pointer(pointer), Some(&json!(limit)), "{pointer}");
        }
        let name = format!("^[a-z][a-z0-9_-]{{0,{}}}$", NAME_MAX_CHARS - 1);
        let output = format!("^[a-z][a-z0-9_]{{0,{}}}$", OUTPUT_MAX_CHARS - 1);
        for (pointer, pattern) in [
            ("/properties/schema/pattern", &name),
            ("/properties/extends/pattern", &name),
            (&format!("{step}/output/pattern"), &output),
            (&format!("{step}/source/pattern"), &output),
            (&format!("{step}/source/items/pattern"), &output),
        ] {
            assert_eq!(form.pointer(pointer), Some(&json!(pattern)), "{pointer}");
        }
        assert!(form["$comment"].to_string().contains(&FILE_MAX_BYTES.to_string()));
    }
}
