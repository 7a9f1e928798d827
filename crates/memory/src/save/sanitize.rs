//! The first stage of a save: the texts of the request, masked.

use mc_domain::{RecordKind, RecordMeta};
use mc_sanitizer::Sanitized;

use super::SaveRequest;
use crate::citations::NewCitation;
use crate::content_filter::ContentFilter;
use crate::distill::model::Selection;
use crate::distill::{Distilled, Raw, WHOLE_MAX_CHARS, condense, distill, distill_selected};
use crate::text::cut;

/// The texts of a request, masked.
#[derive(Debug, Clone)]
pub(crate) struct SanitizedRequest {
    pub text: String,
    pub title: Option<String>,
    pub scope: Vec<String>,
    pub tags: Vec<String>,
    pub owner: Option<String>,
    pub meta: RecordMeta,
    pub citations: Vec<NewCitation>,
    /// Source of the note; empty if it reads like an instruction to a model.
    pub source: String,
}

impl SanitizedRequest {
    pub fn of(request: &SaveRequest, filter: &mut ContentFilter) -> Self {
        let meta = RecordMeta {
            steps: request.steps.iter().map(|step| filter.filter_text(step)).collect(),
            url: request.url.as_ref().map(|url| filter.filter_text(url)),
            fields: filter.filter_object(&request.meta),
            patch_ref: request.patch_ref.as_ref().map(|patch| filter.filter_text(patch)),
        };
        Self {
            text: whole_text(&filter.filter_text(&request.content), &meta),
            title: request.title.as_ref().map(|title| filter.filter_text(title)),
            scope: request.scope.iter().map(|scope| filter.filter_text(scope)).collect(),
            tags: request.tags.iter().map(|tag| filter.filter_text(tag)).collect(),
            owner: request.owner.as_ref().map(|owner| filter.filter_text(owner)),
            meta,
            citations: request
                .citations
                .iter()
                .map(|citation| sanitize_citation(citation, filter))
                .collect(),
            source: without_instructions(filter.filter_text(&request.source)),
        }
    }

    /// Distills the texts by the rules.
    pub fn distill(&self, kind: RecordKind) -> Distilled {
        self.as_raw(kind, distill)
    }

    /// Distills a long text to the statements that a model selected; `None` if none of them fits.
    pub fn distill_selected(&self, kind: RecordKind, selection: &Selection) -> Option<Distilled> {
        self.as_raw(kind, |raw| distill_selected(raw, selection))
    }

    fn as_raw<T>(&self, kind: RecordKind, distill: impl FnOnce(&Raw<'_>) -> T) -> T {
        let files: Vec<&str> = self.citations.iter().map(|c| c.file.as_str()).collect();
        let symbols: Vec<&str> =
            self.citations.iter().filter_map(|c| c.symbol.as_deref()).collect();
        distill(&Raw {
            kind,
            content: &self.text,
            title: self.title.as_deref(),
            scope: &self.scope,
            tags: &self.tags,
            files: &files,
            symbols: &symbols,
        })
    }
}

/// Returns the source, or an empty text if it reads like an instruction to a model: bundles show it
/// next to a text that others may have confirmed.
fn without_instructions(source: String) -> String {
    if mc_prompt_guard::inspect(&source).is_empty() { source } else { String::new() }
}

/// Masks a distilled text once more and cuts it to `max` characters. Markup removed between two
/// words (`**`, a line break) may have hidden a secret from the first pass.
pub(crate) fn mask_distilled(filter: &mut ContentFilter, text: &str, max: usize) -> Sanitized {
    /// Room for masks, which may be longer than the text that they cover.
    const MASK_ROOM: usize = 64;
    let masked = filter.filter_again(text);
    if masked.as_str().chars().count() <= max {
        return masked;
    }
    filter.filter_again(&cut(masked.as_str(), max.saturating_sub(MASK_ROOM)))
}

/// Joins content, steps and URL, which people search for and which distinguish records.
fn whole_text(content: &str, meta: &RecordMeta) -> String {
    let mut text = content.trim_end().to_owned();
    // A record imported from an export has its steps, distilled, in its content already.
    let has_step =
        |step: &str| content.contains(step) || content.contains(&condense(step, WHOLE_MAX_CHARS));
    for (at, step) in meta.steps.iter().enumerate().filter(|(_, step)| !has_step(step)) {
        text.push_str(&format!("\n{}. {}", at + 1, step.trim()));
    }
    if let Some(url) = meta.url.as_deref().filter(|url| !content.contains(*url)) {
        text.push_str(&format!("\n{url}"));
    }
    text
}

/// Masks the texts of a citation.
pub(crate) fn sanitize_citation(citation: &NewCitation, filter: &mut ContentFilter) -> NewCitation {
    NewCitation {
        file: filter.filter_text(&citation.file),
        symbol: citation.symbol.as_ref().map(|symbol| filter.filter_text(symbol)),
        commit: citation.commit.as_ref().map(|commit| filter.filter_text(commit)),
        ..citation.clone()
    }
}

#[cfg(test)]
mod tests {
    use mc_domain::{Policy, ProjectId};
    use serde_json::json;

    use super::*;
    use crate::content_filter::{MaskedCount, ReviewStatus};

    fn filter() -> ContentFilter {
        ContentFilter::new(&Policy::default(), ReviewStatus::Unreviewed)
    }

    #[test]
    fn secret_uncovered_by_distilling_is_masked_within_the_limit() {
        let mut filter = filter();
        let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        let long = format!("{} {token}", "word ".repeat(400));
        let masked = mask_distilled(&mut filter, &long, 2_000);
        assert!(!masked.as_str().contains(&token));
        assert!(masked.as_str().chars().count() <= 2_000);
        assert_eq!(filter.masked(), [MaskedCount { category: "github-token", count: 1 }]);
    }

    #[test]
    fn every_text_of_a_request_is_masked_and_counted() {
        let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        let card = 4_111_111_111_111_111_u64;
        let meta = json!({ "note": [{ "deep": token }], "n": 1, "card": card });
        let request = SaveRequest {
            title: Some(format!("use {token}")),
            steps: vec![format!("export T={token}")],
            tags: vec![token.clone()],
            meta: meta.as_object().cloned().unwrap_or_default(),
            ..SaveRequest::new(
                ProjectId::generate(),
                "local",
                RecordKind::Fewshot,
                format!("call with {token}"),
            )
        };
        let mut filter = filter();
        let clean = SanitizedRequest::of(&request, &mut filter);
        assert!(!format!("{clean:?}").contains(&token));
        let [card, token] = ["card", "github-token"];
        let count = |category, count| MaskedCount { category, count };
        assert_eq!(filter.masked(), [count(card, 1), count(token, 5)]);
        assert_eq!(
            (&clean.meta.fields["n"], &clean.meta.fields["card"]),
            (&json!(1), &json!("[personal:card]"))
        );
        assert!(clean.text.contains("\n1. export T="), "{}", clean.text);
    }

    #[test]
    fn source_with_hidden_text_is_dropped() {
        let source = |text: &str| without_instructions(text.to_owned());
        assert_eq!(source("https://wiki.example.org/7"), "https://wiki.example.org/7");
        assert_eq!(source("wiki\u{202e}7"), "");
    }
}
