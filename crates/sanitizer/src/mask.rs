//! From finds to masked text.

use crate::{Class, Finding, Sanitized};

/// A text without its secrets, and where they were.
#[derive(Debug, Clone, PartialEq)]
pub struct Masked {
    /// The text with a placeholder in place of each find.
    pub text: Sanitized,
    /// In the order of the text, not overlapping.
    pub finds: Vec<Finding>,
}

/// The category of a text that had to be dropped as a whole.
const UNSTABLE: &str = "unstable-text";

/// Masking one secret can uncover the next (it ends a word that the other one needed to end).
/// Honest text settles in two passes; one that has not settled after this many was made to be slow.
const MAX_PASSES: usize = 8;

/// Replaces what `find` finds, and what it finds after that, until it finds no more.
pub(crate) fn until_stable(text: &str, find: impl Fn(&str) -> Vec<Finding>) -> Masked {
    let mut masked = text.to_owned();
    let mut finds: Vec<Finding> = Vec::new();
    for _ in 0..MAX_PASSES {
        let found = find(&masked);
        if found.is_empty() {
            return Masked { text: Sanitized::masked(masked), finds };
        }
        finds = merged(text, finds, found);
        masked = replace(text, &finds);
    }
    let whole =
        Finding { class: Class::Secret, category: UNSTABLE, span: 0..text.len(), confidence: 0.5 };
    let dropped = replace(text, std::slice::from_ref(&whole));
    Masked { text: Sanitized::masked(dropped), finds: vec![whole] }
}

/// `text` with each find replaced by its placeholder.
fn replace(text: &str, finds: &[Finding]) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut kept_to = 0;
    for find in finds {
        masked.push_str(&text[kept_to..find.span.start]);
        push_replacement(&mut masked, text, find);
        kept_to = find.span.end;
    }
    masked.push_str(&text[kept_to..]);
    masked
}

/// A find's line breaks stay, behind its placeholder, so that line numbers keep their meaning.
fn push_replacement(masked: &mut String, text: &str, find: &Finding) {
    masked.push('[');
    masked.push_str(find.class.as_str());
    masked.push(':');
    masked.push_str(find.category);
    masked.push(']');
    masked.extend(text[find.span.clone()].chars().filter(|c| matches!(c, '\n' | '\r')));
}

/// The finds of earlier passes (in bytes of `text`) and those of the last one (in bytes of the text
/// as masked by the earlier ones), all in bytes of `text` and in its order.
///
/// A scan never answers a span that touches a placeholder, so each end of a new span stands in text
/// that was kept, and shifts by what the replacements before it added.
fn merged(text: &str, earlier: Vec<Finding>, found: Vec<Finding>) -> Vec<Finding> {
    let mut all = Vec::with_capacity(earlier.len() + found.len());
    let mut earlier = earlier.into_iter().peekable();
    // Bytes of `text`, and of the masked text, up to which both have been walked.
    let (mut original, mut masked) = (0, 0);
    for find in found {
        while let Some(before) =
            earlier.next_if(|e| masked + (e.span.start - original) <= find.span.start)
        {
            let mut replacement = String::new();
            push_replacement(&mut replacement, text, &before);
            masked += before.span.start - original + replacement.len();
            original = before.span.end;
            all.push(before);
        }
        let start = original + (find.span.start - masked);
        let span = start..start + find.span.len();
        all.push(Finding { span, ..find });
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
    fn a_find_names_the_bytes_of_the_original() {
        let text = format!("naïve: {TOKEN}, then {TOKEN}.");
        let masked = mask(&text);
        assert_eq!(
            masked.text.as_str(),
            "naïve: [secret:github-token], then [secret:github-token]."
        );
        for find in &masked.finds {
            assert_eq!(&text[find.span.clone()], TOKEN);
        }
    }

    #[test]
    fn a_later_pass_is_mapped_back_to_the_original() {
        let text = format!("a {TOKEN} b {TOKEN} c\n");
        let find = |category: &'static str, start: usize| Finding {
            class: Class::Secret,
            category,
            span: start..start + TOKEN.len(),
            confidence: 1.0,
        };
        let first = find("first", 2);
        let masked = replace(&text, std::slice::from_ref(&first));
        let at = masked.find(TOKEN).expect("the second token is left");
        let all = merged(&text, vec![first], vec![find("second", at)]);
        assert_eq!(all.len(), 2);
        assert_eq!(&text[all[1].span.clone()], TOKEN);
        assert!(all[1].span.start > all[0].span.end);
    }

    #[test]
    fn text_without_secrets_is_untouched() {
        let text = "The token of a commit is its hash: 9fceb02d0ae598e95dc970b74767f19372d61af8.";
        assert_eq!(mask(text), Masked { text: Sanitized::masked(text.into()), finds: vec![] });
    }
}
