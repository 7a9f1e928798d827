//! Closed vocabularies, each with its one spelling on the wire and in the database.

/// A word that is not in a vocabulary; the message lists the ones that are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {vocabulary} \"{value}\"; use one of: {allowed}")]
pub struct UnknownValue {
    pub(crate) vocabulary: &'static str,
    pub(crate) value: String,
    pub(crate) allowed: String,
}

macro_rules! vocabulary {
    ($(#[doc = $doc:literal])* $name:ident, $title:literal, { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// Every member, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word on the wire and in the database.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::Type::String)
                    .enum_values(Some([$($word),+]))
                    .description(Some([$($doc.trim()),*].join(" ")))
                    .into()
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::ToSchema for $name {}

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::kinds::UnknownValue;

            fn from_str(word: &str) -> Result<Self, $crate::kinds::UnknownValue> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err($crate::kinds::UnknownValue {
                        vocabulary: $title,
                        value: word.chars().take(64).collect(),
                        allowed: [$($word),+].join(", "),
                    }),
                }
            }
        }
    };
}

vocabulary!(
    /// Where a piece of background work is in its life.
    JobState, "state", {
        /// It will begin when it is due and a worker is free.
        Pending = "pending",
        /// A worker has it.
        Running = "running",
        /// It was done.
        Completed = "completed",
        /// It was given up; a person may have it begin anew.
        Discarded = "discarded",
    }
);

vocabulary!(
    /// Who sends webhooks.
    Provider, "provider", {
        /// GitHub, hosted or not.
        Github = "github",
        /// GitLab, hosted or not.
        Gitlab = "gitlab",
        /// Jira, Cloud or Data Center.
        Jira = "jira",
        /// `YouTrack`.
        Youtrack = "youtrack",
        /// Redmine.
        Redmine = "redmine",
        /// Confluence, Cloud or Data Center.
        Confluence = "confluence",
    }
);

vocabulary!(
    /// What came of a webhook's delivery.
    DeliveryState, "state", {
        /// Nobody has looked into it yet.
        Pending = "pending",
        /// It changed what the project knows, or asked for that.
        Completed = "completed",
        /// There was nothing to do.
        Ignored = "ignored",
        /// Something went wrong with it that would go wrong again; what came after it goes on.
        Failed = "failed",
    }
);

vocabulary!(
    /// What another system may be asked for.
    Capability, "capability", {
        /// Issues of a tracker.
        Issues = "issues",
        /// Pages of a wiki.
        Pages = "pages",
        /// What the refs of a repository point to.
        Refs = "refs",
    }
);

impl Capability {
    /// What systems of a kind have, first what is asked for where nothing else is said.
    pub fn of(kind: Provider) -> &'static [Self] {
        match kind {
            Provider::Github | Provider::Gitlab => &[Self::Issues, Self::Refs],
            Provider::Jira | Provider::Youtrack | Provider::Redmine => &[Self::Issues],
            Provider::Confluence => &[Self::Pages],
        }
    }
}

vocabulary!(
    /// How far a pull or merge request has come.
    PullRequestState, "state", {
        /// It is looked at, or worked on.
        Open = "open",
        /// It was given up.
        Closed = "closed",
        /// It is part of the branch that it was for.
        Merged = "merged",
    }
);

vocabulary!(
    /// What reviewers say of a pull or merge request.
    PullRequestReview, "review", {
        /// Nobody objects, and somebody agrees.
        Approved = "approved",
        /// Somebody wants something else.
        ChangesRequested = "changes_requested",
    }
);

vocabulary!(
    /// How a run of CI on a commit ended.
    CiConclusion, "conclusion", {
        /// Well.
        Success = "success",
        /// With a fault.
        Failure = "failure",
        /// It was passed over, or counts for nothing.
        Neutral = "neutral",
        /// Somebody, or something newer, stopped it.
        Cancelled = "cancelled",
        /// It has not ended.
        Pending = "pending",
    }
);

vocabulary!(
    /// What CI says of a patch.
    CiVerdict, "ci", {
        /// Something ended well, and nothing with a fault.
        Passed = "passed",
        /// Something ended with a fault.
        Failed = "failed",
    }
);

