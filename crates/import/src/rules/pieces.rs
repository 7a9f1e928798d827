//! Cutting of Markdown blocks into pieces that can be understood one by one.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::markdown::{Block, Content, Item, fenced};
use crate::text::{fits, words};

/// Longest list that stays one piece after the sentence that introduces it, in characters.
const INTRODUCED_MAX_CHARS: usize = 600;
/// Longest list of short items, and longest table, that stay one piece, in characters.
const GROUP_MAX_CHARS: usize = 1_500;
/// Longest instruction in steps, in characters.
const STEPS_MAX_CHARS: usize = 3_000;
/// Longest item with a list that stays one piece, in characters.
const ITEM_MAX_CHARS: usize = 1_000;
/// Longest introduction that is repeated before each item of a list, in characters.
const LEAD_MAX_CHARS: usize = 160;
/// Mean number of words below which items say nothing alone.
const SHORT_ITEM_WORDS: usize = 6;
/// Most words of an item that describes a label.
const DEFINITION_MAX_WORDS: usize = 12;
/// Fewest words of an introduction of code; a shorter one continues the piece before it.
const CONNECTIVE_WORDS: usize = 4;
/// Longest statement with one that refers to it, in characters.
const JOINED_MAX_CHARS: usize = 1_500;
/// Most lines of an example after a statement.
const EXAMPLE_MAX_LINES: usize = 25;
const SHELLS: &[&str] = &["bash", "sh", "shell", "console", "zsh", "shell-session", "fish"];

/// Words with which a sentence refers to the one before it.
static ANAPHORA: LazyLock<Regex> = LazyLock::new(|| {
    let words = concat!(
        r"(?i)^(?:this|that|these|those|it|they|but|also|however|otherwise|instead|so|then|again|",
        r"both|here|such|therefore|in other words|keep (?:this|that) in mind|in that case|if so|",
        r"the same|for (?:example|instance))\b",
    );
    Regex::new(words).expect("a valid pattern")
});

/// A part of a file that may become a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub line: u32,
    /// The headings above it, without the title of the file.
    pub path: Vec<String>,
    pub text: String,
    pub shape: Shape,
}

/// The form of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Sentences, perhaps with an example.
    Statement,
    /// An ordered list.
    Steps,
    /// Commands of a shell.
    Commands,
    /// Other code.
    Code,
}

/// Cuts the blocks of a file.
pub fn split(blocks: &[Block]) -> Vec<Piece> {
    let mut splitter = Splitter { headings: Vec::new(), has_title: false, pieces: Vec::new() };
    let mut rest = blocks;
    while let Some(block) = rest.first() {
        let read = splitter.read(block, &rest[1..]);
        rest = &rest[1 + read..];
    }
    splitter.pieces
}

struct Splitter {
    headings: Vec<(u8, String)>,
    has_title: bool,
    pieces: Vec<Piece>,
}

impl Splitter {
    /// Reads a block, and returns how many of the next ones belong to it.
    fn read(&mut self, block: &Block, next: &[Block]) -> usize {
        match &block.content {
            Content::Heading { level, text } => return self.open(*level, text, next),
            Content::Paragraph(text) => return self.paragraph(block.line, text, next),
            Content::List { is_ordered, items } => {
                let (items, read) = with_code(items, next);
                self.list("", block.line, *is_ordered, &items);
                return read;
            }
            Content::Table(rows) => self.table("", block.line, rows),
            Content::Code { language, text } => self.code(block.line, language, text),
        }
        0
    }

    /// Opens a section. A heading with a colon introduces the list below it.
    fn open(&mut self, level: u8, text: &str, next: &[Block]) -> usize {
        self.headings.retain(|(other, _)| *other < level);
        // The first heading of the first level names the file.
        if level == 1 && !std::mem::replace(&mut self.has_title, true) {
            return 0;
        }
        self.headings.push((level, text.to_owned()));
        match next.first() {
            Some(Block { line, content: Content::List { is_ordered, items } })
                if text.ends_with(':') =>
            {
                self.list(text, *line, *is_ordered, items);
                1
            }
            _ => 0,
        }
    }

