//! Compression of the history: its newest messages within a limit of tokens, and a query that is
//! understood without it.

use std::sync::LazyLock;

use mc_contract::operations::rag::{HISTORY_TOKENS, HistoryMessage};
use mc_domain::MessageRole;
use serde_json::json;

use crate::models::{ModelFailure, Models, TextTask, neutralized};
use crate::multi_query::names;

/// Bytes of the messages that are masked and counted: more than the tokens of any usual text have.
/// Longer ones would keep a thread busy.
const BYTES_MAX: usize = HISTORY_TOKENS * 16;
/// Tokens from which a part of a message is worth showing.
const PART_TOKENS_MIN: usize = 32;
/// Names of the history that complete a query without a model.
const NAMES_MAX: usize = 8;
/// Messages that names are taken from: the newest ones.
const NAMED_MESSAGES: usize = 2;
/// Most characters of a completed query.
const QUERY_MAX_CHARS: usize = 1_000;

static TASK: LazyLock<TextTask> = LazyLock::new(|| {
    TextTask::new(include_str!("../prompts/complete.txt"), "query", QUERY_MAX_CHARS)
});

/// The newest messages of a conversation, oldest first, masked.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct History {
    pub messages: Vec<(MessageRole, String)>,
    /// Whether older messages, or parts of one, were left out.
    pub is_cut: bool,
}

/// Returns the newest messages within [`HISTORY_TOKENS`], each masked. Of the first one that does
/// not fit, the beginning is kept.
pub(crate) fn newest(history: &[HistoryMessage], mask: impl Fn(&str) -> String) -> History {
    let spoken = history
        .iter()
        .filter(|message| matches!(message.role, MessageRole::User | MessageRole::Assistant));
    let (mut tokens_left, mut bytes_left) = (HISTORY_TOKENS, BYTES_MAX);
    let mut newest = History::default();
    for message in spoken.rev() {
        let whole = message.content.as_str();
        let start = whole_words(whole, bytes_left);
        bytes_left -= start.len();
        let text = mask(start);
        let tokens = mc_tokens::count_up_to(&text, tokens_left);
        newest.is_cut = tokens.is_none() || start.len() < whole.len();
        let text = if tokens.is_some() { &text } else { beginning(&text, tokens_left) };
        if !text.is_empty() {
            newest.messages.push((message.role, text.to_owned()));
        }
        if newest.is_cut {
            break;
        }
        // It fits, or this was the last message.
        tokens_left -= tokens.unwrap_or_default();
    }
    newest.messages.reverse();
    newest
}

/// Returns the beginning of a text, at most `max_bytes`, up to the end of a word: a half of a
/// secret would not be masked.
fn whole_words(text: &str, max_bytes: usize) -> &str {
    if text.len() <= max_bytes {
        return text;
    }
    without_last_word(&text[..text.floor_char_boundary(max_bytes)])
}

/// Returns a text up to its last space: its last word may be a part of one.
fn without_last_word(text: &str) -> &str {
    text.rfind(char::is_whitespace).map_or("", |end| &text[..end])
}

/// Returns the first words of a text within a limit of tokens; nothing if the limit is too low for
/// a useful part.
fn beginning(text: &str, max_tokens: usize) -> &str {
    if max_tokens < PART_TOKENS_MIN {
        return "";
    }
    let (fitting, rest) = text.split_at(mc_tokens::fitting(text, max_tokens));
    // A token may be a part of a word.
    let ends_with_word = rest.starts_with(char::is_whitespace);
    let words = if ends_with_word { fitting } else { without_last_word(fitting) };
    words.trim_end()
}

impl History {
    /// Returns the query with the names of the newest messages that it lacks; `None` if there are
    /// none. It needs no model.
    pub fn with_names(&self, query: &str) -> Option<String> {
        let newest = self.messages.iter().rev().take(NAMED_MESSAGES);
        let mut missing: Vec<String> = Vec::new();
        for name in newest.flat_map(|(_, text)| names(text)) {
            if !query.contains(&name) && !missing.contains(&name) && missing.len() < NAMES_MAX {
                missing.push(name);
            }
        }
        (!missing.is_empty()).then(|| format!("{query} {}", missing.join(" ")))
    }