vocabulary!(
    /// What sort of knowledge a memory record holds (seed 001, section 3).
    RecordKind, "kind", {
        /// Something that is true of the code or the domain.
        Fact = "fact",
        /// A worked example: title, steps, the patch that did it.
        Fewshot = "fewshot",
        /// A recurring way of doing things here.
        Pattern = "pattern",
        /// A pointer to a decision record.
        AdrLink = "adr_link",
        /// A trap: what looks right and isn't.
        Gotcha = "gotcha",
        /// What the team has agreed to do or not to do.
        Rule = "rule",
    }
);

vocabulary!(
    /// The life of a memory record.
    RecordState, "state", {
        /// Recalled as it stands.
        Active = "active",
        /// Cited code changed or went away; recalled lower, with a warning.
        Stale = "stale",
        /// Replaced by another record; kept for history, never recalled.
        Superseded = "superseded",
        /// Removed by a person; kept until the retention ends.
        Deleted = "deleted",
    }
);

vocabulary!(
    /// What a citation's code looks like now, beside what it was when the record was saved.
    Verdict, "verdict", {
        /// The cited text stands unchanged (perhaps on other lines).
        Fresh = "fresh",
        /// The code under the citation changed.
        Drifted = "drifted",
        /// The cited file, span or symbol is gone.
        Orphaned = "orphaned",
        /// The file has not been indexed yet, so nothing can be said.
        Unchecked = "unchecked",
    }
);

vocabulary!(
    /// What a passage was cut from.
    SourceKind, "source kind", {
        /// A memory record.
        Memory = "memory",
        /// A dialog's distilled text.
        Dialog = "dialog",
        /// A document: ADR, wiki page, Markdown file.
        Doc = "doc",
        /// A chunk of source code.
        Code = "code",
        /// A commit of a repository's history: its message, and which files it touched.
        Change = "change",
    }
);

impl SourceKind {
    /// What a search that names no source looks through. Changes are asked for by name: they tell which files belong
    /// to a task rather than answer a question.
    pub const SEARCHED: &'static [Self] = &[Self::Memory, Self::Dialog, Self::Doc, Self::Code];
}

vocabulary!(
    /// Who vouches for a text, the least first: the order of the members is the order of trust.
    Trust, "trust", {
        /// Nobody: it came from outside, or it is suspicious. Never a rule or a warning of a bundle.
        Untrusted = "untrusted",
        /// A source that the team chose: a repository, a wiki, a tracker.
        Imported = "imported",
        /// A member of the team, or a tool in a member's name.
        Team = "team",
        /// A person who looked at it and said that it holds.
        Confirmed = "confirmed",
    }
);

vocabulary!(
    /// Who a record is for.
    Visibility, "visibility", {
        /// Who saved it, alone.
        Private = "private",
        /// Those who review it; not recalled.
        Proposed = "proposed",
        /// Everybody in the project.
        Team = "team",
    }
);

vocabulary!(
    /// The life of something in quarantine.
    QuarantineState, "state", {
        /// Nobody has decided yet.
        Pending = "pending",
        /// Taken in after all.
        Released = "released",
        /// Thrown away by a person.
        Deleted = "deleted",
        /// Thrown away because nobody decided in time.
        Expired = "expired",
    }
);

