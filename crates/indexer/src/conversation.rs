//! Conversations as documents, such as an issue with its comments or a chat thread. Each message is
//! a passage, with the previous messages as its context. A conversation of too many, very short
//! messages or sections is split by size alone.

use chrono::{DateTime, Utc};
use mc_sanitizer::{Policy, Sanitized, mask_with};
use mc_store::docs::{MessageSpan, NewDoc};
use mc_store::passages::NewPassage;

use crate::chunker::Limits;
use crate::document::{Page, Piece, assemble};
use crate::markdown::{self, Document, Section};

/// Previous messages in the context of a message: a reply means little without its question.
const CONTEXT_MESSAGES: usize = 2;
/// Maximum length of each previous message in the context, in characters.
const CONTEXT_MESSAGE_MAX: usize = 600;
/// Minimum average size of a message with its author, in bytes. A conversation with a smaller
/// average, and more than a few messages, is split by size.
const MIN_MESSAGE_BYTES: usize = 16;

/// Message of a conversation.
#[derive(Debug, Clone)]
pub struct Message {
    /// Author; may be empty.
    pub author: String,
    /// Time of sending, if known.
    pub sent_at: Option<DateTime<Utc>>,
    /// Markdown or plain text.
    pub text: Sanitized,
}

/// Splits a conversation into passages, and sets `page.content` to the text of all messages.
/// `sanitizing` is the policy that masked them.
pub fn cut(
    mut page: Page,
    messages: &[Message],
    limits: Limits,
    sanitizing: &Policy,
) -> (NewDoc, Vec<NewPassage>) {
    let texts: Vec<String> = messages.iter().map(message_text).collect();
    page.content = mask_with(&texts.join("\n\n"), sanitizing).text;
    let pieces = by_message(messages, &texts, limits, sanitizing)
        .unwrap_or_else(|| by_size(page.content.as_str(), limits));
    assemble(page, pieces, sanitizing)
}

/// Returns the sections of each message with its context; `None` if there are too many.
fn by_message(
    messages: &[Message],
    texts: &[String],
    limits: Limits,
    sanitizing: &Policy,
) -> Option<Vec<Piece>> {
    let bytes: usize = texts.iter().map(String::len).sum();
    if messages.len() > (bytes / MIN_MESSAGE_BYTES).max(markdown::MIN_SECTION_LIMIT) {
        return None;
    }
    let max = messages.len() + markdown::max_sections(bytes);
    let mut pieces = Vec::with_capacity(messages.len());
    let mut line = 0;
    let texts_of_messages: Vec<&str> = texts.iter().map(String::as_str).collect();
    let parsed = markdown::parse_all(&texts_of_messages, limits);
    for (index, (message, Document { sections, .. })) in messages.iter().zip(parsed).enumerate() {
        if pieces.len() + sections.len() > max {
            return None;
        }
        let previous = &texts[index.saturating_sub(CONTEXT_MESSAGES)..index];
        let context = context(message, previous, sanitizing);
        for section in sections {
            // Relative to the top of the conversation.
            let (line_start, line_end) = (section.line_start + line, section.line_end + line);
            let section = Section { line_start, line_end, ..section };
            let (author, context) = (message.author.clone(), context.clone());
            pieces.push(Piece { section, author, context });
        }
        // A blank line separates messages.
        line += texts[index].split('\n').count() + 1;
    }
    Some(pieces)
}

/// Splits the text of all messages by size. The text contains the authors.
fn by_size(content: &str, limits: Limits) -> Vec<Piece> {
    let piece = |section| Piece { section, author: String::new(), context: Sanitized::default() };
    markdown::split_by_size(content, limits).into_iter().map(piece).collect()
}

/// Returns the author, time and number of lines of each message, which the document's text lacks.
pub fn message_spans(messages: &[Message]) -> Vec<MessageSpan> {
    let span = |message: &Message| MessageSpan {
        author: message.author.clone(),
        sent_at: message.sent_at,
        lines: message_text(message).split('\n').count(),
    };
    messages.iter().map(span).collect()
}

/// Restores the messages from a conversation's text; `None` if the text does not match the spans.
pub fn messages(content: &str, spans: &[MessageSpan]) -> Option<Vec<Message>> {
    let mut lines = content.split('\n');
    let mut messages = Vec::with_capacity(spans.len());
    for (index, span) in spans.iter().enumerate() {
        // A blank line separates messages.
        if index > 0 && lines.next() != Some("") {
            return None;
        }
        let text: Vec<&str> = lines.by_ref().take(span.lines).collect();
        if text.len() < span.lines {
            return None;
        }
        messages.push(parse_message(&text.join("\n"), span)?);
    }
    lines.next().is_none().then_some(messages)
}

/// Restores a message from its [`message_text`].
fn parse_message(text: &str, span: &MessageSpan) -> Option<Message> {
    let author = span.author.as_str();
    let text =
        if author.is_empty() { text } else { text.strip_prefix(author)?.strip_prefix(": ")? };
    let text = Sanitized::stored(text.to_owned());
    Some(Message { author: author.to_owned(), sent_at: span.sent_at, text })
}

fn message_text(message: &Message) -> String {
    let text = crate::text::normalize(message.text.as_str());
    if message.author.is_empty() { text } else { format!("{}: {text}", message.author) }
}

