//! Vocabularies of patches.

vocabularies! {
    /// The state of a patch (seed 000).
    PatchState, "state", {
        /// It was proposed, and changed no file.
        Generated = "generated",
        /// It was applied to its workspace.
        Applied = "applied",
        /// It is no longer wanted, and can't be applied.
        Discarded = "discarded",
    }

    /// What a patch run does.
    PatchRunKind, "kind", {
        /// It proposes a patch.
        Generate = "generate",
        /// It reviews a patch.
        Review = "review",
        /// It tries a patch.
        Preview = "preview",
    }

    /// What a review of a patch looks at.
    ReviewFocus, "focus", {
        /// Risky paths and lines, and the size.
        Risks = "risks",
        /// Missing and removed tests.
        Tests = "tests",
        /// Changes of the schema or the data of a database.
        Migration = "migration",
    }

    /// The verdict of a review.
    ReviewStatus, "status", {
        /// Nothing was found that matters.
        Ok = "ok",
        /// Something deserves a look.
        Warnings = "warnings",
        /// The patch must not be applied as it is.
        Blocked = "blocked",
    }

    /// The severity of a finding, from the lowest.
    Severity, "severity", {
        /// A remark.
        Low = "low",
        /// Worth a look.
        Medium = "medium",
        /// A person has to decide.
        High = "high",
        /// It must not be applied.
        Critical = "critical",
    }

    /// What a finding of a review is about.
    FindingKind, "type", {
        /// A risky path or line.
        Risk = "risk",
        /// Missing or removed tests.
        Tests = "tests",
        /// The schema or the data of a database.
        Migration = "migration",
        /// The size of the patch.
        Size = "size",
        /// Code that can't be parsed any more.
        Syntax = "syntax",
        /// The patch does not fit the files any more.
        Conflict = "conflict",
        /// A defect of the code.
        Defect = "defect",
    }

    /// The state of a patch run.
    PatchRunState, "state", {
        /// It has not ended.
        Running = "running",
        /// It has ended, and has a result.
        Completed = "completed",
        /// It was cancelled.
        Cancelled = "cancelled",
    }
}