vocabulary!(
    /// What an event of the audit tells of.
    AuditAction, "action", {
        /// A record was saved; `detail.outcome` says how it was taken.
        RecordSaved = "record.saved",
        /// A record was taken out.
        RecordDeleted = "record.deleted",
        /// A proposal was made to count.
        ProposalAccepted = "proposal.accepted",
        /// A proposal was turned down.
        ProposalRejected = "proposal.rejected",
        /// A private record was put before the reviewers, or made to count.
        RecordShared = "record.shared",
        /// A person said that a record holds.
        RecordConfirmed = "record.confirmed",
        /// A record says again what it said before.
        RecordRolledBack = "record.rolled_back",
        /// Everything from one person or source was taken out.
        RecordsErased = "records.erased",
        /// A bundle was handed out; `detail.items` has its parts.
        Recalled = "bundle.recalled",
        /// Parts of a bundle were used.
        FeedbackRecorded = "bundle.feedback_recorded",
        /// A dialog was saved.
        DialogSaved = "dialog.saved",
        /// Documents came in.
        DocumentsIngested = "documents.ingested",
        /// A tracker's issues came in, or changed.
        TasksSynced = "tasks.synced",
        /// What a git host tells of pull and merge requests and of CI came in.
        PullRequestsSynced = "pull_requests.synced",
        /// A dialog, and perhaps records, were linked to a task.
        TaskLinked = "task.linked",
        /// What was told of a task was forgotten.
        TaskErased = "task.erased",
        /// A person agreed to a comment at a task's tracker.
        TaskCommentApproved = "task_comment.approved",
        /// That comment was written; `detail` says where, and its sum.
        TaskCommentPosted = "task_comment.posted",
        /// An index run was asked for.
        IngestRunRequested = "ingest_run.requested",
        /// A repository is indexed from another place; `detail` says from where to where.
        RepositoryRelocated = "repository.relocated",
        /// The project's policy was changed.
        PolicyChanged = "policy.changed",
        /// Somebody, or a team, was given or lost a role.
        MemberChanged = "member.changed",
        /// A project was created.
        ProjectCreated = "project.created",
        /// A project was deleted with all that it held.
        ProjectDeleted = "project.deleted",
        /// A team was created or deleted, or its members changed.
        TeamChanged = "team.changed",
        /// A user was added, disabled or changed.
        UserChanged = "user.changed",
        /// Somebody signed in.
        SessionCreated = "session.created",
        /// A session was ended, or all of a user's: then `detail.sessions` says how many there were.
        SessionRevoked = "session.revoked",
        /// A login at a terminal was approved or denied.
        DeviceLoginDecided = "device_login.decided",
        /// A personal access token was made.
        TokenCreated = "token.created",
        /// A personal access token was revoked.
        TokenRevoked = "token.revoked",
        /// Something was put into quarantine.
        QuarantineItemCreated = "quarantine_item.created",
        /// Something was let out of quarantine.
        QuarantineItemReleased = "quarantine_item.released",
        /// Something in quarantine was thrown away.
        QuarantineItemDeleted = "quarantine_item.deleted",
        /// Something in quarantine was thrown away because nobody decided.
        QuarantineItemExpired = "quarantine_item.expired",
        /// A webhook was created, removed, or given another secret.
        WebhookChanged = "webhook.changed",
        /// A connection to another system was made, changed or removed.
        IntegrationChanged = "integration.changed",
        /// What a webhook delivered is gone through once more.
        WebhookDeliveryReplayed = "webhook_delivery.replayed",
        /// Background work that was given up began anew.
        JobRetried = "job.retried",
        /// Background work was thrown away.
        JobDeleted = "job.deleted",
        /// Something that keeps the memory in order was asked for by a person.
        HygieneRunRequested = "hygiene_run.requested",
        /// One record took the place of others that said the same; `detail.replaced` has those.
        DuplicateClusterMerged = "duplicate_cluster.merged",
        /// A person said that records are not the same.
        DuplicateClusterDismissed = "duplicate_cluster.dismissed",
        /// Hygiene took records out of the recall; `detail` says which, and why.
        RecordsRetired = "records.retired",
        /// What search sees was made to fit what it was made of; `detail` says how much of what.
        SearchIndexRepaired = "search_index.repaired",
        /// Somebody was refused.
        AccessDenied = "access.denied",
        /// The service's own audit begins, and with it the time of the key that signs and seals.
        AuditStarted = "audit.started",
        /// The audit was read, verified or exported.
        AuditRead = "audit.read",
        /// The oldest events were dropped, as the policy has it.
        AuditPruned = "audit.pruned",
    }
);

vocabulary!(
    /// What keeps a project's memory in order, each by itself and by the clock.
    HygieneTask, "task", {
        /// Finds notes of the team that say the same.
        Duplicates = "duplicates",
        /// Looks at how records are used, and finds those that help nobody.
        Quality = "quality",
        /// Takes out what expired long ago, and counts what the policy deletes before long.
        Expiry = "expiry",
        /// Holds what records cite against the indexed code.
        Citations = "citations",
        /// Has repositories read again that were not for long.
        Reindex = "reindex",
        /// Holds what search sees against what it was made of, and mends what differs.
        Consistency = "consistency",
        /// Keeps what the team knows as a document.
        Export = "export",
        /// Looks which passages lack their vector, and has it made.
        Embedding = "embedding",
        /// Deletes what is older than the policy keeps it.
        Retention = "retention",
    }
);

