//! Masking: replaces findings by placeholders.

use crate::{Class, Finding, Sanitized};

/// A masked text with its findings.
#[derive(Debug, Clone, PartialEq)]
pub struct Masked {
    /// The text with a placeholder for each finding.
    pub text: Sanitized,
    /// The findings, in text order, without overlaps.
    pub findings: Vec<Finding>,
}

/// The category of a text that was masked as a whole.
const UNSTABLE: &str = "unstable-text";

/// Maximum number of passes. Masking one secret can uncover the next, because it ends a word.
/// Ordinary text is stable after two passes; a text that is not after this many was crafted to be
/// slow.
const MAX_PASSES: usize = 8;

/// Replaces the findings of `find` until a pass finds none.
pub(crate) fn until_stable(text: &str, find: impl Fn(&str) -> Vec<Finding>) -> Masked {
    let mut masked = text.to_owned();
    let mut findings: Vec<Finding> = Vec::new();
    for _ in 0..MAX_PASSES {
        let found = find(&masked);
        if found.is_empty() {
            return Masked { text: Sanitized::masked(masked), findings };
        }
        findings = merged(text, findings, found);
        masked = replace(text, &findings);
    }
    let whole =
        Finding { class: Class::Secret, category: UNSTABLE, span: 0..text.len(), confidence: 0.5 };
    let dropped = replace(text, std::slice::from_ref(&whole));
    Masked { text: Sanitized::masked(dropped), findings: vec![whole] }
}

/// Returns `text` with each finding replaced by its placeholder.
fn replace(text: &str, findings: &[Finding]) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut kept_to = 0;
    for finding in findings {
        masked.push_str(&text[kept_to..finding.span.start]);
        push_replacement(&mut masked, text, finding);
        kept_to = finding.span.end;
    }
    masked.push_str(&text[kept_to..]);
    masked
}

/// Appends a placeholder. The finding's line breaks follow it, so that line numbers stay the same.
fn push_replacement(masked: &mut String, text: &str, finding: &Finding) {
    masked.push('[');
    masked.push_str(finding.class.as_str());
    masked.push(':');
    masked.push_str(finding.category);
    masked.push(']');
    masked.extend(text[finding.span.clone()].chars().filter(|c| matches!(c, '\n' | '\r')));
}

/// Merges the findings of earlier passes, whose spans are in `text`, with those of the last pass,
/// whose spans are in the text as masked by the earlier ones. The result is in bytes of `text`.
///
/// No finding touches a placeholder, so the ends of a new span are in unchanged text and shift by
/// the length that the replacements before it added.
fn merged(text: &str, earlier: Vec<Finding>, found: Vec<Finding>) -> Vec<Finding> {
    let mut all = Vec::with_capacity(earlier.len() + found.len());
    let mut earlier = earlier.into_iter().peekable();
    // Bytes of `text`, and of the masked text, up to which both have been walked.
    let (mut original, mut masked) = (0, 0);
    for finding in found {
        while let Some(before) =
            earlier.next_if(|e| masked + (e.span.start - original) <= finding.span.start)
        {
            let mut replacement = String::new();
            push_replacement(&mut replacement, text, &before);
            masked += before.span.start - original + replacement.len();
            original = before.span.end;
            all.push(before);
        }
        let start = original + (finding.span.start - masked);
        let span = start..start + finding.span.len();
        all.push(Finding { span, ..finding });
    }
    all.extend(earlier);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mask;

    const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

    #[test]
    fn finding_has_the_span_of_the_original_text() {
        let text = format!("naïve: {TOKEN}, then {TOKEN}.");
        let masked = mask(&text);
        assert_eq!(
            masked.text.as_str(),
            "naïve: [secret:github-token], then [secret:github-token]."
        );
        for finding in &masked.findings {
            assert_eq!(&text[finding.span.clone()], TOKEN);
        }
    }

    #[test]
    fn later_passes_are_mapped_back_to_the_original() {
        let text = format!("a {TOKEN} b {TOKEN} c\n");
        let finding = |category: &'static str, start: usize| Finding {
            class: Class::Secret,
            category,
            span: start..start + TOKEN.len(),
            confidence: 1.0,
        };
        let first = finding("first", 2);
        let masked = replace(&text, std::slice::from_ref(&first));
        let at = masked.find(TOKEN).expect("the second token is left");
        let all = merged(&text, vec![first], vec![finding("second", at)]);
        assert_eq!(all.len(), 2);
        assert_eq!(&text[all[1].span.clone()], TOKEN);
        assert!(all[1].span.start > all[0].span.end);
    }

    #[test]
    fn text_without_secrets_is_untouched() {
        let text = "The token of a commit is its hash: 9fceb02d0ae598e95dc970b74767f19372d61af8.";
        assert_eq!(mask(text), Masked { text: Sanitized::masked(text.into()), findings: vec![] });
    }
}
