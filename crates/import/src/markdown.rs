//! The blocks of a Markdown text, without inline markup.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// Depth of lists from which items count as text of the item above.
const MAX_DEPTH: usize = 6;

/// A block with the line of its beginning, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    pub line: u32,
    pub content: Content,
}

/// The content of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Heading {
        level: u8,
        text: String,
    },
    Paragraph(String),
    Code {
        language: String,
        text: String,
    },
    List {
        is_ordered: bool,
        items: Vec<Item>,
    },
    /// The first row is the header.
    Table(Vec<Vec<String>>),
}

/// An item of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub line: u32,
    pub blocks: Vec<Block>,
}

/// Parses a text whose first line has the number `first_line`. Quotes count as their content; HTML
/// is left out.
pub fn parse(text: &str, first_line: u32) -> Vec<Block> {
    let mut reader = Reader::new(text, first_line);
    let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        reader.read(event, &range);
    }
    reader.finish()
}

/// Returns code as a fenced block.
pub fn fenced(language: &str, code: &str) -> String {
    format!("```{language}\n{code}\n```")
}

/// An open list, or an open item of one.
enum Frame {
    List { line: u32, is_ordered: bool, items: Vec<Item> },
    Item(Item),
}

struct Reader {
    line_starts: Vec<usize>,
    first_line: u32,
    blocks: Vec<Block>,
    frames: Vec<Frame>,
    /// Lists below [`MAX_DEPTH`] that are open.
    flattened: usize,
    /// The text that is being read, with the line of its beginning.
    text: String,
    text_line: Option<u32>,
    /// Starts of open links in `text`, with their targets.
    links: Vec<(usize, String)>,
    code: Option<(u32, String, String)>,
    table: Option<(u32, Vec<Vec<String>>)>,
    image_depth: usize,
}

