//! Splits documents, of repositories and of clients, into the rows that search reads.

use mc_domain::Trust;
use mc_sanitizer::{Policy, Sanitized, identifier, mask_with};
use mc_store::docs::NewDoc;
use mc_store::passages::NewPassage;

use crate::adr;
use crate::chunker::Limits;
use crate::markdown::{self, Section};
use crate::text::{as_i32, shorten};

/// Maximum length of a title or heading path, in characters.
const MAX_TITLE: usize = markdown::MAX_HEADING_CHARS;
/// Maximum number of tags or scopes of a document.
const MAX_LABELS: usize = 32;

/// Maximum length of a tag or scope, in characters.
const MAX_LABEL_CHARS: usize = 200;

/// Document before it is split.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// Source (`confluence`, `repo:owner/name`).
    pub source: String,
    /// Id at the source.
    pub doc_id: String,
    /// Title. If empty: that of the front matter, the first heading, or the end of `doc_id`.
    pub title: String,
    /// URL for people; may be empty.
    pub url: String,
    /// Masked text; Markdown with or without front matter.
    pub content: Sanitized,
    /// Scopes, in addition to those of the front matter.
    pub scope: Vec<String>,
    /// Tags, in addition to those of the front matter.
    pub tags: Vec<String>,
}

impl Page {
    /// Returns the location that results show: the URL, if there is one.
    fn location(&self) -> &str {
        if self.url.is_empty() { &self.doc_id } else { &self.url }
    }
}

/// Splits a document at its headings, into the row to store and the passages for search.
///
/// `sanitizing` is the policy that masked the text; it is applied to the passages again.
pub fn cut(mut page: Page, limits: Limits, sanitizing: &Policy) -> (NewDoc, Vec<NewPassage>) {
    let document = markdown::parse(page.content.as_str(), limits);
    if page.title.trim().is_empty() {
        page.title.clone_from(&document.title);
    }
    let adr_tags = adr::tags(&page.title, &page.doc_id, &document);
    // Front matter may write a secret in escapes, which YAML decodes.
    let masked = |labels: Vec<String>| {
        labels.into_iter().map(|label| {
            let label = label.replace(char::is_control, " ");
            mask_identifier(&label, sanitizing).into_string()
        })
    };
    page.tags.extend(masked(document.tags).chain(adr_tags));
    page.scope.extend(masked(document.scope));
    let piece = |section| Piece { section, author: String::new(), context: Sanitized::default() };
    assemble(page, document.sections.into_iter().map(piece).collect(), sanitizing)
}

/// Text of a passage, before it is masked.
pub(crate) struct Piece {
    /// Text and lines.
    pub section: Section,
    /// Author; may be empty.
    pub author: String,
    /// Context that is searched with the text; may be empty.
    pub context: Sanitized,
}

/// Builds the rows of a document from its pieces.
pub(crate) fn assemble(
    page: Page,
    pieces: Vec<Piece>,
    sanitizing: &Policy,
) -> (NewDoc, Vec<NewPassage>) {
    let title = Some(page.title.trim()).filter(|title| !title.is_empty());
    let title = shorten(title.unwrap_or_else(|| file_name(&page.doc_id)), MAX_TITLE).to_owned();
    let (tags, scope) = (unique_labels(&page.tags), unique_labels(&page.scope));
    let masked = |text: &str| mask_with(text, sanitizing).text;
    let (mut titles, mut authors) = (MaskCache::default(), MaskCache::default());
    let location = mask_identifier(page.location(), sanitizing);
    let passage = |Piece { section, author, context }: Piece| NewPassage {
        title: titles.get(section_title(&title, &section.heading_path), masked),
        location: location.clone(),
        scope: scope.clone(),
        tags: tags.clone(),
        language: "markdown".to_owned(),
        author: authors.get(author, masked),
        context,
        text: masked(&section.text),
        lines: Some((as_i32(section.line_start), as_i32(section.line_end))),
        ..NewPassage::default()
    };
    let passages = pieces.into_iter().map(passage).collect();
    let doc = NewDoc {
        // Set when the row of the file is written.
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

/// Cache of the last masked text, since adjacent passages often have the same author or title.
#[derive(Default)]
struct MaskCache {
    last: String,
    masked: Sanitized,
}

impl MaskCache {
    fn get(&mut self, text: String, mask: impl FnOnce(&str) -> Sanitized) -> Sanitized {
        if text != self.last {
            self.masked = mask(&text);
            self.last = text;
        }
        self.masked.clone()
    }
}

/// Returns a path, URL or qualified name, masked if it contains a secret or an email address.
pub(crate) fn mask_identifier(text: &str, sanitizing: &Policy) -> Sanitized {
    identifier(text).unwrap_or_else(|| mask_with(text, sanitizing).text)
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Formats `Document > Heading > Subheading`. The first heading is omitted if it is the title.
fn section_title(title: &str, headings: &[String]) -> String {
    let rest = headings.strip_prefix(&[title.to_owned()]).unwrap_or(headings);
    let parts: Vec<&str> = std::iter::once(title).chain(rest.iter().map(String::as_str)).collect();
    shorten(&parts.join(" > "), MAX_TITLE).to_owned()
}

fn unique_labels(words: &[String]) -> Vec<String> {
    let mut unique: Vec<String> = Vec::new();
    for word in words.iter().map(|word| shorten(word, MAX_LABEL_CHARS)) {
        if unique.len() < MAX_LABELS && !unique.iter().any(|known| known == word) {
            unique.push(word.to_owned());
        }
    }
    unique
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_text_is_masked_once() {
        let mut texts = MaskCache::default();
        let mut times = 0;
        for text in ["", "a@acme-widgets.io", "a@acme-widgets.io", "b", "a@acme-widgets.io"] {
            let masked = texts.get(text.to_owned(), |text| {
                times += 1;
                mask_with(text, &Policy::default()).text
            });
            assert_eq!(masked.as_str(), mask_with(text, &Policy::default()).text.as_str());
        }
        assert_eq!(times, 3);
    }

    #[test]
    fn title_url_and_location_of_a_page_are_masked() {
        let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        let page = Page {
            source: "wiki".to_owned(),
            doc_id: "1".to_owned(),
            title: format!("Deploy with {token}"),
            url: format!("https://wiki/deploy/{token}"),
            content: mask_with("# Deploy\n\nAsk the operator.", &Policy::default()).text,
            ..Page::default()
        };
        let (doc, passages) = cut(page, Limits::default(), &Policy::default());
        let texts = [&doc.title, &doc.url, &passages[0].title, &passages[0].location];
        for text in texts {
            assert!(text.as_str().contains("[secret:github-token]"), "{text}");
            assert!(!text.as_str().contains(&token), "{text}");
        }
    }
}