/// Returns the date of the message, as people write dates, and the previous messages.
fn context(message: &Message, previous: &[String], sanitizing: &Policy) -> Sanitized {
    let sent = message.sent_at.map(|at| at.format("%-d %B %Y, %H:%M").to_string());
    let previous = previous.iter().map(|text| text.chars().take(CONTEXT_MESSAGE_MAX).collect());
    let context = sent.into_iter().chain(previous).collect::<Vec<String>>().join("\n");
    mask_with(&context, sanitizing).text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn message(author: &str, sent_at: Option<&str>, text: &str) -> Message {
        Message {
            author: author.into(),
            sent_at: sent_at.map(|at| at.parse().unwrap()),
            text: mc_sanitizer::mask(text).text,
        }
    }

    fn cut_of(messages: &[Message]) -> (NewDoc, Vec<NewPassage>) {
        let page = Page { source: "issues".into(), doc_id: "SHOP-7".into(), ..Page::default() };
        cut(page, messages, Limits::default(), &Policy::default())
    }

    #[test]
    fn each_message_is_a_passage_with_two_messages_of_context() {
        let (_, passages) = cut_of(&[
            message("Ann", None, "The import stops."),
            message("Bo", None, "At which row?"),
            message("Ann", Some("2026-03-05T09:07:00Z"), "At 4,096."),
            message("", None, "Closed."),
        ]);
        let contexts: Vec<_> = passages.iter().map(|p| p.context.as_str()).collect();
        assert_eq!(
            contexts,
            [
                "",
                "Ann: The import stops.",
                "5 March 2026, 09:07\nAnn: The import stops.\nBo: At which row?",
                "Bo: At which row?\nAnn: At 4,096.",
            ]
        );
        let authors: Vec<_> = passages.iter().map(|p| p.author.as_str()).collect();
        assert_eq!(authors, ["Ann", "Bo", "Ann", ""]);
    }

    #[test]
    fn passage_has_the_line_numbers_of_the_conversation() {
        let messages = [
            message("Ann", None, "one\n\ntwo"),
            message("Bo", None, "# A heading\n\nthree"),
            message("Ann", None, "four"),
        ];
        let (doc, passages) = cut_of(&messages);
        let lines: Vec<&str> = doc.content.as_str().lines().collect();
        assert!(passages.len() >= messages.len());
        for passage in &passages {
            let (from, to) = passage.lines.unwrap();
            let (from, to) = (usize::try_from(from).unwrap(), usize::try_from(to).unwrap());
            let first = passage.text.as_str().lines().next().unwrap();
            assert_eq!(lines[from - 1], first, "{passage:?}");
            assert!(to <= lines.len() && from <= to);
        }
    }

    #[test]
    fn text_and_spans_restore_the_messages() {
        let original = [
            message("Ann", Some("2026-03-05T09:07:00Z"), "one\r\n\n# A heading\n\ntwo\n"),
            message("", None, ""),
            message("Bo: jr", None, "three"),
        ];
        let (doc, passages) = cut_of(&original);
        let spans = message_spans(&original);
        let restored = messages(doc.content.as_str(), &spans).unwrap();
        let (restored_doc, restored_passages) = cut_of(&restored);
        assert_eq!(restored_doc.content.as_str(), doc.content.as_str());
        assert_eq!(format!("{restored_passages:?}"), format!("{passages:?}"));

        assert!(messages(doc.content.as_str(), &spans[1..]).is_none());
        assert!(messages(&format!("{}\nmore", doc.content.as_str()), &spans).is_none());
        assert!(messages("Ann: one", &spans).is_none());
    }

    /// Bytes of the passages' texts and contexts.
    fn bytes_of(passages: &[NewPassage]) -> usize {
        passages.iter().map(|p| p.text.as_str().len() + p.context.as_str().len()).sum()
    }

    #[test]
    fn very_short_messages_are_joined() {
        let short = |count| vec![message("", None, "a"); count];
        let (_, passages) = cut_of(&short(markdown::MIN_SECTION_LIMIT));
        assert_eq!(passages.len(), markdown::MIN_SECTION_LIMIT);
        let (doc, passages) = cut_of(&short(500));
        assert!(passages.len() < 10, "{}", passages.len());
        assert!(passages.iter().all(|p| p.context.as_str().is_empty()));
        let words = passages.iter().flat_map(|p| p.text.as_str().split_whitespace());
        assert_eq!(words.count(), 500);
        let last = usize::try_from(passages.last().unwrap().lines.unwrap().1).unwrap();
        assert_eq!(last, doc.content.as_str().lines().count());
    }

    #[test]
    fn short_messages_of_a_chat_are_passages() {
        let chat = vec![message("Ann", None, "It is done."); 500];
        assert_eq!(cut_of(&chat).1.len(), 500);
    }

    #[test]
    fn short_sections_of_messages_get_no_context_each() {
        let question = message("", None, &"word ".repeat(200));
        // As many sections as one message may have, in each of many messages.
        let sections = "# a\nb\n".repeat(markdown::MIN_SECTION_LIMIT);
        let messages: Vec<_> = (0..40)
            .flat_map(|_| [question.clone(), question.clone(), message("", None, &sections)])
            .collect();
        let (doc, passages) = cut_of(&messages);
        let bytes = doc.content.as_str().len();
        assert!(bytes_of(&passages) <= 2 * bytes, "{} of {bytes}", bytes_of(&passages));
        assert!(passages.len() <= markdown::max_sections(bytes), "{}", passages.len());
    }

    #[test]
    fn long_message_is_shortened_in_the_context() {
        let long = "слово ".repeat(CONTEXT_MESSAGE_MAX);
        let (_, passages) = cut_of(&[message("", None, &long), message("", None, "Yes.")]);
        let last = passages.last().unwrap();
        assert_eq!(last.text.as_str(), "Yes.");
        assert_eq!(last.context.as_str().chars().count(), CONTEXT_MESSAGE_MAX);
        assert!(passages.len() > 2, "a long message is several passages");
    }
}
