//! `git_tool`: shows and changes the repository, limited to the locked directory.

use mc_contract::Request as _;
use mc_contract::operations::workspace_tools::{
    GitCommand, GitRequest, LineRange, StashAction, ToolResponse, required,
};
use mc_contract::text::{FreeText, GitRef};
use mc_git::{Blame, Diff, Identity, Log, Text, WorkTree};
use mc_text_edit::{Limits, MAX_FILE_BYTES};
use tokio_util::sync::CancellationToken;

use super::Workspace;
use super::git_output::masked_output;
use super::output::{MAX_BYTES, Output};
use crate::Error;
use crate::command_result::whole_start;
use crate::edit::FileView;
use crate::navigation::{Action, Navigation};
use crate::path::display;

/// Runs a subcommand of `git_tool`. `author` is the caller, unless the request names another one.
///
/// Paths are limited to the locked directory. Only `commit` includes all that is staged: staging
/// was limited to the directory that was locked then.
pub async fn git(
    workspace: &Workspace<'_>,
    navigation: &Navigation,
    author: &Identity,
    request: &GitRequest,
    cancel: &CancellationToken,
) -> Result<ToolResponse, Error> {
    request.check()?;
    workspace.check(navigation, Action::UseGit)?;
    let call = Call { workspace, navigation, request, cancel };
    let output = match request.subcommand {
        GitCommand::Add | GitCommand::Commit | GitCommand::Stash | GitCommand::Checkout => {
            call.change(author).await?
        }
        _ => call.show().await?,
    };
    Ok(output.response(navigation))
}

struct Call<'a> {
    workspace: &'a Workspace<'a>,
    navigation: &'a Navigation,
    request: &'a GitRequest,
    cancel: &'a CancellationToken,
}

