//! A request without secrets.

use std::collections::BTreeMap;

use mc_domain::RecordKind;
use mc_sanitizer::{Sanitized, mask};
use serde_json::{Map, Value};

use super::SaveRequest;
use crate::citations::NewCitation;
use crate::distil::{Distilled, MAX_CHARS, Raw, condense, distil};
use crate::text::cut;

/// How many finds of a category were masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskedCount {
    /// What it was: `github-token`.
    pub category: &'static str,
    /// How many.
    pub count: usize,
}

/// The texts of a request, masked.
#[derive(Debug, Clone)]
pub(crate) struct Clean {
    pub text: String,
    pub title: Option<String>,
    pub scope: Vec<String>,
    pub tags: Vec<String>,
    pub owner: Option<String>,
    pub url: Option<String>,
    /// The caller's `meta` with `steps`, `patch_ref` and `url` in it.
    pub meta: Map<String, Value>,
    pub citations: Vec<NewCitation>,
    pub masked: Vec<MaskedCount>,
}

impl Clean {
    pub fn of(request: &SaveRequest) -> Self {
        let mut counts = Counts::default();
        let steps: Vec<String> = request.steps.iter().map(|step| counts.mask(step)).collect();
        let url = request.url.as_ref().map(|url| counts.mask(url));
        let mut meta = counts.mask_map(&request.meta);
        if !steps.is_empty() {
            meta.insert("steps".to_owned(), steps.clone().into());
        }
        if let Some(patch) = &request.patch_ref {
            meta.insert("patch_ref".to_owned(), counts.mask(patch).into());
        }
        if let Some(url) = &url {
            meta.insert("url".to_owned(), url.clone().into());
        }
        Self {
            text: whole_text(&counts.mask(&request.content), &steps, url.as_deref()),
            title: request.title.as_ref().map(|title| counts.mask(title)),
            scope: request.scope.iter().map(|scope| counts.mask(scope)).collect(),
            tags: request.tags.iter().map(|tag| counts.mask(tag)).collect(),
            owner: request.owner.as_ref().map(|owner| counts.mask(owner)),
            url,
            meta,
            citations: request
                .citations
                .iter()
                .map(|citation| clean_citation(citation, &mut counts))
                .collect(),
            masked: counts.into_list(),
        }
    }

    pub fn distil(&self, kind: RecordKind) -> Distilled {
        let files: Vec<&str> = self.citations.iter().map(|c| c.file.as_str()).collect();
        let symbols: Vec<&str> =
            self.citations.iter().filter_map(|c| c.symbol.as_deref()).collect();
        distil(&Raw {
            kind,
            content: &self.text,
            title: self.title.as_deref(),
            scope: &self.scope,
            tags: &self.tags,
            files: &files,
            symbols: &symbols,
        })
    }

    /// A distilled text in at most `max` characters, masked once more: what was taken away between
    /// two words (`**`, a line break) may have hidden a secret from the first look.
    pub fn mask_distilled(&mut self, text: &str, max: usize) -> Sanitized {
        /// Masks may be longer than what they cover.
        const ROOM: usize = 64;
        let masked = mask(text);
        for find in &masked.finds {
            match self.masked.iter_mut().find(|known| known.category == find.category) {
                Some(known) => known.count += 1,
                None => self.masked.push(MaskedCount { category: find.category, count: 1 }),
            }
        }
        if masked.text.as_str().chars().count() <= max {
            return masked.text;
        }
        mask(&cut(masked.text.as_str(), max.saturating_sub(ROOM))).text
    }
}

/// Content, steps and address: what makes this record another one than its neighbour, and what
/// people search for.
fn whole_text(content: &str, steps: &[String], url: Option<&str>) -> String {
    let mut text = content.trim_end().to_owned();
    // A record that comes back from an export has its steps in its content already, distilled.
    let is_said =
        |step: &str| content.contains(step) || content.contains(&condense(step, MAX_CHARS));
    for (at, step) in steps.iter().enumerate().filter(|(_, step)| !is_said(step)) {
        text.push_str(&format!("\n{}. {}", at + 1, step.trim()));
    }
    if let Some(url) = url.filter(|url| !content.contains(*url)) {
        text.push_str(&format!("\n{url}"));
    }
    text
}

fn clean_citation(citation: &NewCitation, counts: &mut Counts) -> NewCitation {
    NewCitation {
        file: counts.mask(&citation.file),
        symbol: citation.symbol.as_ref().map(|symbol| counts.mask(symbol)),
        commit: citation.commit.as_ref().map(|commit| counts.mask(commit)),
        ..citation.clone()
    }
}

#[derive(Default)]
struct Counts(BTreeMap<&'static str, usize>);

impl Counts {
    fn mask(&mut self, text: &str) -> String {
        let masked = mask(text);
        for find in masked.finds {
            *self.0.entry(find.category).or_default() += 1;
        }
        masked.text.into_string()
    }

    fn mask_map(&mut self, map: &Map<String, Value>) -> Map<String, Value> {
        map.iter().map(|(key, value)| (self.mask(key), self.mask_value(key, value))).collect()
    }

    /// Masks a value in sight of its key: `{"password": "..."}` is a secret by its key alone.
    fn mask_value(&mut self, key: &str, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.mask_keyed(key, text)),
            Value::Array(items) => items.iter().map(|item| self.mask_value(key, item)).collect(),
            Value::Object(map) => Value::Object(self.mask_map(map)),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn mask_keyed(&mut self, key: &str, text: &str) -> String {
        let lead = format!("{key}: ");
        let beside = mask(&format!("{lead}{text}"));
        match beside.text.as_str().strip_prefix(&lead) {
            Some(value) if value != text => {
                for find in &beside.finds {
                    *self.0.entry(find.category).or_default() += 1;
                }
                value.to_owned()
            }
            _ => self.mask(text),
        }
    }

    fn into_list(self) -> Vec<MaskedCount> {
        self.0.into_iter().map(|(category, count)| MaskedCount { category, count }).collect()
    }
}

#[cfg(test)]
mod tests {
    use mc_domain::ProjectId;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_that_distilling_lays_open_is_masked_counted_and_kept_within_the_limit() {
        let request =
            SaveRequest::new(ProjectId::generate(), "local", RecordKind::Fact, "nothing to hide");
        let mut clean = Clean::of(&request);
        let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        let long = format!("{} {token}", "word ".repeat(400));
        let masked = clean.mask_distilled(&long, 2_000);
        assert!(!masked.as_str().contains(&token));
        assert!(masked.as_str().chars().count() <= 2_000);
        assert_eq!(clean.masked, [MaskedCount { category: "github-token", count: 1 }]);
    }

    #[test]
    fn every_text_of_a_request_is_masked_and_counted() {
        let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        let meta = json!({ "note": [{ "deep": token }], "n": 1 });
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
        let clean = Clean::of(&request);
        assert!(!format!("{clean:?}").contains(&token));
        assert_eq!(clean.masked, [MaskedCount { category: "github-token", count: 5 }]);
        assert_eq!(clean.meta["n"], 1);
        assert!(clean.text.contains("\n1. export T="), "{}", clean.text);
    }
}
