//! Vocabularies of providers and their events.

vocabularies! {
    /// A provider of webhooks and integrations.
    Provider, "provider", {
        /// GitHub, hosted or Enterprise Server.
        Github = "github",
        /// GitLab, hosted or self-managed.
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

    /// The state of a webhook delivery.
    DeliveryState, "state", {
        /// Not processed yet.
        Pending = "pending",
        /// Its event was applied.
        Completed = "completed",
        /// Its event needed no action.
        Ignored = "ignored",
        /// Processing failed permanently; later deliveries are processed all the same.
        Failed = "failed",
    }

    /// A kind of data that an integration reads.
    Capability, "capability", {
        /// Issues of a tracker.
        Issues = "issues",
        /// Pages of a wiki.
        Pages = "pages",
        /// Targets of a repository's refs.
        Refs = "refs",
    }

    /// The state of a pull or merge request.
    PullRequestState, "state", {
        /// Open for review or work.
        Open = "open",
        /// Closed without a merge.
        Closed = "closed",
        /// Merged into its base branch.
        Merged = "merged",
    }

    /// The change of a file by a pull or merge request.
    FileChange, "status", {
        /// The file is new.
        Added = "added",
        /// Its content or mode changed.
        Modified = "modified",
        /// The file was deleted.
        Removed = "removed",
        /// The path changed, and possibly the content.
        Renamed = "renamed",
    }

    /// The review of a pull or merge request, over all reviewers.
    PullRequestReview, "review", {
        /// At least one reviewer approved and none requested changes.
        Approved = "approved",
        /// A reviewer requested changes.
        ChangesRequested = "changes_requested",
    }

    /// The conclusion of a CI run on a commit.
    CiConclusion, "conclusion", {
        /// Succeeded.
        Success = "success",
        /// Failed.
        Failure = "failure",
        /// Skipped, or without effect on the verdict.
        Neutral = "neutral",
        /// Stopped by a person or by a newer run.
        Cancelled = "cancelled",
        /// Still running.
        Pending = "pending",
    }

    /// The verdict of CI on a patch, over all its runs.
    CiVerdict, "ci", {
        /// At least one run succeeded and none failed.
        Passed = "passed",
        /// A run failed.
        Failed = "failed",
    }
}

impl Provider {
    /// Whether it hosts git repositories, and sends pushes.
    pub fn is_git_host(self) -> bool {
        matches!(self, Self::Github | Self::Gitlab)
    }
}

impl Capability {
    /// Returns the capabilities of a provider. The first is the default of an integration.
    pub fn of(provider: Provider) -> &'static [Self] {
        match provider {
            Provider::Github | Provider::Gitlab => &[Self::Issues, Self::Refs],
            Provider::Jira | Provider::Youtrack | Provider::Redmine => &[Self::Issues],
            Provider::Confluence => &[Self::Pages],
        }
    }
}
