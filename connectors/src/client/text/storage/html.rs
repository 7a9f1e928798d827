//! The storage format as HTML: each element of Confluence's own as what people see of it.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// How deep elements may stand in each other; those below lose their tags and keep their text.
const DEEPEST: usize = 100;
/// Elements of HTML that have no end.
const VOID: [&str; 6] = ["br", "hr", "img", "col", "wbr", "input"];
/// The elements of HTML that Markdown has something for.
const KNOWN: &str = "p h1 h2 h3 h4 h5 h6 ul ol li table thead tbody tr th td pre code blockquote strong b em i \
    del s a img br hr div span dl dt dd";
/// Ids and settings, and what older versions show in place of an element that stands beside it.
const DROPPED: &str = "ac:task-id ac:task-uuid ac:emoticon ac:placeholder ac:adf-attribute ac:adf-fallback \
    script style";
/// Macros that set their body apart.
const BOXES: [&str; 6] = ["info", "note", "warning", "tip", "panel", "quote"];

/// What becomes of an element.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Role {
    /// It is HTML, and its end closes this tag.
    Tag(&'static str, String),
    /// Only what it holds is kept.
    Bare,
    /// Nothing of it is kept: ids, and settings of macros.
    Dropped,
    /// A macro that sets its body apart.
    Box,
    /// The title of one.
    Title,
    /// The language of a code macro.
    Language,
    /// The text of a code macro.
    Code,
    /// A link, and whether it has a text of its own.
    Link { title: String, has_text: bool },
    /// Whether a task is done.
    TaskStatus,
}

#[derive(Default)]
struct Writer {
    html: String,
    open: Vec<Role>,
    /// How many of the open ones are dropped.
    dropped: usize,
    /// The language of the macro at hand.
    language: String,
}

pub(super) fn of(storage: &str) -> String {
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
            // References (`&eacute;`) are those of HTML: they stay as they are.
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
        let is_too_deep = self.open.len() >= DEEPEST;
        let role = match self.role(start) {
            Role::Tag(..) | Role::Box | Role::Code | Role::Title if is_too_deep => Role::Bare,
            role => role,
        };
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
        match role {
            Role::Tag(tag, _) if !VOID.contains(&tag) => self.html.push_str(&format!("</{tag}>")),
            Role::Box => self.html.push_str("</blockquote>"),
            Role::Title => self.html.push_str("</strong></p>"),
            Role::Code => self.html.push_str("</code></pre>"),
            Role::Link { title, has_text: false } => self.html.push_str(&quoted(&title)),
            Role::Dropped => self.dropped -= 1,
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        match self.open.last() {
            Some(Role::TaskStatus) => {
                self.html.push_str(if text.trim() == "complete" { "[x] " } else { "[ ] " });
            }
            Some(Role::Title) => self.html.push_str(text),
            Some(Role::Language) => self.language.push_str(text),
            _ if self.dropped == 0 => self.html.push_str(text),
            _ => {}
        }
    }

    /// A macro's setting. Of most nothing is shown.
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
            _ if name.starts_with("ri:") => self.named(&name, start),
            _ if name.starts_with("ac:") => Role::Bare,
            "time" => {
                self.html.push_str(&quoted(&attribute(start, b"datetime")));
                Role::Bare
            }
            _ => html_tag(&name, start),
        }
    }

    /// What a link or an image is of.
    fn named(&mut self, name: &str, start: &BytesStart<'_>) -> Role {
        let of = match name {
            "ri:page" | "ri:blog-post" => attribute(start, b"ri:content-title"),
            "ri:attachment" => attribute(start, b"ri:filename"),
            "ri:url" => attribute(start, b"ri:value"),
            "ri:space" => attribute(start, b"ri:space-key"),
            _ => String::new(),
        };
        match self.open.last_mut() {
            Some(Role::Link { title, .. }) => *title = of,
            _ if !of.is_empty() => self.html.push_str(&format!("[{}]", quoted(&of))),
            _ => {}
        }
        Role::Bare
    }
}

/// Of an element that Markdown has nothing for only what it holds is kept.
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

/// An attribute's value as it is written: its references are those of HTML.
fn attribute(start: &BytesStart<'_>, name: &[u8]) -> String {
    let attribute = start.try_get_attribute(name).ok().flatten();
    attribute.map_or_else(String::new, |attribute| {
        String::from_utf8_lossy(&attribute.value).into_owned()
    })
}

/// The same, fit to stand in HTML's text or between its quotation marks.
fn quoted(value: &str) -> String {
    value.replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
