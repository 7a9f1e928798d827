//! Conversion of Confluence's storage format to Markdown.
//!
//! The format is XHTML with elements of Confluence's own: macros, links and images. `quick-xml`
//! reads it, because HTML has no `CDATA` and no elements that close themselves, and those elements
//! become HTML. `htmd` makes Markdown of the HTML.

mod html;

use mc_parser_pool::Parser;

use crate::event::field::lines;

/// Characters with a meaning in Markdown, and their substitutes during the conversion. The
/// converter would escape them with a backslash, and neither the sanitizer nor a search would find
/// secrets and identifiers with one inside.
const SUBSTITUTES: [(char, char); 5] = [
    ('_', '\u{e000}'),
    ('*', '\u{e001}'),
    ('[', '\u{e002}'),
    (']', '\u{e003}'),
    ('\\', '\u{e004}'),
];

/// Text that replaces a page that the child process could not convert.
const NOT_CONVERTED: &str = "*This page could not be converted to text. Open it in the wiki.*";
/// Maximum number of characters of a page, as Markdown.
const MAX_CHARS: usize = 1_000_000;

/// The content of a wiki page, in Confluence's storage format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageBody(String);

impl PageBody {
    /// Creates a body from a text in the storage format.
    pub fn new(storage: String) -> Self {
        Self(storage)
    }

    /// Converts the body to Markdown of at most 1,000,000 characters, in a child process. Blocks
    /// the calling thread meanwhile. A body that the child process can't convert is replaced by a
    /// note.
    pub fn to_markdown(&self) -> String {
        let converted = mc_parser_pool::call::<StorageParser>(&self.0);
        let markdown = converted.unwrap_or_else(|error| {
            tracing::warn!(%error, "wiki page synced without its text");
            NOT_CONVERTED.to_owned()
        });
        lines(&markdown, MAX_CHARS)
    }
}

/// Converts the storage format.
pub(crate) struct StorageParser;

impl Parser for StorageParser {
    const NAME: &'static str = "confluence-storage";
    type Input<'a> = &'a str;
    type Output = String;

    fn parse(storage: &str) -> String {
        to_markdown(storage)
    }
}

/// Converts the body of a page. The part after a syntax error is left out.
fn to_markdown(storage: &str) -> String {
    let converter = htmd::HtmlToMarkdown::builder()
        .options(options())
        .skip_tags(vec!["script", "style", "colgroup"]);
    // Fails if reading fails, and a text can always be read.
    let text = converter.build().convert(&substitute(&html::from_storage(storage)));
    without_padding(&restore(&text.unwrap_or_default()))
}

/// Removes the padding of table cells. The converter pads all cells of a column to the longest one,
/// so one long cell would multiply the text of a large table.
fn without_padding(markdown: &str) -> String {
    let mut shorter = String::with_capacity(markdown.len());
    let mut is_code = false;
    for line in markdown.split_inclusive('\n') {
        is_code ^= line.trim_start().starts_with("```");
        if is_code || !line.starts_with('|') {
            shorter.push_str(line);
            continue;
        }
        let mut before = ['\0'; 3];
        for c in line.chars() {
            let is_padding = (c == ' ' && before[2] == ' ') || (c == '-' && before == ['-'; 3]);
            if !is_padding {
                shorter.push(c);
            }
            before = [before[1], before[2], c];
        }
    }
    shorter
}

fn substitute(text: &str) -> String {
    let is_taken = |c: char| SUBSTITUTES.iter().any(|(_, stand_in)| *stand_in == c);
    let stand_in = |c: char| SUBSTITUTES.iter().find(|(literal, _)| *literal == c);
    let kept = text.chars().filter(|c| !is_taken(*c));
    kept.map(|c| stand_in(c).map_or(c, |(_, stand_in)| *stand_in)).collect()
}

fn restore(text: &str) -> String {
    let literal = |c: char| SUBSTITUTES.iter().find(|(_, stand_in)| *stand_in == c);
    text.chars().map(|c| literal(c).map_or(c, |(literal, _)| *literal)).collect()
}

