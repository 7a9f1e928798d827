//! From the text of a document to the rows that search sees: the same for a file of a repository
//! and for a page that a client sends.

use mc_domain::Trust;
use mc_sanitizer::{Policy, Sanitized, identifier, mask_with};
use mc_store::docs::NewDoc;
use mc_store::passages::NewPassage;

use crate::adr;
use crate::chunker::Limits;
use crate::markdown::{self, Section};

/// Longest title and heading path, in characters.
const MAX_TITLE: usize = 300;
/// Most tags or scopes of a document, and their longest, in characters.
const MAX_WORDS: (usize, usize) = (32, 200);

/// A document before it is cut.
#[derive(Debug, Clone)]
pub struct Page {
    /// Where it came from (`confluence`, `repo:owner/name`).
    pub source: String,
    /// Its id there.
    pub doc_id: String,
    /// Title; where empty, that of the front matter or the first heading, else the end of `doc_id`.
    pub title: String,
    /// Where people read it; may be empty.
    pub url: String,
    /// The whole text, masked; Markdown with or without front matter.
    pub content: Sanitized,
    /// Scopes, beside those of the front matter.
    pub scope: Vec<String>,
    /// Tags, beside those of the front matter.
    pub tags: Vec<String>,
}

impl Page {
    /// A Markdown file of a repository.
    pub fn of_file(namespace: &str, path: &str, content: Sanitized) -> Self {
        Self {
            source: namespace.to_owned(),
            doc_id: path.to_owned(),
            title: String::new(),
            url: String::new(),
            content,
            scope: Vec::new(),
            tags: Vec::new(),
        }
    }

    /// What results show as its place: the URL where there is one.
    fn place(&self) -> &str {
        if self.url.is_empty() { &self.doc_id } else { &self.url }
    }
}

/// Cuts a document by its headings; what is to be stored of it, and what search is to see.
/// `sanitizing` is what its text was masked by, and its pieces are once more.
pub fn cut(mut page: Page, limits: Limits, sanitizing: &Policy) -> (NewDoc, Vec<NewPassage>) {
    let document = markdown::parse(page.content.as_str(), limits);
    if page.title.trim().is_empty() {
        page.title.clone_from(&document.title);
    }
    let recognized = adr::tags(&page.title, &page.doc_id, &document);
    page.tags.extend(document.tags.into_iter().chain(recognized));
    page.scope.extend(document.scope);
    let pieces = document.sections.into_iter().map(Piece::from);
    assemble(page, pieces.collect(), sanitizing)
}

/// A passage to be.
pub(crate) struct Piece {
    /// The text and its lines.
    pub section: Section,
    /// Who wrote it; may be empty.
    pub author: String,
    /// What it is read with; may be empty.
    pub context: Sanitized,
}

impl From<Section> for Piece {
    fn from(section: Section) -> Self {
        Self { section, author: String::new(), context: Sanitized::default() }
    }
}

/// The rows of a document that is cut.
pub(crate) fn assemble(
    page: Page,
    pieces: Vec<Piece>,
    sanitizing: &Policy,
) -> (NewDoc, Vec<NewPassage>) {
    let title = Some(page.title.trim()).filter(|title| !title.is_empty());
    let title = shorten(title.unwrap_or_else(|| file_name(&page.doc_id)).to_owned(), MAX_TITLE);
    let (tags, scope) = (words(&page.tags), words(&page.scope));
    let masked = |text: &str| mask_with(text, sanitizing).text;
    let location = mask_identifier(page.place(), sanitizing);
    let passage = |Piece { section, author, context }: Piece| NewPassage {
        record_kind: None,
        title: masked(&section_title(&title, &section.heading_path)),
        location: location.clone(),
        symbols: Vec::new(),
        scope: scope.clone(),
        tags: tags.clone(),
        language: "markdown".to_owned(),
        author: masked(&author),
        context,
        text: masked(&section.text),
        lines: Some((line(section.line_start), line(section.line_end))),
    };
    let passages = pieces.into_iter().map(passage).collect();
    let doc = NewDoc {
        // Known when the file's row is written.
        file: None,
        saved_by: None,
        trust: Trust::Imported,
        title: masked(&title),
        source: page.source,
        doc_id: page.doc_id,
        url: mask_identifier(&page.url, sanitizing),
        content: page.content,
        scope,
        tags,
    };
    (doc, passages)
}

/// Returns a path, URL or qualified name unchanged, or masked if it contains a secret or an email
/// address.
pub(crate) fn mask_identifier(text: &str, sanitizing: &Policy) -> Sanitized {
    identifier(text).unwrap_or_else(|| mask_with(text, sanitizing).text)
}

fn line(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// `Document > Heading > Heading below`; the document's title is often its first heading.
fn section_title(title: &str, headings: &[String]) -> String {
    let below = headings.strip_prefix(&[title.to_owned()]).unwrap_or(headings);
    let parts: Vec<&str> = std::iter::once(title).chain(below.iter().map(String::as_str)).collect();
    shorten(parts.join(" > "), MAX_TITLE)
}

fn words(words: &[String]) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for word in words.iter().map(|word| shorten(word.clone(), MAX_WORDS.1)) {
        if kept.len() < MAX_WORDS.0 && !kept.contains(&word) {
            kept.push(word);
        }
    }
    kept
}

fn shorten(text: String, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => text[..end].to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_url_and_location_of_a_page_are_masked() {
        let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        let page = Page {
            source: "wiki".to_owned(),
            doc_id: "1".to_owned(),
            title: format!("Deploy with {token}"),
            url: format!("https://wiki/deploy/{token}"),
            content: mask_with("# Deploy\n\nAsk the operator.", &Policy::default()).text,
            scope: Vec::new(),
            tags: Vec::new(),
        };
        let (doc, passages) = cut(page, Limits::default(), &Policy::default());
        let texts = [&doc.title, &doc.url, &passages[0].title, &passages[0].location];
        for text in texts {
            assert!(text.as_str().contains("[secret:github-token]"), "{text}");
            assert!(!text.as_str().contains(&token), "{text}");
        }
    }
}