    fn push(&mut self, line: u32, text: String, shape: Shape) {
        let path = self.headings.iter().map(|(_, text)| text.clone()).collect();
        self.pieces.push(Piece { line, path, text, shape });
    }

    fn paragraph(&mut self, line: u32, text: &str, next: &[Block]) -> usize {
        let introduces = text.ends_with(':');
        match next.first().map(|block| &block.content) {
            Some(Content::List { is_ordered, items }) if introduces => {
                self.list(text, line, *is_ordered, items);
                1
            }
            Some(Content::Table(rows)) if introduces => {
                self.table(text, line, rows);
                1
            }
            Some(Content::Code { language, text: code })
                if introduces || is_example(language, code) =>
            {
                self.statement(line, text, format!("{text}\n{}", fenced(language, code)));
                1
            }
            _ => {
                self.statement(line, text, text.to_owned());
                0
            }
        }
    }

    /// Adds a statement. One that refers to the statement before it continues that one, as does a
    /// short introduction of code, such as "over:".
    fn statement(&mut self, line: u32, introduction: &str, statement: String) {
        let is_connective = words(introduction) < CONNECTIVE_WORDS && introduction.ends_with(':');
        let depends = is_connective || ANAPHORA.is_match(introduction);
        let path = self.headings.len();
        match self.pieces.last_mut().filter(|last| depends && last.path.len() == path) {
            Some(last)
                if last.shape == Shape::Statement
                    && last.path.last() == self.headings.last().map(|(_, text)| text)
                    && fits(&last.text, JOINED_MAX_CHARS.saturating_sub(statement.len())) =>
            {
                let has_block = last.text.contains('\n') || is_connective;
                last.text.push_str(if has_block { "\n" } else { " " });
                last.text.push_str(&statement);
            }
            _ => self.push(line, statement, Shape::Statement),
        }
    }

    fn code(&mut self, line: u32, language: &str, text: &str) {
        let is_commands = is_shell(language) && !self.headings.is_empty();
        let shape = if is_commands { Shape::Commands } else { Shape::Code };
        self.push(line, fenced(language, text), shape);
    }

    /// Cuts a list after its introduction, which may be empty.
    fn list(&mut self, lead: &str, line: u32, is_ordered: bool, items: &[Item]) {
        let texts: Vec<String> = items.iter().map(|item| item_text(item, "")).collect();
        let length: usize = texts.iter().map(|text| text.chars().count()).sum();
        let words: usize = texts.iter().map(|text| words(text)).sum();
        let is_sequence = is_ordered && items.len() > 1 && length <= STEPS_MAX_CHARS;
        let is_short = (words < SHORT_ITEM_WORDS * items.len() || are_definitions(&texts))
            && length <= GROUP_MAX_CHARS;
        let is_introduced = !lead.is_empty() && length <= INTRODUCED_MAX_CHARS;
        if is_sequence || (items.len() > 1 && (is_short || is_introduced)) {
            let shape = if is_sequence { Shape::Steps } else { Shape::Statement };
            self.push(line, with_lead(lead, &bullets(&texts, is_ordered)), shape);
            return;
        }
        let lead = if fits(lead, LEAD_MAX_CHARS) { lead } else { "" };
        for (item, text) in items.iter().zip(texts) {
            self.item(lead, item, text);
        }
    }

