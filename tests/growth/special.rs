//! Families of hostile texts that only one parser reads.

use super::families::{Family, family, nested, numbered};

/// Returns Markdown with headings and front matter that need much work.
pub fn markdown() -> Vec<Family> {
    vec![
        family("sections below a long heading", |bytes| {
            format!("# {}\n{}", "a".repeat(bytes / 2), "## b\n\nc\n".repeat(bytes / 16))
        }),
        family("nested front matter", |bytes| front_matter(&"{a: ".repeat(bytes / 4))),
        family("front matter of aliases", |bytes| {
            front_matter(&format!(
                "a: &a [{}]\nb: [{}]",
                "1,".repeat(bytes / 4),
                "*a,".repeat(bytes / 6)
            ))
        }),
    ]
}

/// Returns a document with this front matter.
pub fn front_matter(yaml: &str) -> String {
    format!("---\n{yaml}\n---\ntext\n")
}

/// Returns conversations with a message on each line.
pub fn messages() -> Vec<Family> {
    vec![
        family("messages", |bytes| "a\n".repeat(bytes / 2)),
        family("messages of a heading", |bytes| "# a\n".repeat(bytes / 4)),
    ]
}

/// Returns code that the parser reads in linear time, with its language. For other texts, the time
/// of that parser is limited.
pub fn code() -> Vec<(&'static str, Family)> {
    vec![
        ("rust", family("functions on one line", numbered("fn a", "(){}"))),
        ("rust", family("functions", numbered("fn a", "() {}\n"))),
        ("c", family("functions on one line", numbered("int a", "(){}"))),
        (
            "c",
            family("comments after blanks", |bytes| {
                format!("{}{}", " ".repeat(bytes / 2), "/**/".repeat(bytes / 8))
            }),
        ),
        ("cpp", family("nested namespaces", nested("namespace a {\n", "}\n"))),
        ("kotlin", family("assignments", |bytes| "password=".repeat(bytes / 9))),
        ("bash", family("nested functions", nested("a() {\n", "}\n"))),
        ("javascript", family("nested functions", nested("function a() {\n", "}\n"))),
        ("javascript", family("functions on one line", numbered("function a", "(){}"))),
    ]
}

/// Returns pages in Confluence's storage format.
pub fn storage() -> Vec<Family> {
    vec![
        family("text between cells", |bytes| {
            format!("<table>{}</table>", "a<b>b</b>".repeat(bytes / 9))
        }),
        family("nested macros", nested("<ac:structured-macro ac:name=\"info\">", "</ac:a>")),
        family("rows of a table", |bytes| {
            format!("<table>{}</table>", "<tr><td>a</td></tr>".repeat(bytes / 19))
        }),
    ]
}

/// Returns documents of Jira (ADF), as JSON.
pub fn adf() -> Vec<Family> {
    let text = r#"{"type":"text","text":"a"}"#;
    vec![
        family("marks", |bytes| {
            let marks = items(r#"{"type":"em"}"#, bytes / 2);
            let text = "a".repeat(bytes / 2);
            adf_document(&format!(r#"{{"type":"text","text":"{text}","marks":[{marks}]}}"#))
        }),
        family("texts", move |bytes| adf_document(&items(text, bytes))),
        family("line breaks", |bytes| adf_document(&items(r#"{"type":"hardBreak"}"#, bytes))),
        family("blocks that do not nest", |bytes| {
            adf_document(&items(r#"{"type":"blockquote","content":[]}"#, bytes))
        }),
    ]
}

/// Returns a document with these nodes in one paragraph.
fn adf_document(nodes: &str) -> String {
    format!(
        r#"{{"type":"doc","version":1,"content":[{{"type":"paragraph","content":[{nodes}]}}]}}"#
    )
}

/// Returns as many copies of a JSON value as the number of bytes allows, with commas.
fn items(value: &str, bytes: usize) -> String {
    vec![value; bytes / (value.len() + 1)].join(",")
}

/// Returns the output of `git log` in the form that an index run reads: fields that end with NUL.
pub fn commits() -> Vec<Family> {
    let commit = |files: &str| format!("{:040}\x00\x001\x00message\x00\n{files}", 0);
    vec![
        family("commits", move |bytes| {
            let one = commit("M\0a.rs\0");
            one.repeat(bytes / one.len())
        }),
        family("files of one commit", move |bytes| commit(&numbered("M\0", ".rs\0")(bytes))),
        family("renames of one file", move |bytes| commit(&"R\0a.rs\0b.rs\0".repeat(bytes / 12))),
        family("renames of many files", move |bytes| {
            commit(&numbered("R\0a", ".rs\0b.rs\0")(bytes))
        }),
    ]
}
