//! Vocabularies of workspaces.

vocabularies! {
    /// Where the files of a workspace are.
    WorkspaceKind, "kind", {
        /// A clone of its own, which is deleted when it is not used for long.
        Clone = "clone",
        /// A directory of the service's machine that an administrator registered.
        Folder = "folder",
    }

    /// The state of a workspace.
    WorkspaceState, "state", {
        /// No node fetches it yet.
        Queued = "queued",
        /// A node fetches it.
        Fetching = "fetching",
        /// Its files can be read.
        Ready = "ready",
        /// It could not be fetched; `lastError` says why.
        Failed = "failed",
    }

    /// The phase of the work in a workspace (seed 003).
    NavigationPhase, "phase", {
        /// Files are read, and the current directory may be changed.
        Discovery = "discovery",
        /// The current directory is locked, and files below it may be changed.
        Edit = "edit",
    }

    /// The state of a command.
    CommandState, "state", {
        /// It runs, or waits for its processes to end.
        Running = "running",
        /// It has ended; the result says how.
        Completed = "completed",
        /// It was ended by a cancellation; the result has what it wrote before.
        Cancelled = "cancelled",
    }
}

impl WorkspaceState {
    /// States of a workspace whose fetch has not ended.
    pub const UNFETCHED: &'static [Self] = &[Self::Queued, Self::Fetching];
}
