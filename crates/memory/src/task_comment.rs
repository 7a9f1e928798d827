//! The comment in a tracker that lists a task's records and dialogs: ids and titles that every
//! member may see. It is composed each time it is shown or posted, and posted only if its
//! digest equals that of the approved text and place.

use std::fmt::Write as _;

use mc_domain::{Policy, ProjectKey, Provider, TaskId};
use mc_store::Store;
use mc_store::task_comments::{self, Linked, LinkedDialog, LinkedRecord};
use sha2::{Digest as _, Sha256};

use crate::Error;
use crate::content_filter::{ContentFilter, ReviewStatus, filter_field_text, run_blocking};

/// Most records and most dialogs that are listed.
const LISTED_MAX: i64 = 10;
const TITLE_MAX_CHARS: usize = 120;
/// Beginning of each task comment, whatever heading the tracker adds.
const PREFIX: &str = "Memory Copilot: what the project ";

/// A task and its tracker.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Key of the project, which the comment names.
    pub project: &'a ProjectKey,
    /// Id of the task.
    pub task: TaskId,
    /// Id of the task in the tracker.
    pub external_id: &'a str,
    /// Kind of provider of the tracker, which decides the markup.
    pub tracker: Provider,
    /// Name of the connector.
    pub connector: &'a str,
    /// Resource that the project is integrated with.
    pub resource: &'a str,
}

/// A comment as it would be posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskCommentText {
    /// The text, masked.
    pub text: String,
    /// Digest of text and place, in hexadecimal: an approval for one tracker is none for another.
    pub digest: String,
    /// Whether it lists nothing.
    pub is_empty: bool,
}

/// Composes the comment as of now, the same for every caller.
pub async fn compose_comment(
    store: &Store,
    policy: &Policy,
    subject: Subject<'_>,
) -> Result<TaskCommentText, Error> {
    let linked = task_comments::linked(store, subject.task, LISTED_MAX).await?;
    let is_empty = linked.records.is_empty() && linked.dialogs.is_empty();
    let heading = heading(subject.project, subject.external_id);
    let (format, policy) = (Format::of(subject.tracker), policy.clone());
    let text = run_blocking(move || text(&policy, format, &heading, &linked)).await;
    let digest = digest(subject, &text);
    Ok(TaskCommentText { text, digest, is_empty })
}

fn digest(subject: Subject<'_>, text: &str) -> String {
    let Subject { connector: system, resource: what, .. } = subject;
    hex::encode(Sha256::digest(format!("{system}\0{what}\0{text}")))
}

/// Whether a comment is a task comment of any project, which is never ingested.
pub fn is_ours(comment: &str) -> bool {
    first_line(comment).starts_with(PREFIX)
}

/// Whether a comment is the task comment of this task.
pub fn is_of(comment: &str, project: &ProjectKey, external_id: &str) -> bool {
    first_line(comment) == heading(project, external_id)
}

/// Whether a comment has this text, apart from white space, which trackers change.
pub fn says(comment: &str, text: &str) -> bool {
    comment.split_whitespace().eq(text.split_whitespace())
}

fn first_line(comment: &str) -> &str {
    // Trackers with headings put these characters first.
    let comment = comment.trim_start_matches(|c: char| c == '#' || c.is_whitespace());
    comment.lines().next().unwrap_or_default().trim_end()
}

fn heading(project: &ProjectKey, external_id: &str) -> String {
    format!("{PREFIX}{project} knows of {external_id}")
}

/// Markup of a tracker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Markdown,
    /// Text that every markup renders alike, as those of Jira and Redmine vary.
    Plain,
}

impl Format {
    fn of(tracker: Provider) -> Self {
        match tracker {
            Provider::Github | Provider::Gitlab | Provider::Youtrack => Self::Markdown,
            Provider::Jira | Provider::Redmine | Provider::Confluence => Self::Plain,
        }
    }

    fn heading(self, text: &str) -> String {
        match self {
            Self::Markdown => format!("### {text}"),
            Self::Plain => text.to_owned(),
        }
    }

    /// Formats a title so that it has no markup and no mentions.
    fn title(self, title: &str) -> String {
        match self {
            Self::Markdown => format!("`{}`", title.replace('`', "'")),
            Self::Plain => {
                let is_markup = |c: char| "{}<>@#*|!~^\\`".contains(c);
                one_line(&title.replace(is_markup, " ").replace("](", "] ("))
            }
        }
    }
}

fn text(policy: &Policy, format: Format, heading: &str, linked: &Linked) -> String {
    let mut text = format!("{}\n", format.heading(heading));
    let record = |record| record_line(policy, format, record);
    let records: Vec<_> = linked.records.iter().map(record).collect();
    append(&mut text, "Records", &records, linked.record_count);
    let dialogs: Vec<_> = linked.dialogs.iter().map(dialog_line).collect();
    append(&mut text, "Dialogs", &dialogs, linked.dialog_count);
    if linked.records.is_empty() && linked.dialogs.is_empty() {
        text.push_str("\nNothing belongs to it any more.\n");
    }
    // Masks the joined text once more, as it leaves the service.
    ContentFilter::new(policy, ReviewStatus::Reviewed).filter_again(&text).into_string()
}