impl Call<'_> {
    /// Runs a subcommand that changes nothing.
    async fn show(&self) -> Result<Output, Error> {
        let (request, tree) = (self.request, self.tree());
        let paths = self.paths()?;
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let revision = request.revision.as_ref().map(GitRef::as_str);
        let text = match request.subcommand {
            GitCommand::Status => tree.status(&paths, MAX_BYTES, self.cancel).await?,
            GitCommand::Diff => {
                let diff = Diff {
                    is_staged: request.staged.unwrap_or(false),
                    from: revision,
                    to: request.to_revision.as_ref().map(GitRef::as_str),
                    paths: &paths,
                    is_summary: request.summary.unwrap_or(false),
                };
                tree.diff(diff, MAX_BYTES, self.cancel).await?
            }
            GitCommand::Log => {
                let max_count = request.max_count.unwrap_or_default().get();
                let log = Log { revision, max_count, paths: &paths };
                tree.log(log, MAX_BYTES, self.cancel).await?
            }
            GitCommand::Blame => {
                let path = self.path()?;
                let lines = request.view_range.map(LineRange::lines);
                let blame = Blame { path: &path, revision, lines };
                tree.blame(blame, MAX_BYTES, self.cancel).await?
            }
            _ => {
                let revision = self.revision()?;
                if request.path.is_some() {
                    return self.show_file(revision).await;
                }
                tree.show(revision, &paths, MAX_BYTES, self.cancel).await?
            }
        };
        Ok(self.shown(&text))
    }

    /// Runs a subcommand that changes the tree or the repository.
    async fn change(&self, author: &Identity) -> Result<Output, Error> {
        let (request, tree, cancel) = (self.request, self.tree(), self.cancel);
        let paths = self.paths()?;
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let author = self.author(author);
        let message = request.message.as_ref().map(FreeText::as_str);
        Ok(match request.subcommand {
            GitCommand::Add => {
                let count = tree.add(&paths, cancel).await?;
                Output::new(format!("Changed files that were staged: {count}."))
            }
            GitCommand::Checkout => {
                required("checkout", "paths", request.paths.as_ref())?;
                let revision = request.revision.as_ref().map(GitRef::as_str);
                let count = tree.restore(revision, &paths, cancel).await?;
                Output::new(format!("Files that were restored: {count}."))
            }
            GitCommand::Commit => {
                let message = required("commit", "message", message.as_ref())?;
                let commit = tree.commit(message, &author, cancel).await?;
                Output::new(format!("Committed {commit}."))
            }
            _ => match required("stash", "action", request.action.as_ref())? {
                StashAction::List => self.shown(&tree.stashes(MAX_BYTES, cancel).await?),
                StashAction::Push => {
                    let message = message.unwrap_or("work in progress");
                    let is_stashed = tree.stash(message, &paths, &author, cancel).await?;
                    Output::new(if is_stashed {
                        "The changes were moved to a new entry of the stash."
                    } else {
                        "There is no change to stash."
                    })
                }
                StashAction::Pop => {
                    tree.unstash(&paths, &author, cancel).await?;
                    Output::new("The newest entry of the stash was applied and deleted.")
                }
            },
        })
    }

    /// Returns lines of a file of a commit.
    async fn show_file(&self, revision: &str) -> Result<Output, Error> {
        let path = self.path()?;
        let max = MAX_FILE_BYTES;
        let text = self.tree().show_file(revision, &path, max, self.cancel).await?;
        if text.is_cut {
            return Err(Error::FileTooLarge { path, max: max as u64 });
        }
        let range = self.request.view_range.map(LineRange::get);
        let (sanitizer, policy) = (self.workspace.sanitizer.clone(), self.workspace.policy.clone());
        let view =
            move || FileView::of(&path, &text.bytes, &sanitizer, &policy, range, Limits::default());
        // Without a result, the runtime is shutting down.
        let view = tokio::task::spawn_blocking(view).await;
        Ok(Output::of_file(view.map_err(|_| mc_git::Error::Cancelled)??))
    }

    /// Returns the paths from the root: those of the request, or the locked directory. Empty for
    /// the whole tree.
    fn paths(&self) -> Result<Vec<String>, Error> {
        let requested = self.request.paths.as_ref().map_or(&[][..], |paths| paths.items());
        let resolve = |path: &str| self.navigation.path_for_git(path);
        let mut paths: Vec<String> =
            requested.iter().map(|path| resolve(path.as_str())).collect::<Result<_, _>>()?;
        if paths.is_empty() {
            paths.push(resolve("")?);
        }
        if paths.iter().any(String::is_empty) {
            paths.clear();
        }
        Ok(paths)
    }

    fn path(&self) -> Result<String, Error> {
        let subcommand = self.request.subcommand.as_str();
        let path = required(subcommand, "path", self.request.path.as_ref())?;
        self.navigation.path_for_git(path.as_str())
    }

    fn revision(&self) -> Result<&str, Error> {
        let subcommand = self.request.subcommand.as_str();
        Ok(required(subcommand, "revision", self.request.revision.as_ref())?.as_str())
    }

    fn author(&self, caller: &Identity) -> Identity {
        let name = self.request.author_name.as_ref().map(|name| name.as_str().to_owned());
        let email = self.request.author_email.as_ref().map(|email| email.as_str().to_owned());
        Identity {
            name: name.unwrap_or_else(|| caller.name.clone()),
            email: email.unwrap_or_else(|| caller.email.clone()),
        }
    }

    fn tree(&self) -> &WorkTree {
        self.workspace.work_tree
    }

    /// Returns the output of git, masked.
    fn shown(&self, text: &Text) -> Output {
        let bytes = if text.is_cut { whole_start(&text.bytes) } else { &text.bytes };
        let shown = masked_output(&self.workspace.tree(), &String::from_utf8_lossy(bytes));
        let mut output = Output { text: shown, is_truncated: text.is_cut, ..Output::default() };
        if output.text.is_empty() {
            output = output.note("git has no output: there is nothing to show here");
        }
        if text.is_cut {
            output = output.note("the output was cut; name files, or show less at once");
        }
        if !self.navigation.cwd().is_empty() {
            let root = display("");
            output = output.note(format!("paths in the output are relative to {root}"));
        }
        output
    }
}
