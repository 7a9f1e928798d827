//! What a model is told about each phase, by the tools and by a prompt.

use mc_domain::NavigationPhase;

/// The tools in discovery.
const DISCOVERY: &str = "\
This is the discovery phase: files are read, and nothing is changed.

- navigator works: ls, read, find and grep read the whole workspace; cd and pwd are for the \
current directory. Paths are relative to it, or absolute below /workspace.
- edit_tool, json_edit_tool, git_tool and bash are refused.

To change files, go with cd to the directory to work in, then call navigator with the subcommand \
lock_cwd. Only files below that directory can be changed then, so choose the smallest one that \
has all of them.";

/// The tools in the edit phase.
const EDIT: &str = "\
This is the edit phase: the current directory is locked, and only files below it can be changed.

- edit_tool views, creates, writes and edits text files. View the lines before you edit them, and \
again after a command or git has changed the file.
- json_edit_tool changes values of JSON files by a JSONPath and keeps the rest as it is.
- git_tool shows, stages, commits, stashes and restores changes. Nothing is pushed.
- bash runs one command in a new process in the locked directory, without a network. The rest of \
the workspace is read-only for it.
- navigator still reads the whole workspace; cd is refused.

Paths of edit_tool, json_edit_tool and git_tool are relative to the locked directory and stay \
below it. Text such as [secret:...] stands for masked text, which can't be changed.

To work in another directory, call navigator with unlock, cd and lock_cwd. Call unlock when you \
are done.";

/// Returns the instructions of a phase.
pub fn instructions(phase: NavigationPhase) -> &'static str {
    match phase {
        NavigationPhase::Discovery => DISCOVERY,
        NavigationPhase::Edit => EDIT,
    }
}