    /// Asks a model for the query as it is understood without the conversation.
    pub async fn completed(&self, models: &Models, query: &str) -> Result<String, ModelFailure> {
        let message =
            |(role, text): &(MessageRole, String)| json!({"role": role, "text": neutralized(text)});
        let conversation: Vec<_> = self.messages.iter().map(message).collect();
        let data = json!({"question": neutralized(query), "conversation": conversation});
        models.ask_text(&TASK, &data).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(texts: &[(&str, &str)]) -> Vec<HistoryMessage> {
        let message = |(role, content): &(&str, &str)| json!({"role": role, "content": content});
        let messages: Vec<_> = texts.iter().map(message).collect();
        serde_json::from_value(json!(messages)).expect("messages")
    }

    fn masked(text: &str) -> String {
        mc_sanitizer::mask(text).text.into_string()
    }

    fn tokens(history: &History) -> usize {
        history.messages.iter().map(|(_, text)| mc_tokens::count(text)).sum()
    }

    #[test]
    fn newest_messages_are_kept_in_their_order() {
        let messages = history(&[("user", "first"), ("system", "rules"), ("assistant", "second")]);
        let newest = newest(&messages, masked);
        let texts: Vec<_> = newest.messages.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!((texts.as_slice(), newest.is_cut), (["first", "second"].as_slice(), false));
    }

    #[test]
    fn long_history_is_cut_to_its_limit() {
        let long = "the delay of the cart trigger is computed in minutes ".repeat(60);
        let messages: Vec<_> = (0..8).map(|_| ("user", long.as_str())).collect();
        let newest = newest(&history(&messages), masked);
        assert!(newest.is_cut);
        let tokens = tokens(&newest);
        assert!((HISTORY_TOKENS - 20..=HISTORY_TOKENS).contains(&tokens), "{tokens}");
        assert!(
            long.starts_with(&newest.messages[0].1) && newest.messages[1].1.len() == long.len()
        );
    }

    #[test]
    fn text_that_is_masked_is_limited() {
        let read = std::cell::Cell::new(0);
        let counted = |text: &str| {
            read.set(read.get() + text.len());
            masked(text)
        };
        // Spaces have few tokens, and one word of any length is left out: it may be a secret.
        let (spaces, word) = (format!("a{}b", " ".repeat(20_000)), "é".repeat(15_000));
        for texts in [[spaces.as_str(); 90], [word.as_str(); 90]] {
            read.set(0);
            let messages: Vec<_> = texts.iter().map(|text| ("user", *text)).collect();
            let newest = newest(&history(&messages), counted);
            assert!(newest.is_cut && tokens(&newest) <= HISTORY_TOKENS);
            assert!(read.get() <= BYTES_MAX, "{}", read.get());
        }
    }

    #[test]
    fn query_gets_the_names_that_it_lacks() {
        let messages = history(&[
            ("user", "see old_name in lib/old.rb"),
            ("user", "Where is CartSessions::Setting used?"),
            ("assistant", "In app/models/cart.rb, by trigger_delay."),
        ]);
        let newest = newest(&messages, masked);
        let query = newest.with_names("and trigger_delay?").expect("names");
        assert_eq!(query, "and trigger_delay? app/models/cart.rb CartSessions::Setting");
        assert_eq!(History::default().with_names("x"), None);
    }

    #[test]
    fn secret_of_the_history_is_masked() {
        let secret = ["ghp", "_0123456789abcdefghijABCDEFGHIJ456789"].concat();
        let messages = history(&[("user", &format!("the token is {secret}"))]);
        let newest = newest(&messages, masked);
        assert!(!newest.messages[0].1.contains(&secret), "{newest:?}");
    }
}
