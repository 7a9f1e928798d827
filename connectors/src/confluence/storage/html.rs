//! Conversion of the storage format to HTML: of each of Confluence's elements, the visible part.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// The depth of nested elements. Deeper ones lose their tags and keep their text.
const MAX_DEPTH: usize = 100;
/// Elements of HTML without an end tag.
const VOID: [&str; 6] = ["br", "hr", "img", "col", "wbr", "input"];
/// Elements of HTML that Markdown has.
const KNOWN: &str = "p h1 h2 h3 h4 h5 h6 ul ol li table thead tbody tr th td pre code blockquote \
    strong b em i del s a img br hr div span dl dt dd";
/// Elements of HTML that may be directly in a table or its rows.
const TABLE_PARTS: [&str; 5] = ["thead", "tbody", "tr", "th", "td"];
/// Elements with ids or settings, and substitutes that older versions show.
const DROPPED: &str = "ac:task-id ac:task-uuid ac:emoticon ac:placeholder ac:adf-attribute \
    ac:adf-fallback script style";
/// Macros that show their body in a box.
const BOXES: [&str; 6] = ["info", "note", "warning", "tip", "panel", "quote"];

/// The conversion of an element.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Role {
    /// HTML: the tag and its attributes.
    Tag(&'static str, String),
    /// Only the content is kept.
    Bare,
    /// Nothing is kept: ids, and settings of macros.
    Dropped,
    /// A macro that shows its body in a box.
    Box,
    /// The title of a box.
    Title,
    /// The language of a code macro.
    Language,
    /// The text of a code macro.
    Code,
    /// A link, and whether it has a text of its own.
    Link { title: String, has_text: bool },
    /// The state of a task.
    TaskStatus,
}

#[derive(Default)]
struct Writer {
    html: String,
    open: Vec<Role>,
    /// The open elements of HTML, of which there are at most [`MAX_DEPTH`].
    tags: Vec<&'static str>,
    /// The number of open elements that are dropped.
    dropped: usize,
    /// The language of the current macro.
    language: String,
}

pub(super) fn from_storage(storage: &str) -> String {
    let mut reader = Reader::from_str(storage);
    reader.config_mut().check_end_names = false;
    reader.config_mut().allow_unmatched_ends = true;
    let mut writer = Writer::default();
    loop {
        match reader.read_event() {
            Ok(Event::Start(start)) => writer.start(&start),
            Ok(Event::Empty(start)) => {
                writer.start(&start);
                writer.end();
            }
            Ok(Event::End(_)) => writer.end(),
            // References (`&eacute;`) are valid HTML and stay.
            Ok(Event::Text(text)) => writer.text(&String::from_utf8_lossy(&text)),
            Ok(Event::GeneralRef(name)) => {
                writer.text(&format!("&{};", String::from_utf8_lossy(&name)));
            }
            Ok(Event::CData(data)) => {
                writer.text(&quick_xml::escape::escape(String::from_utf8_lossy(&data)));
            }
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => {}
        }
    }
    while !writer.open.is_empty() {
        writer.end();
    }
    writer.html
}