/// Appends a list under its heading, with the number of items left out.
fn append(text: &mut String, name: &str, lines: &[String], total: i64) {
    if lines.is_empty() {
        return;
    }
    let named = i64::try_from(lines.len()).unwrap_or(i64::MAX);
    // Writing into a `String` cannot fail.
    let _ = write!(text, "\n{name}:\n\n{}\n", lines.join("\n"));
    if total > named {
        let _ = writeln!(text, "- and {} more", total - named);
    }
}

fn record_line(policy: &Policy, format: Format, record: &LinkedRecord) -> String {
    let LinkedRecord { id, kind, title } = record;
    let title = one_line(&filter_field_text(policy, title));
    let title: String = title.chars().take(TITLE_MAX_CHARS).collect();
    if title.is_empty() {
        return format!("- {kind} {id}");
    }
    format!("- {} ({kind} {id})", format.title(&title))
}

fn dialog_line(dialog: &LinkedDialog) -> String {
    format!("- of {} ({})", dialog.sent_at.date_naive(), dialog.id)
}

fn one_line(text: &str) -> String {
    text.split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use mc_domain::{DialogId, RecordId};

    use super::*;

    fn linked(title: &str) -> Linked {
        let record =
            LinkedRecord { id: RecordId::generate(), kind: "fact".into(), title: title.into() };
        let sent_at = "2026-11-01T10:00:00Z".parse().expect("a time");
        Linked {
            records: vec![record],
            record_count: 12,
            dialogs: vec![LinkedDialog { id: DialogId::generate(), sent_at }],
            dialog_count: 1,
        }
    }

    fn written(tracker: Provider, linked: &Linked) -> String {
        let project = ProjectKey::parse("shop").expect("a key");
        text(&Policy::default(), Format::of(tracker), &heading(&project, "CS-214"), linked)
    }

    #[test]
    fn comment_lists_links_and_counts_the_rest() {
        let linked = linked("The delay is nil");
        let text = written(Provider::Github, &linked);
        let (record, dialog) = (linked.records[0].id, linked.dialogs[0].id);
        let expected = format!(
            "### Memory Copilot: what the project shop knows of CS-214\n\nRecords:\n\n\
             - `The delay is nil` (fact {record})\n- and 11 more\n\n\
             Dialogs:\n\n- of 2026-11-01 ({dialog})\n"
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn title_has_no_mentions_and_no_markup() {
        let linked = linked("`@vera`, see #12\nand [x](https://git.example.org/x)");
        let text = written(Provider::Gitlab, &linked);
        assert!(text.contains("- `'@vera', see #12 and [x](https"), "{text}");
        let text = written(Provider::Jira, &linked);
        assert!(text.contains("- vera , see 12 and [x] (https"), "{text}");
        assert!(text.starts_with(PREFIX), "{text}");
    }

    #[test]
    fn secret_in_a_title_is_masked() {
        let linked = linked("Rotate ghp_16C7e42F292c6912E7710c838347Ae178B4a");
        for tracker in [Provider::Youtrack, Provider::Redmine] {
            let text = written(tracker, &linked);
            assert!(!text.contains("ghp_") && text.contains("secret:github-token"), "{text}");
        }
    }

    #[test]
    fn digest_differs_for_another_tracker() {
        let project = ProjectKey::parse("shop").expect("a key");
        let subject = Subject {
            project: &project,
            task: TaskId::generate(),
            external_id: "CS-214",
            tracker: Provider::Jira,
            connector: "internal",
            resource: "CS",
        };
        let elsewhere = Subject { connector: "customers", ..subject };
        let other_space = Subject { resource: "OPS", ..subject };
        let sums = [subject, elsewhere, other_space].map(|subject| digest(subject, "Known."));
        assert!(sums[0] != sums[1] && sums[0] != sums[2], "{sums:?}");
        assert_ne!(digest(subject, "Known. More."), sums[0]);
    }

    #[test]
    fn text_matches_despite_changed_white_space() {
        let text = written(Provider::Redmine, &linked("T"));
        assert!(says(&text.replace('\n', " \r\n"), &text) && says(text.trim(), &text));
        assert!(!says(&text.replace("Records", "Things"), &text));
    }

    #[test]
    fn task_comment_is_recognized_and_a_quote_of_it_is_not() {
        let project = ProjectKey::parse("shop").expect("a key");
        for tracker in [Provider::Github, Provider::Jira] {
            let text = written(tracker, &linked("T"));
            assert!(is_ours(&text) && is_of(&text, &project, "CS-214"));
            assert!(!is_of(&text, &project, "CS-21"));
            assert!(!is_ours(&format!("> {text}\n\nReally?")));
        }
        assert!(is_ours("\r\n## Memory Copilot: what the project other knows of X-1\r\n"));
    }
}