fn options() -> htmd::options::Options {
    htmd::options::Options {
        bullet_list_marker: htmd::options::BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::growth::families::texts;
    use crate::growth::{assert_linear, special};

    #[test]
    fn page_becomes_markdown() {
        let page = "<h1>Caf&eacute;</h1>\
            <p>Some <strong>bold</strong> and <code>code</code>,<br/>next.</p>\
            <ul><li>one<ul><li>inner</li></ul></li><li>two</li></ul>\
            <table><colgroup><col/></colgroup><tbody><tr><th>a</th><th>b</th></tr>\
            <tr><td>1</td><td>2</td></tr></tbody></table>";
        let expected = "# Café\n\nSome **bold** and `code`,  \nnext.\n\n\
                        - one\n  - inner\n- two\n\n\
                        | a | b |\n| - | - |\n| 1 | 2 |";
        assert_eq!(to_markdown(page), expected);
    }

    /// One long cell must not multiply the text of the other rows.
    #[test]
    fn table_cells_are_not_padded() {
        let long = "long ".repeat(400);
        let rows = "<tr><td>1</td><td>2</td></tr>".repeat(500);
        let page = format!(
            "<table><tbody><tr><th>a</th><th>b</th></tr><tr><td>{long}</td><td/></tr>{rows}\
             </tbody></table><pre><code>| a    b |\n-----</code></pre>"
        );
        let markdown = to_markdown(&page);
        assert!(markdown.starts_with("| a | b |\n| --- | - |\n| long long "), "{markdown:.60}");
        assert!(markdown.contains("\n| 1 | 2 |\n"));
        assert!(markdown.contains("| a    b |\n-----"), "code keeps its spaces");
        assert!(markdown.len() < page.len(), "{} {}", markdown.len(), page.len());
    }

    #[test]
    fn text_is_not_escaped() {
        for text in ["use ghp_16C7e42F292c there", r"C:\tools\*", "a[0] = delay_unit"] {
            assert_eq!(to_markdown(&format!("<p>{text}</p>")), text);
            assert_eq!(to_markdown(&format!("<p><code>{text}</code></p>")), format!("`{text}`"));
        }
        let link = "<p><a href=\"https://example.org/a_b\">there_it_is</a>\u{e000}</p>";
        assert_eq!(to_markdown(link), "[there_it_is](https://example.org/a_b)");
    }

    #[test]
    fn code_macro_keeps_its_text_and_language() {
        let page = r#"<p>Before</p><ac:structured-macro ac:name="code" ac:schema-version="1">
            <ac:parameter ac:name="title">x.rs</ac:parameter>
            <ac:parameter ac:name="language">rust</ac:parameter>
            <ac:plain-text-body><![CDATA[if a < b && c {
    go();
}]]></ac:plain-text-body></ac:structured-macro><p>After</p>"#;
        let expected = "Before\n\n```rust\nif a < b && c {\n    go();\n}\n```\n\nAfter";
        assert_eq!(to_markdown(page), expected);
    }

    #[test]
    fn other_macros_keep_their_visible_text() {
        let page = r#"<ac:structured-macro ac:name="warning">
            <ac:parameter ac:name="title">Mind</ac:parameter>
            <ac:rich-text-body><p>Careful.</p></ac:rich-text-body></ac:structured-macro>
            <ac:structured-macro ac:name="toc">
            <ac:parameter ac:name="maxLevel">3</ac:parameter></ac:structured-macro>
            <ac:structured-macro ac:name="expand">
            <ac:rich-text-body><p>Inside</p></ac:rich-text-body></ac:structured-macro>"#;
        assert_eq!(to_markdown(page), "> **Mind**\n> \n> Careful.\n\nInside");
    }

    #[test]
    fn links_and_images_become_names() {
        let page = r#"<p>See
            <ac:link><ri:page ri:content-title="Other page" ri:space-key="X"/></ac:link>,
            <ac:link ac:anchor="a"><ri:page ri:content-title="B"/>
            <ac:plain-text-link-body><![CDATA[the body]]></ac:plain-text-link-body></ac:link>
            and <ac:image ac:width="10"><ri:attachment ri:filename="plan.png"/></ac:image>
            <a href="https://example.org/x">there</a><ac:emoticon ac:name="smile"/></p>"#;
        let expected = "See Other page, the body and [plan.png] [there](https://example.org/x)";
        assert_eq!(to_markdown(page).replace("\\[", "[").replace("\\]", "]"), expected);
    }

    #[test]
    fn tasks_become_a_list() {
        let page = "<ac:task-list><ac:task><ac:task-id>1</ac:task-id>\
            <ac:task-status>complete</ac:task-status><ac:task-body>Write</ac:task-body></ac:task>\
            <ac:task><ac:task-status>incomplete</ac:task-status>\
            <ac:task-body>Read</ac:task-body></ac:task></ac:task-list>";
        assert_eq!(to_markdown(page).replace('\\', ""), "- [x] Write\n- [ ] Read");
    }

    #[test]
    fn conversion_of_hostile_pages_ends() {
        let deep = format!("{}x{}", "<div><b>".repeat(50_000), "</b></div>".repeat(50_000));
        assert_eq!(to_markdown(&deep).replace('*', ""), "x");
        let boxes = r#"<ac:structured-macro ac:name="info"><ac:rich-text-body>"#.repeat(50_000);
        assert!(to_markdown(&format!("{boxes}x")).ends_with('x'));
        for page in ["", "<p>a", "<p>a</b>c</p>", "<<<", "a & b <", "<p a=>x</p>", "<![CDATA[x"] {
            to_markdown(page);
        }
        assert_eq!(to_markdown("<p>kept</p><"), "kept");
        assert_eq!(to_markdown("<script>alert(1)</script><p>x</p>"), "x");
    }
    #[test]
    fn text_between_cells_becomes_a_cell() {
        let page = "<table><tbody><tr><td>1</td>two</tr><tr><b>three</b></tr>four</tbody></table>";
        let markdown = to_markdown(page);
        let cells: Vec<&str> = markdown.split(['|', ' ', '\n', '-']).collect();
        for cell in ["1", "two", "three", "four"] {
            assert!(cells.contains(&cell), "{markdown}");
        }
    }

    #[test]
    fn page_is_converted_in_linear_time() {
        let convert = |page: &str| drop(to_markdown(page));
        assert_linear("storage", 8 * 1024, &texts(), convert);
        assert_linear("storage", 32 * 1024, &special::storage(), convert);
    }
}
