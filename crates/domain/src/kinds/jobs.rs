//! Vocabularies of background jobs, index runs and hygiene.

vocabularies! {
    /// The state of a background job.
    JobState, "state", {
        /// Starts at its scheduled time, when a worker is free.
        Pending = "pending",
        /// A worker runs it.
        Running = "running",
        /// It succeeded.
        Completed = "completed",
        /// It used up its attempts; an administrator can retry it.
        Discarded = "discarded",
    }

    /// The state of an ingest run (seed 002).
    IngestStatus, "status", {
        /// No worker runs it yet.
        Queued = "QUEUED",
        /// A worker runs it.
        Running = "RUNNING",
        /// Every file is stored and searchable by keyword.
        Succeeded = "SUCCEEDED",
        /// It ended with an error; `last_error` has the reason.
        Failed = "FAILED",
    }

    /// A scheduled task that maintains a project's memory.
    HygieneTask, "task", {
        /// Finds duplicate records of the team.
        Duplicates = "duplicates",
        /// Reports unused records.
        Quality = "quality",
        /// Deletes records that expired long ago; counts records that the policy deletes soon.
        Expiry = "expiry",
        /// Checks the citations of records against the indexed code.
        Citations = "citations",
        /// Indexes repositories again whose last run is too old.
        Reindex = "reindex",
        /// Compares the search index with its sources and repairs differences.
        Consistency = "consistency",
        /// Stores the records of the team as one document.
        Export = "export",
        /// Finds passages without a vector and enqueues them for embedding.
        Embedding = "embedding",
        /// Deletes data that is older than the policy's retention.
        Retention = "retention",
        /// Decides on a new version of the system prompt, or searches one.
        Prompt = "prompt",
    }

    /// The state of a version of a system prompt.
    PromptState, "state", {
        /// A tenth of the developers get it.
        Canary = "canary",
        /// All others get it.
        Current = "current",
        /// Another version replaced it.
        Superseded = "superseded",
        /// It was taken back.
        RolledBack = "rolled_back",
    }

    /// The decision about records whose expiry is suspended because too many expire at once.
    ExpiryDecision, "decision", {
        /// They expire.
        Confirm = "confirm",
        /// They get a new lifetime, as if saved now.
        Extend = "extend",
    }

    /// The state of a cluster of duplicate records.
    ClusterState, "state", {
        /// Awaits a decision.
        Open = "open",
        /// Merged into one record.
        Merged = "merged",
        /// A person decided that the records differ.
        Dismissed = "dismissed",
    }
}