vocabulary!(
    /// What becomes of records whose end waits for a person, since too many would have ended at once.
    HeldEnds, "decision", {
        /// They end.
        Confirm = "confirm",
        /// They live on as if they were saved now.
        Extend = "extend",
    }
);

vocabulary!(
    /// What became of a group of notes that say the same.
    ClusterState, "state", {
        /// Nobody has decided yet.
        Open = "open",
        /// One of them holds what all said.
        Merged = "merged",
        /// They are not the same, says a person.
        Dismissed = "dismissed",
    }
);

vocabulary!(
    /// The life of an ingest run (seed 002).
    IngestStatus, "status", {
        /// Waiting for a worker.
        Queued = "QUEUED",
        /// A worker is on it.
        Running = "RUNNING",
        /// Every file is in and keyword-searchable.
        Succeeded = "SUCCEEDED",
        /// Gave up; `last_error` says why.
        Failed = "FAILED",
    }
);

vocabulary!(
    /// The part of a bundle an item stands in.
    BundleSection, "section", {
        /// Rules and warnings that match the place; they come first.
        Gotchas = "gotchas",
        /// Short statements.
        Facts = "facts",
        /// Worked examples.
        FewShots = "few_shots",
        /// Titles and URLs.
        Links = "links",
        /// What came out of conversations.
        Dialogs = "dialogs",
        /// Places in the code.
        Code = "code",
    }
);

pub(crate) use vocabulary;

vocabulary!(
    /// A step of the ranking, in the order in which they are applied. `docs/retrieval.md` has what
    /// each contributes.
    RankingStep, "ranking step", {
        /// Query words that say nothing are dropped.
        StopWords = "stop_words",
        /// The retriever of symbols and paths.
        Exact = "exact",
        /// The retriever of words (BM25).
        Keyword = "keyword",
        /// Words of the text alone.
        Body = "body",
        /// Words of the text with its title, location and context.
        Window = "window",
        /// Words of the location.
        Path = "path",
        /// Words of a record, in a search over records alone.
        Record = "record",
        /// The retriever of meaning.
        Vector = "vector",
        /// The query's meaning without words that many of the project's records have, in a search
        /// over records alone.
        Telling = "telling",
        /// Russian query words read in English, if no passage has any of them.
        Gloss = "gloss",
        /// Files that similar past changes touched, by the commit history of the repository.
        History = "history",
        /// Passages of one file or document support each other.
        Siblings = "siblings",
        /// The passage defines a symbol that the query names.
        ExactSymbol = "exact_symbol",
        /// The passage is at a path that the query names.
        ExactPath = "exact_path",
        /// The file is in the part of the system that the query names before its colon:
        /// `fix(jwt): ...`.
        ScopePrefix = "scope_prefix",
        /// The note holds an identifier of the query.
        SameIdentifier = "same_identifier",
        /// Older records and dialogs rank lower.
        Recency = "recency",
        /// Records that were used before rank higher.
        Usefulness = "usefulness",
        /// The scope holds a path of the query or is a word of it.
        Scope = "scope",
        /// The author is a person whom the query names.
        Author = "author",
        /// The code that the record cites has changed.
        Stale = "stale",
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_parses_back_to_its_member() {
        for kind in RecordKind::ALL {
            assert_eq!(kind.as_str().parse::<RecordKind>().as_ref(), Ok(kind));
        }
        for status in IngestStatus::ALL {
            assert_eq!(status.as_str().parse::<IngestStatus>().as_ref(), Ok(status));
        }
    }

    #[test]
    fn trust_grows_from_nobody_to_a_person_who_looked() {
        let words: Vec<_> = Trust::ALL.iter().map(|trust| trust.as_str()).collect();
        assert_eq!(words, ["untrusted", "imported", "team", "confirmed"]);
        assert!(Trust::ALL.is_sorted());
        assert!(Trust::ALL.iter().all(|trust| trust.as_str().parse() == Ok(*trust)));
    }

    #[test]
    fn an_unknown_word_lists_the_known_ones() {
        let error = "hunch".parse::<RecordKind>().expect_err("no kind").to_string();
        assert!(error.contains("\"hunch\""), "{error}");
        assert!(error.contains("fact, fewshot, pattern, adr_link, gotcha, rule"), "{error}");
    }
}