impl Reader {
    fn new(text: &str, first_line: u32) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self {
            line_starts: std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect(),
            first_line,
            blocks: Vec::new(),
            frames: Vec::new(),
            flattened: 0,
            text: String::new(),
            text_line: None,
            links: Vec::new(),
            code: None,
            table: None,
            image_depth: 0,
        }
    }

    fn line(&self, range: &Range<usize>) -> u32 {
        let index = self.line_starts.partition_point(|start| *start <= range.start) - 1;
        self.first_line + u32::try_from(index).unwrap_or(u32::MAX - self.first_line)
    }

    fn read(&mut self, event: Event<'_>, range: &Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, _, code)) => code.push_str(&text),
                None => self.write(&text, range),
            },
            Event::Code(code) => self.write(&format!("`{code}`"), range),
            Event::SoftBreak | Event::HardBreak => self.write(" ", range),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: &Range<usize>) {
        let line = self.line(range);
        match tag {
            Tag::Paragraph | Tag::Heading { .. } => self.flush(),
            Tag::CodeBlock(kind) => {
                self.flush();
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info.to_lowercase(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((line, language, String::new()));
            }
            Tag::List(start) => {
                self.flush();
                if self.frames.len() >= 2 * MAX_DEPTH {
                    self.flattened += 1;
                } else {
                    let is_ordered = start.is_some();
                    self.frames.push(Frame::List { line, is_ordered, items: Vec::new() });
                }
            }
            Tag::Item => {
                self.flush();
                if self.flattened == 0 {
                    self.frames.push(Frame::Item(Item { line, blocks: Vec::new() }));
                }
            }
            Tag::Table(_) => self.table = Some((line, Vec::new())),
            Tag::TableHead | Tag::TableRow => {
                if let Some((_, rows)) = &mut self.table {
                    rows.push(Vec::new());
                }
            }
            Tag::Link { dest_url, .. } => {
                self.links.push((self.text.len(), dest_url.into_string()));
            }
            Tag::Image { .. } => self.image_depth += 1,
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.flush(),
            TagEnd::Heading(level) => {
                let line = self.text_line.take();
                let text = std::mem::take(&mut self.text).trim().to_owned();
                if let Some(line) = line {
                    self.push(line, Content::Heading { level: level as u8, text });
                }
            }
            TagEnd::CodeBlock => {
                if let Some((line, language, text)) = self.code.take() {
                    let text = text.trim_end().to_owned();
                    self.push(line, Content::Code { language, text });
                }
            }
            TagEnd::List(_) => self.end_list(),
            TagEnd::Item => {
                self.flush();
                if self.flattened == 0 {
                    self.end_item();
                }
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.text).trim().to_owned();
                self.text_line = None;
                if let Some(row) = self.table.as_mut().and_then(|(_, rows)| rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Table => {
                if let Some((line, rows)) = self.table.take() {
                    self.push(line, Content::Table(rows));
                }
            }
            TagEnd::Link => self.end_link(),
            TagEnd::Image => self.image_depth = self.image_depth.saturating_sub(1),
            _ => {}
        }
    }

    fn write(&mut self, text: &str, range: &Range<usize>) {
        if self.image_depth > 0 {
            return;
        }
        if self.text_line.is_none() {
            self.text_line = Some(self.line(range));
        }
        self.text.push_str(text);
    }

    /// Ends the paragraph that is being read; items of tight lists have no tag for it.
    fn flush(&mut self) {
        let Some(line) = self.text_line.take() else {
            self.text.clear();
            return;
        };
        self.links.clear();
        let text = std::mem::take(&mut self.text).trim().to_owned();
        if !text.is_empty() {
            self.push(line, Content::Paragraph(text));
        }
    }

    fn push(&mut self, line: u32, content: Content) {
        let blocks = match self.frames.last_mut() {
            Some(Frame::Item(item)) => &mut item.blocks,
            _ => &mut self.blocks,
        };
        blocks.push(Block { line, content });
    }

    fn end_list(&mut self) {
        if self.flattened > 0 {
            self.flattened -= 1;
        } else if let Some(Frame::List { line, is_ordered, items }) = self.frames.pop() {
            self.push(line, Content::List { is_ordered, items });
        }
    }

    fn end_item(&mut self) {
        if let Some(Frame::Item(item)) = self.frames.pop()
            && let Some(Frame::List { items, .. }) = self.frames.last_mut()
        {
            items.push(item);
        }
    }

    /// Keeps the target of a link: instead of a label that is the end of a path, else after it.
    fn end_link(&mut self) {
        let Some((start, target)) = self.links.pop() else { return };
        let target = target.trim_start_matches("mdc:");
        let Some(label) = self.text.get(start..).map(|label| label.trim().trim_matches('`')) else {
            return;
        };
        // Without a label, the link has only an image.
        if label.is_empty() || target.is_empty() || target.starts_with('#') || label == target {
            return;
        }
        let is_path = !target.contains("://");
        let shown = if is_path && target.ends_with(label) {
            format!("`{target}`")
        } else {
            format!("{label} ({target})")
        };
        self.text.truncate(start);
        self.text.push_str(&shown);
    }

    fn finish(mut self) -> Vec<Block> {
        self.flush();
        self.blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_lines_and_plain_text() {
        let text = "# Title\n\nUse **bold** [db.rs](mdc:src/db.rs)\nand [docs](https://x.y/z).\n\n\
                    - a\n  - b\n\n```sh\nmake\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
        let blocks = parse(text, 1);
        let paragraph = |line, text: &str| Block { line, content: Content::Paragraph(text.into()) };
        let nested = Item { line: 7, blocks: vec![paragraph(7, "b")] };
        let list = |items| Content::List { is_ordered: false, items };
        let item = vec![paragraph(6, "a"), Block { line: 7, content: list(vec![nested]) }];
        let expected = vec![
            Block { line: 1, content: Content::Heading { level: 1, text: "Title".into() } },
            paragraph(3, "Use bold `src/db.rs` and docs (https://x.y/z)."),
            Block { line: 6, content: list(vec![Item { line: 6, blocks: item }]) },
            Block {
                line: 9,
                content: Content::Code { language: "sh".into(), text: "make".into() },
            },
            Block {
                line: 13,
                content: Content::Table(vec![
                    vec!["a".into(), "b".into()],
                    vec!["1".into(), "2".into()],
                ]),
            },
        ];
        assert_eq!(blocks, expected);
    }

    #[test]
    fn deeply_nested_lists_are_flattened() {
        let text = "- ".repeat(20_000) + "x";
        assert!(format!("{:?}", parse(&text, 1)).contains("\"x\""));
        let quoted = "> ".repeat(20_000) + "x";
        assert!(format!("{:?}", parse(&quoted, 1)).contains("\"x\""));
    }
}
