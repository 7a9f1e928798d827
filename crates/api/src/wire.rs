//! What several resources share on the wire: scores, and words mirrored from the domain's
//! vocabularies so that OpenAPI lists them and a wrong one is refused with its field.

use mc_domain::{
    Capability as DomainCapability, CiConclusion as DomainCiConclusion,
    CiVerdict as DomainCiVerdict, CitationVerdict as DomainCitationVerdict,
    DeliveryState as DomainDeliveryState, ExpiryDecision as DomainExpiryDecision,
    HygieneTask as DomainHygieneTask, IngestStatus, JobState as DomainJobState,
    Provider as DomainProvider, PullRequestReview as DomainPullRequestReview,
    PullRequestState as DomainPullRequestState, QuarantineState as DomainQuarantineState,
    RecordKind, RecordState, SourceKind, Trust as DomainTrust, Visibility as DomainVisibility,
};
use mc_search::Step;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Number;
use utoipa::ToSchema;

macro_rules! mirror {
    ($(#[$attr:meta])* $name:ident of $domain:ident { $($(#[$doc:meta])* $variant:ident),+ $(,)? }) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
        $(#[$attr])*
        pub enum $name { $($(#[$doc])* $variant),+ }

        impl From<$domain> for $name {
            fn from(value: $domain) -> Self {
                match value { $($domain::$variant => Self::$variant),+ }
            }
        }

        impl From<$name> for $domain {
            fn from(value: $name) -> Self {
                match value { $($name::$variant => Self::$variant),+ }
            }
        }
    };
}

mirror! {
    /// What sort of knowledge a record holds.
    #[serde(rename_all = "snake_case")]
    Kind of RecordKind {
        /// Something that is true of the code or the domain.
        Fact,
        /// A worked example.
        Fewshot,
        /// A recurring way of doing things here.
        Pattern,
        /// A pointer to a decision record.
        AdrLink,
        /// A trap.
        Gotcha,
        /// What the team agreed on.
        Rule,
    }
}

mirror! {
    /// What CI says of a patch: of the commit that its change was merged by, else of the change's last commit, else
    /// of its own.
    #[serde(rename_all = "snake_case")]
    CiVerdict of DomainCiVerdict {
        /// Something ended well, and nothing with a fault.
        Passed,
        /// Something ended with a fault.
        Failed,
    }
}

mirror! {
    /// How a run of CI ended.
    #[serde(rename_all = "snake_case")]
    CiConclusion of DomainCiConclusion {
        /// Well.
        Success,
        /// With a fault.
        Failure,
        /// It was passed over, or counts for nothing.
        Neutral,
        /// Somebody, or something newer, stopped it.
        Cancelled,
        /// It has not ended.
        Pending,
    }
}

mirror! {
    /// How far a pull or merge request has come.
    #[serde(rename_all = "snake_case")]
    PullRequestState of DomainPullRequestState {
        /// It is looked at, or worked on.
        Open,
        /// It was given up.
        Closed,
        /// It is part of the branch that it was for.
        Merged,
    }
}

mirror! {
    /// What the reviewers of a pull or merge request say together.
    #[serde(rename_all = "snake_case")]
    PullRequestReview of DomainPullRequestReview {
        /// Nobody objects, and somebody agrees.
        Approved,
        /// Somebody wants something else.
        ChangesRequested,
    }
}

mirror! {
    /// Who sends webhooks.
    #[serde(rename_all = "snake_case")]
    WebhookProvider of DomainProvider {
        /// GitHub, hosted or not.
        Github,
        /// GitLab, hosted or not.
        Gitlab,
        /// Jira, Cloud or Data Center.
        Jira,
        /// `YouTrack`.
        Youtrack,
        /// Redmine.
        Redmine,
        /// Confluence, Cloud or Data Center.
        Confluence,
    }
}

/// What sort of system is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// GitHub, hosted or not.
    Github,
    /// GitLab, hosted or not.
    Gitlab,
    /// Jira, Cloud or Data Center.
    Jira,
    /// `YouTrack`.
    Youtrack,
    /// Redmine.
    Redmine,
    /// Confluence, Cloud or Data Center.
    Confluence,
    /// Any host of git, and folders of the service's machine.
    Git,
}

impl From<DomainProvider> for Provider {
    fn from(kind: DomainProvider) -> Self {
        match kind {
            DomainProvider::Github => Self::Github,
            DomainProvider::Gitlab => Self::Gitlab,
            DomainProvider::Jira => Self::Jira,
            DomainProvider::Youtrack => Self::Youtrack,
            DomainProvider::Redmine => Self::Redmine,
            DomainProvider::Confluence => Self::Confluence,
        }
    }
}

mirror! {
    /// What another system is asked for.
    #[serde(rename_all = "snake_case")]
    Capability of DomainCapability {
        /// Issues of a tracker.
        Issues,
        /// Pages of a wiki.
        Pages,
        /// What the refs of a repository point to.
        Refs,
    }
}

mirror! {
    /// What came of a delivery.
    #[serde(rename_all = "snake_case")]
    DeliveryState of DomainDeliveryState {
        /// Nobody has looked into it yet.
        Pending,
        /// It changed what the project knows, or asked for that.
        Completed,
        /// There was nothing to do.
        Ignored,
        /// Something went wrong with it that would go wrong again; what came after it goes on.
        Failed,
    }
}

mirror! {
    /// What keeps a project's memory in order, each by itself and by the clock.
    #[serde(rename_all = "snake_case")]
    HygieneTask of DomainHygieneTask {
        /// Finds notes of the team that say the same.
        Duplicates,
        /// Looks at how records are used, and finds those that help nobody.
        Quality,
        /// Takes out what expired long ago, and counts what the policy deletes before long.
        Expiry,
        /// Holds what records cite against the indexed code.
        Citations,
        /// Has repositories read again that were not for long.
        Reindex,
        /// Holds what search sees against what it was made of, and mends what differs.
        Consistency,
        /// Keeps what the team knows as a document.
        Export,
        /// Looks which passages lack their vector, and has it made.
        Embedding,
        /// Deletes what is older than the policy keeps it.
        Retention,
    }
}

mirror! {
    /// What becomes of records whose end waits for a person, since too many would have ended at once.
    #[serde(rename_all = "snake_case")]
    ExpiryDecision of DomainExpiryDecision {
        /// They end.
        Confirm,
        /// They live on as if they were saved now.
        Extend,
    }
}

mirror! {
    /// Who vouches for a text.
    #[serde(rename_all = "snake_case")]
    Trust of DomainTrust {
        /// Nobody.
        Untrusted,
        /// A source that the team chose.
        Imported,
        /// A member of the team.
        Team,
        /// A person who looked at it.
        Confirmed,
    }
}

mirror! {
    /// Who a record is for.
    #[serde(rename_all = "snake_case")]
    Visibility of DomainVisibility {
        /// Who saved it, alone.
        Private,
        /// Those who review it; not recalled.
        Proposed,
        /// Everybody in the project.
        Team,
    }
}

mirror! {
    /// The life of something in quarantine.
    #[serde(rename_all = "snake_case")]
    QuarantineState of DomainQuarantineState {
        /// Nobody has decided yet.
        Pending,
        /// Taken in after all.
        Released,
        /// Thrown away by a person.
        Deleted,
        /// Thrown away because nobody decided in time.
        Expired,
    }
}

mirror! {
    /// Where a piece of background work is in its life.
    #[serde(rename_all = "snake_case")]
    JobState of DomainJobState {
        /// It will begin when it is due and a worker is free.
        Pending,
        /// A worker has it.
        Running,
        /// It was done.
        Completed,
        /// It was given up.
        Discarded,
    }
}

mirror! {
    /// The life of a record.
    #[serde(rename_all = "snake_case")]
    State of RecordState {
        /// Recalled as it stands.
        Active,
        /// Cited code changed or went away.
        Stale,
        /// Replaced by another record.
        Superseded,
        /// Removed by a person.
        Deleted,
    }
}

mirror! {
    /// What a citation's code looks like now, beside what it was.
    #[serde(rename_all = "snake_case")]
    CitationVerdict of DomainCitationVerdict {
        /// Unchanged.
        Fresh,
        /// Changed.
        Drifted,
        /// Gone.
        Orphaned,
        /// The file has not been indexed yet.
        Unchecked,
    }
}

mirror! {
    /// What a passage was cut from.
    #[serde(rename_all = "snake_case")]
    Source of SourceKind {
        /// A memory record.
        Memory,
        /// A dialog.
        Dialog,
        /// A document.
        Doc,
        /// Source code.
        Code,
        /// A commit of an indexed repository's history. Searched only where it is the one source asked for.
        Change,
    }
}

mirror! {
    /// The life of an ingest run.
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    RunStatus of IngestStatus {
        /// Waiting for a worker.
        Queued,
        /// A worker is on it.
        Running,
        /// Every file is in.
        Succeeded,
        /// Given up; `last_error` says why.
        Failed,
    }
}

mirror! {
    /// A step of the ranking.
    #[serde(rename_all = "snake_case")]
    RankingStep of Step {
        /// The leg of symbols and paths.
        Exact,
        /// The leg of words.
        Keyword,
        /// The leg of meaning.
        Vector,
        /// Files that similar past changes touched, by the commit history of the repository.
        History,
        /// Words of the text alone.
        Body,
        /// Words of the text with what it is read with: place, title, what was said before it.
        Window,
        /// Words of the place.
        Path,
        /// Words of a memory record, where nothing but records is sought.
        Record,
        /// The question's meaning without the words that many of the project's records have.
        Telling,
        /// Words of Russian read in English, where no passage has any of them.
        Gloss,
        /// Leaving out the words of a question that say nothing.
        StopWords,
        /// Passages of one file or document support each other.
        Siblings,
        /// A passage defines a symbol that the query names.
        ExactSymbol,
        /// A passage lies at a path that the query names.
        ExactPath,
        /// A file lies in the part of the system that the query names in front of its colon: `fix(jwt): ...`.
        ScopePrefix,
        /// A note holds an identifier of the query.
        SameIdentifier,
        /// What people remember fades.
        Recency,
        /// What was of use before.
        Usefulness,
        /// The scope holds a path of the query or is a word of it.
        Scope,
        /// Said by somebody whom the query names.
        Author,
        /// Code that a record cites has changed.
        Stale,
    }
}

/// A score with two decimals: more would cost the reader tokens and say nothing.
pub fn rounded(score: f32) -> f64 {
    (f64::from(score) * 100.0).round() / 100.0
}

/// The largest number up to which a float tells every whole number from its neighbours.
const EXACT: f64 = 9_007_199_254_740_991.0;

/// A whole number, however it is written: to JSON, and so to the document, `5` and `5.0` are one.
pub fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let Some(number) = Option::<Number>::deserialize(deserializer)? else { return Ok(None) };
    if let Some(whole) = number.as_i64() {
        return Ok(Some(whole));
    }
    let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= EXACT);
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and not too large")]
    float
        .map(|float| Some(float as i64))
        .ok_or_else(|| D::Error::custom(format!("must be a whole number, not {number}")))
}

/// [`whole`], where there must be one.
pub fn whole_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    whole(deserializer)?.ok_or_else(|| D::Error::custom("must be a whole number, not null"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn spelled<T: Copy, W: From<T> + Serialize>(members: &[T]) -> Vec<String> {
        let word = |member: &T| serde_json::to_value(W::from(*member)).unwrap();
        members.iter().map(|member| word(member).as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_whole_number_may_be_written_as_a_float() {
        let read = |text: &str| whole(&mut serde_json::Deserializer::from_str(text));
        for (text, expected) in
            [("5", 5), ("5.0", 5), ("-2e1", -20), ("9007199254740991", 9_007_199_254_740_991)]
        {
            assert_eq!(read(text).unwrap(), Some(expected), "{text}");
        }
        assert_eq!(read("null").unwrap(), None);
        for text in ["5.5", "1e300", "18446744073709551615", "\"5\"", "true"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_wire_spells_every_word_as_the_domain_does() {
        fn domain<T: Copy + ToString>(members: &[T]) -> Vec<String> {
            members.iter().map(ToString::to_string).collect()
        }
        assert_eq!(spelled::<_, Capability>(DomainCapability::ALL), domain(DomainCapability::ALL));
        let systems = DomainProvider::ALL;
        assert_eq!(spelled::<_, Provider>(systems), domain(systems));
        assert_eq!(spelled::<_, Kind>(RecordKind::ALL), domain(RecordKind::ALL));
        assert_eq!(spelled::<_, State>(RecordState::ALL), domain(RecordState::ALL));
        assert_eq!(spelled::<_, Trust>(DomainTrust::ALL), domain(DomainTrust::ALL));
        assert_eq!(spelled::<_, Visibility>(DomainVisibility::ALL), domain(DomainVisibility::ALL));
        assert_eq!(
            spelled::<_, QuarantineState>(DomainQuarantineState::ALL),
            domain(DomainQuarantineState::ALL)
        );
        assert_eq!(
            spelled::<_, CitationVerdict>(DomainCitationVerdict::ALL),
            domain(DomainCitationVerdict::ALL)
        );
        assert_eq!(spelled::<_, Source>(SourceKind::ALL), domain(SourceKind::ALL));
        assert_eq!(spelled::<_, RunStatus>(IngestStatus::ALL), domain(IngestStatus::ALL));
        assert_eq!(spelled::<_, RankingStep>(Step::ALL), domain(Step::ALL));
    }
}
