//! The actions of audit events.

vocabularies! {
    /// The action that an audit event records.
    AuditAction, "action", {
        /// A record was saved; `details.outcome` has the judge's decision.
        RecordSaved = "record.saved",
        /// A record was edited; `details.fields` names what changed.
        RecordUpdated = "record.updated",
        /// A record was deleted.
        RecordDeleted = "record.deleted",
        /// A proposal was accepted.
        ProposalAccepted = "proposal.accepted",
        /// A proposal was rejected.
        ProposalRejected = "proposal.rejected",
        /// A private record was proposed to the team, or made a team record.
        RecordShared = "record.shared",
        /// A person confirmed a record.
        RecordConfirmed = "record.confirmed",
        /// A record was rolled back to an earlier version.
        RecordRolledBack = "record.rolled_back",
        /// All data of one person or source was erased.
        RecordsErased = "records.erased",
        /// A bundle was returned; `details.items` has its items.
        Recalled = "bundle.recalled",
        /// A user searched or read items; `details` has the numbers of one hour.
        MemoryRead = "memory.read",
        /// Feedback reported items of a bundle as used.
        FeedbackRecorded = "bundle.feedback_recorded",
        /// A dialog was saved.
        DialogSaved = "dialog.saved",
        /// Documents were ingested.
        DocumentsIngested = "documents.ingested",
        /// Issues of a tracker were created or updated.
        TasksSynced = "tasks.synced",
        /// Pull requests, merge requests or CI results were created or updated.
        PullRequestsSynced = "pull_requests.synced",
        /// A dialog, and perhaps records, were linked to a task.
        TaskLinked = "task.linked",
        /// The provider's data about a task was erased.
        TaskErased = "task.erased",
        /// A person approved a task comment.
        TaskCommentApproved = "task_comment.approved",
        /// A task comment was posted; `details` has its location and digest.
        TaskCommentPosted = "task_comment.posted",
        /// An index run was requested.
        IngestRunRequested = "ingest_run.requested",
        /// An index run was cancelled.
        IngestRunCancelled = "ingest_run.cancelled",
        /// A workspace was created; `details` has its repository or directory.
        WorkspaceCreated = "workspace.created",
        /// A workspace was deleted by a user.
        WorkspaceDeleted = "workspace.deleted",
        /// A patch was proposed; `details` has its files and who wrote it.
        PatchGenerated = "patch.generated",
        /// A patch was reviewed; `details` has the verdict.
        PatchReviewed = "patch.reviewed",
        /// A patch was tried; `details` has its commands and whether they succeeded.
        PatchPreviewed = "patch.previewed",
        /// A patch was discarded.
        PatchDiscarded = "patch.discarded",
        /// A repository got another name; `details` has both.
        RepositoryRenamed = "repository.renamed",
        /// A repository got another location; `details` has both.
        RepositoryRelocated = "repository.relocated",
        /// The project's policy was changed.
        PolicyChanged = "policy.changed",
        /// A reasoning schema was created or replaced.
        SgrSchemaSet = "sgr_schema.set",
        /// A reasoning schema was deleted.
        SgrSchemaDeleted = "sgr_schema.deleted",
        /// A person set a version of the system prompt.
        PromptSet = "prompt.set",
        /// A canary of a new version of the system prompt started.
        PromptCanaryStarted = "prompt.canary_started",
        /// A version of the system prompt was promoted.
        PromptPromoted = "prompt.promoted",
        /// A version of the system prompt was rolled back.
        PromptRolledBack = "prompt.rolled_back",
        /// A user or a team got or lost a role.
        MemberChanged = "member.changed",
        /// A project was created.
        ProjectCreated = "project.created",
        /// A project got another name.
        ProjectUpdated = "project.updated",
        /// A project was deleted with all its data.
        ProjectDeleted = "project.deleted",
        /// A team was created or deleted, or its members changed.
        TeamChanged = "team.changed",
        /// A user was created, disabled or changed.
        UserChanged = "user.changed",
        /// A person was invited to an account.
        UserInvited = "user.invited",
        /// A user left: the account was disabled and its access and private records removed.
        UserOffboarded = "user.offboarded",
        /// A user signed in.
        SessionCreated = "session.created",
        /// A session was revoked, or all of a user's: then `details.sessions` has their count.
        SessionRevoked = "session.revoked",
        /// A device login was approved or denied.
        DeviceLoginDecided = "device_login.decided",
        /// A personal access token was created.
        TokenCreated = "token.created",
        /// A personal access token was revoked.
        TokenRevoked = "token.revoked",
        /// A text was quarantined.
        QuarantineItemCreated = "quarantine_item.created",
        /// A quarantine item was released.
        QuarantineItemReleased = "quarantine_item.released",
        /// A person deleted a quarantine item.
        QuarantineItemDeleted = "quarantine_item.deleted",
        /// A quarantine item was deleted because its retention ended without a decision.
        QuarantineItemExpired = "quarantine_item.expired",
        /// A webhook was created or deleted, or its secret rotated.
        WebhookChanged = "webhook.changed",
        /// An integration was created, changed or deleted.
        IntegrationChanged = "integration.changed",
        /// A webhook delivery was enqueued again.
        WebhookDeliveryReplayed = "webhook_delivery.replayed",
        /// A discarded job was retried.
        JobRetried = "job.retried",
        /// A discarded job was deleted.
        JobDeleted = "job.deleted",
        /// A person requested a hygiene run.
        HygieneRunRequested = "hygiene_run.requested",
        /// A record replaced its duplicates; `details.replaced` has their ids.
        DuplicateClusterMerged = "duplicate_cluster.merged",
        /// A person decided that the records of a cluster differ.
        DuplicateClusterDismissed = "duplicate_cluster.dismissed",
        /// Hygiene demoted or deleted records; `details` has their ids and the reason.
        RecordsRetired = "records.retired",
        /// The search index was repaired; `details` has the counts.
        SearchIndexRepaired = "search_index.repaired",
        /// Access was denied.
        AccessDenied = "access.denied",
        /// The service's own audit started, and with it the lifetime of its key.
        AuditStarted = "audit.started",
        /// The audit was read, verified or exported.
        AuditRead = "audit.read",
        /// The oldest events were deleted by the policy's retention.
        AuditPruned = "audit.pruned",
    }
}
