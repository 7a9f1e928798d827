//! A conversation (an issue with its comments, a chat's thread) as a document: one passage for each
//! message, read with what was said before it.

use chrono::{DateTime, Utc};
use mc_sanitizer::{Policy, Sanitized, mask_with};
use mc_store::docs::{MessageSpan, NewDoc};
use mc_store::passages::NewPassage;

use crate::chunker::Limits;
use crate::document::{Page, Piece, assemble};
use crate::markdown::{self, Section};

/// Messages before a message that it is read with: an answer without its question says little.
const BEFORE: usize = 2;
/// What is taken of each of them, in characters.
const MAX_BEFORE: usize = 600;

/// A message.
#[derive(Debug, Clone)]
pub struct Message {
    /// Who wrote it; may be empty.
    pub author: String,
    /// When.
    pub sent_at: Option<DateTime<Utc>>,
    /// Markdown or plain text.
    pub text: Sanitized,
}

/// Cuts a conversation; `page.content` is made of the messages. `sanitizing` is what they were
/// masked by.
pub fn cut(
    mut page: Page,
    messages: &[Message],
    limits: Limits,
    sanitizing: &Policy,
) -> (NewDoc, Vec<NewPassage>) {
    let said: Vec<String> = messages.iter().map(said).collect();
    page.content = mask_with(&said.join("\n\n"), sanitizing).text;
    let mut pieces = Vec::with_capacity(messages.len());
    let mut line = 0;
    for (at, message) in messages.iter().enumerate() {
        let context = context(message, &said[at.saturating_sub(BEFORE)..at], sanitizing);
        for section in markdown::parse(&said[at], limits).sections {
            let section = below(section, line);
            let (author, context) = (message.author.clone(), context.clone());
            pieces.push(Piece { section, author, context });
        }
        // A blank line stands between messages.
        line += said[at].split('\n').count() + 1;
    }
    assemble(page, pieces, sanitizing)
}

/// What the text of a conversation does not say of its messages.
pub fn turns(messages: &[Message]) -> Vec<MessageSpan> {
    let turn = |message: &Message| MessageSpan {
        author: message.author.clone(),
        sent_at: message.sent_at,
        lines: said(message).split('\n').count(),
    };
    messages.iter().map(turn).collect()
}

/// The messages that a conversation's text was made of; `None` where that is not a text of these
/// turns.
pub fn messages(content: &str, turns: &[MessageSpan]) -> Option<Vec<Message>> {
    let mut lines = content.split('\n');
    let mut messages = Vec::with_capacity(turns.len());
    for (at, turn) in turns.iter().enumerate() {
        // A blank line stands between messages.
        if at > 0 && lines.next() != Some("") {
            return None;
        }
        let said: Vec<&str> = lines.by_ref().take(turn.lines).collect();
        if said.len() < turn.lines {
            return None;
        }
        messages.push(heard(&said.join("\n"), turn)?);
    }
    lines.next().is_none().then_some(messages)
}

/// The message that was [`said`].
fn heard(said: &str, turn: &MessageSpan) -> Option<Message> {
    let author = turn.author.as_str();
    let text =
        if author.is_empty() { said } else { said.strip_prefix(author)?.strip_prefix(": ")? };
    let text = Sanitized::stored(text.to_owned());
    Some(Message { author: author.to_owned(), sent_at: turn.sent_at, text })
}

fn said(message: &Message) -> String {
    let text = crate::text::normalize(message.text.as_str());
    if message.author.is_empty() { text } else { format!("{}: {text}", message.author) }
}

/// When the message was sent, as people write dates, and what was said before.
fn context(message: &Message, before: &[String], sanitizing: &Policy) -> Sanitized {
    let sent = message.sent_at.map(|at| at.format("%-d %B %Y, %H:%M").to_string());
    let before = before.iter().map(|said| said.chars().take(MAX_BEFORE).collect());
    let context = sent.into_iter().chain(before).collect::<Vec<String>>().join("\n");
    mask_with(&context, sanitizing).text
}

/// The section with its lines counted from the top of the conversation.
fn below(section: Section, lines: usize) -> Section {
    let (line_start, line_end) = (section.line_start + lines, section.line_end + lines);
    Section { line_start, line_end, ..section }
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
        let page = Page::of_file("issues", "SHOP-7", Sanitized::default());
        cut(page, messages, Limits::default(), &Policy::default())
    }

    #[test]
    fn each_message_is_a_passage_read_with_the_two_before_it() {
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
    fn the_lines_of_a_passage_are_those_of_its_message_in_the_whole() {
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
    fn a_text_and_its_turns_are_cut_as_the_messages_were() {
        let said = [
            message("Ann", Some("2026-03-05T09:07:00Z"), "one\r\n\n# A heading\n\ntwo\n"),
            message("", None, ""),
            message("Bo: jr", None, "three"),
        ];
        let (doc, passages) = cut_of(&said);
        let turns = turns(&said);
        let heard = messages(doc.content.as_str(), &turns).unwrap();
        let (again, passages_again) = cut_of(&heard);
        assert_eq!(again.content.as_str(), doc.content.as_str());
        assert_eq!(format!("{passages_again:?}"), format!("{passages:?}"));

        assert!(messages(doc.content.as_str(), &turns[1..]).is_none());
        assert!(messages(&format!("{}\nmore", doc.content.as_str()), &turns).is_none());
        assert!(messages("Ann: one", &turns).is_none());
    }

    #[test]
    fn a_long_message_is_shortened_when_it_is_only_context() {
        let long = "слово ".repeat(MAX_BEFORE);
        let (_, passages) = cut_of(&[message("", None, &long), message("", None, "Yes.")]);
        let last = passages.last().unwrap();
        assert_eq!(last.text.as_str(), "Yes.");
        assert_eq!(last.context.as_str().chars().count(), MAX_BEFORE);
        assert!(passages.len() > 2, "a long message is several passages");
    }
}
