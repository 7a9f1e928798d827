//! The comment that tells a task's tracker which records and dialogs belong to it: ids and titles
//! of what everybody in the project may see, and nothing else. It is made anew whenever it is shown
//! or written, so that what a person has agreed to, known by a sum of it and of where it goes, is
//! what is written, and written there, or nothing is.

use std::fmt::Write as _;

use mc_domain::{Policy, ProjectKey, Provider, TaskId};
use mc_store::Store;
use mc_store::task_comments::{self, Linked, LinkedDialog, LinkedRecord};
use sha2::{Digest as _, Sha256};

use crate::Error;
use crate::content_filter::{ContentFilter, ReviewStatus, filter_field_text, run_blocking};

/// So many records, and so many dialogs, are named.
const NAMED: i64 = 10;
/// Characters of a title.
const TITLE: usize = 120;
/// How each of our comments begins, whatever the tracker makes of a heading.
const OURS: &str = "Memory Copilot: what the project ";

/// Which task, and where it is.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The key of its project.
    pub project: &'a ProjectKey,
    /// The task.
    pub task: TaskId,
    /// The tracker's own id of it.
    pub external_id: &'a str,
    /// Which tracker that is.
    pub tracker: Provider,
    /// The operator's name for it.
    pub connector: &'a str,
    /// What of it the project is connected to.
    pub resource: &'a str,
}

/// A comment as it would be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskCommentText {
    /// What it says, masked.
    pub text: String,
    /// The sum of that and of where it goes, in hexadecimal: who agrees to a text for one tracker
    /// did not agree to the same for another.
    pub digest: String,
    /// Whether it names nothing.
    pub is_empty: bool,
}

/// The comment as it would be written now, the same whoever asks.
pub async fn compose_comment(
    store: &Store,
    policy: &Policy,
    subject: Subject<'_>,
) -> Result<TaskCommentText, Error> {
    let linked = task_comments::linked(store, subject.task, NAMED).await?;
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

/// Whether a comment is one of ours, of whichever project: it is never taken in as what people say.
pub fn is_ours(comment: &str) -> bool {
    first_line(comment).starts_with(OURS)
}

/// Whether a comment is that of this task.
pub fn is_of(comment: &str, project: &ProjectKey, external_id: &str) -> bool {
    first_line(comment) == heading(project, external_id)
}

/// Whether a comment says a text, as trackers give it back: with other ends of lines, say, and
/// without blanks there.
pub fn says(comment: &str, text: &str) -> bool {
    comment.split_whitespace().eq(text.split_whitespace())
}

fn first_line(comment: &str) -> &str {
    // A heading begins with them where a tracker has headings.
    let comment = comment.trim_start_matches(|c: char| c == '#' || c.is_whitespace());
    comment.lines().next().unwrap_or_default().trim_end()
}

fn heading(project: &ProjectKey, external_id: &str) -> String {
    format!("{OURS}{project} knows of {external_id}")
}

/// How a tracker is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Markdown,
    /// What reads the same by whichever rules it is shown: those of Jira and Redmine differ by
    /// version and setting.
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

    /// A title in which nothing is markup, and nobody is called by name.
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
    append(&mut text, "Records", &records, linked.records_in_all);
    let dialogs: Vec<_> = linked.dialogs.iter().map(dialog_line).collect();
    append(&mut text, "Dialogs", &dialogs, linked.dialogs_in_all);
    if linked.records.is_empty() && linked.dialogs.is_empty() {
        text.push_str("\nNothing belongs to it any more.\n");
    }
    // What two parts came to when they were put together is masked as well: this leaves the house.
    ContentFilter::new(policy, ReviewStatus::Reviewed).filter_again(&text).into_string()
}

/// A list under its name, with how many are left out of it.
fn append(text: &mut String, name: &str, lines: &[String], in_all: i64) {
    if lines.is_empty() {
        return;
    }
    let named = i64::try_from(lines.len()).unwrap_or(i64::MAX);
    // Writing into a text can't fail.
    let _ = write!(text, "\n{name}:\n\n{}\n", lines.join("\n"));
    if in_all > named {
        let _ = writeln!(text, "- and {} more", in_all - named);
    }
}

fn record_line(policy: &Policy, format: Format, record: &LinkedRecord) -> String {
    let LinkedRecord { id, kind, title } = record;
    let title = one_line(&filter_field_text(policy, title));
    let title: String = title.chars().take(TITLE).collect();
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
            records_in_all: 12,
            dialogs: vec![LinkedDialog { id: DialogId::generate(), sent_at }],
            dialogs_in_all: 1,
        }
    }

    fn written(tracker: Provider, linked: &Linked) -> String {
        let project = ProjectKey::parse("shop").expect("a key");
        text(&Policy::default(), Format::of(tracker), &heading(&project, "CS-214"), linked)
    }

    #[test]
    fn it_names_what_belongs_to_a_task_and_how_much_more_there_is() {
        let linked = linked("The delay is nil");
        let text = written(Provider::Github, &linked);
        let (record, dialog) = (linked.records[0].id, linked.dialogs[0].id);
        let expected = format!(
            "### Memory Copilot: what the project shop knows of CS-214\n\nRecords:\n\n\
             - `The delay is nil` (fact {record})\n- and 11 more\n\nDialogs:\n\n- of 2026-11-01 ({dialog})\n"
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn a_title_calls_nobody_and_marks_nothing_up() {
        let linked = linked("`@vera`, see #12\nand [x](https://git.example.org/x)");
        let text = written(Provider::Gitlab, &linked);
        assert!(text.contains("- `'@vera', see #12 and [x](https"), "{text}");
        let text = written(Provider::Jira, &linked);
        assert!(text.contains("- vera , see 12 and [x] (https"), "{text}");
        assert!(text.starts_with(OURS), "{text}");
    }

    #[test]
    fn what_is_secret_in_a_title_is_masked() {
        let linked = linked("Rotate ghp_16C7e42F292c6912E7710c838347Ae178B4a");
        for tracker in [Provider::Youtrack, Provider::Redmine] {
            let text = written(tracker, &linked);
            assert!(!text.contains("ghp_") && text.contains("secret:github-token"), "{text}");
        }
    }

    #[test]
    fn the_same_text_for_another_place_has_another_sum() {
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
    fn a_text_is_the_same_however_a_tracker_ends_its_lines() {
        let text = written(Provider::Redmine, &linked("T"));
        assert!(says(&text.replace('\n', " \r\n"), &text) && says(text.trim(), &text));
        assert!(!says(&text.replace("Records", "Things"), &text));
    }

    #[test]
    fn it_is_known_again_and_what_quotes_it_is_not_it() {
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
