//! Confluence's storage format as Markdown.
//!
//! Pages are XHTML with elements of Confluence's own: macros, links and images that name what they are of. Those are
//! written as HTML first, with `quick-xml`, which knows what XML has and HTML does not (`CDATA`, elements that close
//! themselves); `htmd` makes Markdown of it.

mod html;

/// What Markdown gives a meaning, with what stands for it while the converter is at work, which would put a backslash
/// before each: a secret or an identifier with one inside is taken for neither, and found by nobody.
const LITERAL: [(char, char); 5] = [
    ('_', '\u{e000}'),
    ('*', '\u{e001}'),
    ('[', '\u{e002}'),
    (']', '\u{e003}'),
    ('\\', '\u{e004}'),
];

/// A page's body. What is no XML from some place on is left out from there.
pub(in crate::client) fn markdown(storage: &str) -> String {
    let converter = htmd::HtmlToMarkdown::builder()
        .options(options())
        .skip_tags(vec!["script", "style", "colgroup"]);
    // Fails where reading fails; what is read here is text already.
    let text = converter.build().convert(&set_aside(&html::of(storage)));
    put_back(&text.unwrap_or_default())
}

fn set_aside(text: &str) -> String {
    let is_taken = |c: char| LITERAL.iter().any(|(_, stand_in)| *stand_in == c);
    let stand_in = |c: char| LITERAL.iter().find(|(literal, _)| *literal == c);
    let kept = text.chars().filter(|c| !is_taken(*c));
    kept.map(|c| stand_in(c).map_or(c, |(_, stand_in)| *stand_in)).collect()
}

fn put_back(text: &str) -> String {
    let literal = |c: char| LITERAL.iter().find(|(_, stand_in)| *stand_in == c);
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

    #[test]
    fn a_page_becomes_markdown() {
        let page = "<h1>Caf&eacute;</h1><p>Some <strong>bold</strong> and <code>code</code>,<br/>next.</p>\
            <ul><li>one<ul><li>inner</li></ul></li><li>two</li></ul>\
            <table><colgroup><col/></colgroup><tbody><tr><th>a</th><th>b</th></tr>\
            <tr><td>1</td><td>2</td></tr></tbody></table>";
        let expected = "# Café\n\nSome **bold** and `code`,  \nnext.\n\n- one\n  - inner\n- two\n\n\
                        | a | b |\n| - | - |\n| 1 | 2 |";
        assert_eq!(markdown(page), expected);
    }

    #[test]
    fn what_stands_in_a_text_is_not_escaped() {
        for text in ["use ghp_16C7e42F292c there", r"C:\tools\*", "a[0] = delay_unit"] {
            assert_eq!(markdown(&format!("<p>{text}</p>")), text);
            assert_eq!(markdown(&format!("<p><code>{text}</code></p>")), format!("`{text}`"));
        }
        let link = "<p><a href=\"https://example.org/a_b\">there_it_is</a>\u{e000}</p>";
        assert_eq!(markdown(link), "[there_it_is](https://example.org/a_b)");
    }

    #[test]
    fn a_code_macro_keeps_its_text_and_language() {
        let page = r#"<p>Before</p><ac:structured-macro ac:name="code" ac:schema-version="1">
            <ac:parameter ac:name="title">x.rs</ac:parameter><ac:parameter ac:name="language">rust</ac:parameter>
            <ac:plain-text-body><![CDATA[if a < b && c {
    go();
}]]></ac:plain-text-body></ac:structured-macro><p>After</p>"#;
        let expected = "Before\n\n```rust\nif a < b && c {\n    go();\n}\n```\n\nAfter";
        assert_eq!(markdown(page), expected);
    }

    #[test]
    fn other_macros_leave_what_people_read() {
        let page = r#"<ac:structured-macro ac:name="warning"><ac:parameter ac:name="title">Mind</ac:parameter>
            <ac:rich-text-body><p>Careful.</p></ac:rich-text-body></ac:structured-macro>
            <ac:structured-macro ac:name="toc"><ac:parameter ac:name="maxLevel">3</ac:parameter></ac:structured-macro>
            <ac:structured-macro ac:name="expand"><ac:rich-text-body><p>Inside</p></ac:rich-text-body></ac:structured-macro>"#;
        assert_eq!(markdown(page), "> **Mind**\n> \n> Careful.\n\nInside");
    }

    #[test]
    fn links_and_images_are_named() {
        let page = r#"<p>See <ac:link><ri:page ri:content-title="Other page" ri:space-key="X"/></ac:link>,
            <ac:link ac:anchor="a"><ri:page ri:content-title="B"/><ac:plain-text-link-body><![CDATA[the body]]></ac:plain-text-link-body></ac:link>
            and <ac:image ac:width="10"><ri:attachment ri:filename="plan.png"/></ac:image>
            <a href="https://example.org/x">there</a><ac:emoticon ac:name="smile"/></p>"#;
        let expected = "See Other page, the body and [plan.png] [there](https://example.org/x)";
        assert_eq!(markdown(page).replace("\\[", "[").replace("\\]", "]"), expected);
    }

    #[test]
    fn tasks_are_a_list() {
        let page = "<ac:task-list><ac:task><ac:task-id>1</ac:task-id><ac:task-status>complete</ac:task-status>\
            <ac:task-body>Write</ac:task-body></ac:task><ac:task><ac:task-status>incomplete</ac:task-status>\
            <ac:task-body>Read</ac:task-body></ac:task></ac:task-list>";
        assert_eq!(markdown(page).replace('\\', ""), "- [x] Write\n- [ ] Read");
    }

    #[test]
    fn hostile_pages_end() {
        let deep = format!("{}x{}", "<div><b>".repeat(50_000), "</b></div>".repeat(50_000));
        assert_eq!(markdown(&deep).replace('*', ""), "x");
        let boxes = r#"<ac:structured-macro ac:name="info"><ac:rich-text-body>"#.repeat(50_000);
        assert!(markdown(&format!("{boxes}x")).ends_with('x'));
        for page in ["", "<p>a", "<p>a</b>c</p>", "<<<", "a & b <", "<p a=>x</p>", "<![CDATA[x"] {
            markdown(page);
        }
        assert_eq!(markdown("<p>kept</p><"), "kept");
        assert_eq!(markdown("<script>alert(1)</script><p>x</p>"), "x");
    }
}