impl Writer {
    fn start(&mut self, start: &BytesStart<'_>) {
        let is_too_deep = self.open.len() >= MAX_DEPTH;
        let role = self.role(start);
        let tag = match &role {
            Role::Tag(tag, _) => Some(*tag),
            Role::Box => Some("blockquote"),
            Role::Title => Some("strong"),
            Role::Code => Some("pre"),
            _ => None,
        };
        let is_misplaced = tag.is_some_and(|tag| !TABLE_PARTS.contains(&tag)) && self.is_in_table();
        let is_bare = tag.is_some() && (is_too_deep || is_misplaced);
        let role = if is_bare { Role::Bare } else { role };
        self.tags.extend(tag.filter(|_| !is_bare));
        match &role {
            Role::Tag(tag, attributes) => self.html.push_str(&format!("<{tag}{attributes}>")),
            Role::Box => self.html.push_str("<blockquote>"),
            Role::Title => self.html.push_str("<p><strong>"),
            Role::Code => {
                let language = quoted(&std::mem::take(&mut self.language));
                self.html.push_str(&format!(r#"<pre><code class="language-{language}">"#));
            }
            Role::Dropped => self.dropped += 1,
            _ => {}
        }
        self.open.push(role);
    }

    fn end(&mut self) {
        let Some(role) = self.open.pop() else { return };
        if matches!(role, Role::Tag(..) | Role::Box | Role::Title | Role::Code) {
            self.tags.pop();
        }
        match role {
            Role::Tag(tag, _) if !VOID.contains(&tag) => self.html.push_str(&format!("</{tag}>")),
            Role::Box => self.html.push_str("</blockquote>"),
            Role::Title => self.html.push_str("</strong></p>"),
            Role::Code => self.html.push_str("</code></pre>"),
            Role::Link { title, has_text: false } => self.write(&quoted(&title)),
            Role::Dropped => self.dropped -= 1,
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        match self.open.last() {
            Some(Role::TaskStatus) => {
                self.write(if text.trim() == "complete" { "[x] " } else { "[ ] " });
            }
            Some(Role::Title) => self.write(text),
            Some(Role::Language) => self.language.push_str(text),
            _ if self.dropped == 0 => self.write(text),
            _ => {}
        }
    }

    /// Writes a text. Between the cells of a table, it becomes a cell of its own: a parser of HTML
    /// moves such text before the table, which takes quadratic time.
    fn write(&mut self, text: &str) {
        if text.trim().is_empty() || !self.is_in_table() {
            self.html.push_str(text);
        } else if self.tags.last() == Some(&"tr") {
            self.html.push_str(&format!("<td>{text}</td>"));
        } else {
            self.html.push_str(&format!("<tr><td>{text}</td></tr>"));
        }
    }

    /// Whether the innermost element is a table, and no cell of it.
    fn is_in_table(&self) -> bool {
        self.tags.last().is_some_and(|tag| matches!(*tag, "table" | "thead" | "tbody" | "tr"))
    }

    /// Returns the conversion of a macro's setting. Most are not visible.
    fn parameter(&self, start: &BytesStart<'_>) -> Role {
        let is_in_box = matches!(self.open.last(), Some(Role::Box));
        match attribute(start, b"ac:name").as_str() {
            "title" if is_in_box => Role::Title,
            "language" => Role::Language,
            _ => Role::Dropped,
        }
    }

    fn role(&mut self, start: &BytesStart<'_>) -> Role {
        let name = String::from_utf8_lossy(start.name().as_ref()).to_ascii_lowercase();
        match name.as_str() {
            "ac:structured-macro" | "ac:macro" => {
                self.language.clear();
                let name = attribute(start, b"ac:name");
                if BOXES.contains(&name.as_str()) { Role::Box } else { Role::Bare }
            }
            "ac:parameter" | "ac:default-parameter" => self.parameter(start),
            "ac:plain-text-body" => Role::Code,
            "ac:link" => Role::Link { title: String::new(), has_text: false },
            "ac:plain-text-link-body" | "ac:link-body" => {
                if let Some(Role::Link { has_text, .. }) = self.open.last_mut() {
                    *has_text = true;
                }
                Role::Bare
            }
            "ac:task-list" => Role::Tag("ul", String::new()),
            "ac:task" => Role::Tag("li", String::new()),
            "ac:task-status" => Role::TaskStatus,
            _ if DROPPED.split(' ').any(|known| known == name) => Role::Dropped,
            _ if name.starts_with("ri:") => self.target(&name, start),
            _ if name.starts_with("ac:") => Role::Bare,
            "time" => {
                self.write(&quoted(&attribute(start, b"datetime")));
                Role::Bare
            }
            _ => html_tag(&name, start),
        }
    }

    /// Writes the name of the target of a link or image.
    fn target(&mut self, name: &str, start: &BytesStart<'_>) -> Role {
        let title_of_target = match name {
            "ri:page" | "ri:blog-post" => attribute(start, b"ri:content-title"),
            "ri:attachment" => attribute(start, b"ri:filename"),
            "ri:url" => attribute(start, b"ri:value"),
            "ri:space" => attribute(start, b"ri:space-key"),
            _ => String::new(),
        };
        match self.open.last_mut() {
            Some(Role::Link { title, .. }) => *title = title_of_target,
            _ if !title_of_target.is_empty() => {
                self.write(&format!("[{}]", quoted(&title_of_target)));
            }
            _ => {}
        }
        Role::Bare
    }
}

/// Returns the conversion of an element of HTML. Of one that Markdown lacks, the content is kept.
fn html_tag(name: &str, start: &BytesStart<'_>) -> Role {
    let Some(tag) = KNOWN.split(' ').find(|known| *known == name) else { return Role::Bare };
    let kept: &[&[u8]] = match tag {
        "a" => &[b"href"],
        "img" => &[b"src", b"alt"],
        "ol" => &[b"start"],
        _ => &[],
    };
    let attributes = kept.iter().filter_map(|name| {
        let value = attribute(start, name);
        let name = String::from_utf8_lossy(name);
        (!value.is_empty()).then(|| format!(r#" {name}="{}""#, quoted(&value)))
    });
    Role::Tag(tag, attributes.collect())
}

/// Returns the raw value of an attribute. Its references are valid HTML.
fn attribute(start: &BytesStart<'_>, name: &[u8]) -> String {
    let attribute = start.try_get_attribute(name).ok().flatten();
    attribute.map_or_else(String::new, |attribute| {
        String::from_utf8_lossy(&attribute.value).into_owned()
    })
}

/// Escapes a raw value for the text or an attribute of HTML.
fn quoted(value: &str) -> String {
    value.replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