    /// Adds an item, or the items of its list if it is long.
    fn item(&mut self, lead: &str, item: &Item, text: String) {
        let long_list = match item.blocks.as_slice() {
            [first, second, ..] if !fits(&text, ITEM_MAX_CHARS) => {
                match (&first.content, &second.content) {
                    (Content::Paragraph(first), Content::List { is_ordered, items }) => {
                        Some((first, *is_ordered, items))
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        match long_list {
            Some((first, is_ordered, items)) => self.list(first, item.line, is_ordered, items),
            None if lead.is_empty() => self.push(item.line, text, Shape::Statement),
            None => self.push(item.line, format!("{lead} {text}"), Shape::Statement),
        }
    }

    /// Cuts a table into groups of rows; each row names the columns.
    fn table(&mut self, lead: &str, line: u32, rows: &[Vec<String>]) {
        let Some((header, rows)) = rows.split_first() else { return };
        let mut group = String::new();
        for row in rows.iter().map(|row| row_text(header, row)) {
            if !group.is_empty() && !fits(&group, GROUP_MAX_CHARS.saturating_sub(row.len())) {
                let text = with_lead(lead, &std::mem::take(&mut group));
                self.push(line, text, Shape::Statement);
            }
            if !group.is_empty() {
                group.push('\n');
            }
            group.push_str(&row);
        }
        if !group.is_empty() {
            self.push(line, with_lead(lead, &group), Shape::Statement);
        }
    }
}

/// Whether most items are a short description of a label, such as "Lint: `make lint`".
fn are_definitions(items: &[String]) -> bool {
    let is_definition = |item: &&String| {
        let label = [": ", " - ", " — ", " – "].iter().find_map(|mark| item.split_once(mark));
        words(item) <= DEFINITION_MAX_WORDS
            && label.is_some_and(|(label, _)| words(label) <= CONNECTIVE_WORDS)
    };
    2 * items.iter().filter(is_definition).count() > items.len()
}

/// Adds the code after a list to its last item, if the item introduces it. Returns the number of
/// blocks that were added.
fn with_code<'a>(items: &'a [Item], next: &[Block]) -> (Cow<'a, [Item]>, usize) {
    let introduces = |item: &Item| {
        matches!(item.blocks.as_slice(), [Block { content: Content::Paragraph(text), .. }]
            if text.ends_with(':'))
    };
    match next.first() {
        Some(code @ Block { content: Content::Code { .. }, .. })
            if items.last().is_some_and(introduces) =>
        {
            let mut items = items.to_vec();
            if let Some(last) = items.last_mut() {
                last.blocks.push(code.clone());
            }
            (Cow::Owned(items), 1)
        }
        _ => (Cow::Borrowed(items), 0),
    }
}

fn is_shell(language: &str) -> bool {
    language.split([',', ' ']).next().is_some_and(|word| SHELLS.contains(&word))
}

/// Whether code is an example of the statement before it. Commands of a shell stand alone.
fn is_example(language: &str, code: &str) -> bool {
    !is_shell(language) && code.lines().count() <= EXAMPLE_MAX_LINES
}

fn with_lead(lead: &str, text: &str) -> String {
    if lead.is_empty() { text.to_owned() } else { format!("{lead}\n{text}") }
}

fn bullets(texts: &[String], is_ordered: bool) -> String {
    let bullet = |(index, text): (usize, &String)| {
        if is_ordered { format!("{}. {text}", index + 1) } else { format!("- {text}") }
    };
    texts.iter().enumerate().map(bullet).collect::<Vec<_>>().join("\n")
}

/// Returns the text of an item with its lists, which are indented. The parser limits the depth.
fn item_text(item: &Item, indent: &str) -> String {
    let mut text = String::new();
    for block in &item.blocks {
        match &block.content {
            Content::Heading { text: part, .. } | Content::Paragraph(part) => {
                if !text.is_empty() {
                    text.push(' ');
                }
                text.push_str(part);
            }
            Content::Code { language, text: code } => {
                text.push('\n');
                text.push_str(&fenced(language, code));
            }
            Content::List { items, .. } => {
                let indent = format!("{indent}  ");
                for item in items {
                    text.push_str(&format!("\n{indent}- {}", item_text(item, &indent)));
                }
            }
            Content::Table(rows) => {
                let header = rows.first().map_or(&[][..], Vec::as_slice);
                for row in rows.iter().skip(1) {
                    text.push('\n');
                    text.push_str(&row_text(header, row));
                }
            }
        }
    }
    text
}

/// Returns a row as an item: `- a: b` of two columns, else with the names of the columns.
fn row_text(header: &[String], row: &[String]) -> String {
    if let [first, second] = row {
        return format!("- {first}: {second}");
    }
    let cells = row.iter().zip(header).filter(|(cell, _)| !cell.is_empty());
    let cells: Vec<_> = cells.map(|(cell, name)| format!("{name}: {cell}")).collect();
    format!("- {}", cells.join("; "))
}
