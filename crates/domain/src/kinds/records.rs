//! Vocabularies of records, citations, passages, dialogs and bundles.

vocabularies! {
    /// The kind of knowledge in a memory record (seed 001, section 3).
    RecordKind, "kind", {
        /// A true statement about the code or the domain.
        Fact = "fact",
        /// A worked example: title, steps, and the patch.
        Fewshot = "fewshot",
        /// A recurring solution of this team.
        Pattern = "pattern",
        /// A pointer to a decision record.
        AdrLink = "adr_link",
        /// A trap: code or behavior that looks right and is wrong.
        Gotcha = "gotcha",
        /// An agreement of the team to do or avoid something.
        Rule = "rule",
    }

    /// The state of a memory record.
    RecordState, "state", {
        /// Recalled.
        Active = "active",
        /// Cited code changed or was deleted; ranked lower, with a warning.
        Stale = "stale",
        /// Replaced by another record; kept for history, never recalled.
        Superseded = "superseded",
        /// Deleted by a person; kept until its retention ends.
        Deleted = "deleted",
    }

    /// The state of cited code, compared with its state when the record was saved.
    CitationVerdict, "verdict", {
        /// The cited text is unchanged, perhaps on other lines.
        Fresh = "fresh",
        /// The cited code changed.
        Drifted = "drifted",
        /// The cited file, span or symbol no longer exists.
        Orphaned = "orphaned",
        /// The file is not indexed yet, so there is nothing to compare with.
        Unchecked = "unchecked",
    }

    /// The source of a passage.
    SourceKind, "source kind", {
        /// A memory record.
        Memory = "memory",
        /// A dialog's distilled text.
        Dialog = "dialog",
        /// A document: ADR, wiki page, Markdown file.
        Doc = "doc",
        /// A chunk of source code.
        Code = "code",
        /// A commit in a repository's history: its message and the names of its files.
        Change = "change",
    }

    /// The trust in a text, from the lowest to the highest.
    Trust, "trust", {
        /// From an unknown or suspicious source. Never a rule or a warning of a bundle.
        Untrusted = "untrusted",
        /// From a source that the team chose: a repository, a wiki, a tracker.
        Imported = "imported",
        /// From a member of the team, or a tool in a member's name.
        Team = "team",
        /// Confirmed by a person who reviewed it.
        Confirmed = "confirmed",
    }

    /// The audience of a record.
    Visibility, "visibility", {
        /// Its author only.
        Private = "private",
        /// Reviewers only; not recalled.
        Proposed = "proposed",
        /// Every member of the project.
        Team = "team",
    }

    /// Who speaks.
    MessageRole, "role", {
        /// The developer.
        User = "user",
        /// The model.
        Assistant = "assistant",
        /// Instructions.
        System = "system",
        /// A tool's result.
        Tool = "tool",
    }

    /// A kind of read that is counted.
    ReadKind, "kind", {
        /// A search.
        Search = "search",
        /// A record, or a page of the list of records.
        Record = "record",
        /// A document, or a page of the list of documents.
        Document = "document",
        /// A passage.
        Passage = "passage",
    }

    /// How a dialog ended.
    DialogOutcome, "outcome", {
        /// The task was done.
        Succeeded = "succeeded",
        /// The result was wrong or of no use.
        Failed = "failed",
        /// The developer gave up.
        Abandoned = "abandoned",
    }

    /// The state of a quarantine item.
    QuarantineState, "state", {
        /// Awaits a decision.
        Pending = "pending",
        /// A person released it; it was stored after all.
        Released = "released",
        /// A person deleted it.
        Deleted = "deleted",
        /// Deleted because its retention ended without a decision.
        Expired = "expired",
    }

    /// The section of a bundle that an item belongs to.
    BundleSection, "section", {
        /// Rules and warnings that match the location; they come first.
        Gotchas = "gotchas",
        /// Short statements.
        Facts = "facts",
        /// Worked examples.
        FewShots = "few_shots",
        /// Titles and URLs.
        Links = "links",
        /// Excerpts of dialogs.
        Dialogs = "dialogs",
        /// Locations in the code.
        Code = "code",
    }
}

impl SourceKind {
    /// The sources of a search that names none. Commits must be requested by name: they tell which
    /// files belong to a task rather than answer a query.
    pub const SEARCHED: &'static [Self] = &[Self::Memory, Self::Dialog, Self::Doc, Self::Code];
}
