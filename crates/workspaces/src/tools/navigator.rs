//! `navigator`: reads the workspace, and moves between the phases.

use mc_contract::Request as _;
use mc_contract::operations::workspace_tools::{
    LineRange, NavigatorCommand, NavigatorRequest, ToolResponse, required,
};
use mc_contract::text::{Glob, WorkspacePath};
use mc_files::FileKind;
use mc_text_edit::Limits;

use super::output::{Output, one_line};
use super::{EditHistory, Workspace, instructions};
use crate::list::Entry;
use crate::navigation::Navigation;
use crate::path::display;
use crate::{Error, find, grep, list};

/// Runs a subcommand of `navigator`.
pub fn navigator(
    workspace: &Workspace<'_>,
    navigation: &mut Navigation,
    history: &mut EditHistory,
    request: &NavigatorRequest,
) -> Result<ToolResponse, Error> {
    request.check()?;
    let call = Call { workspace, request };
    let output = match request.subcommand {
        NavigatorCommand::Cd => {
            navigation.cd(workspace.root, call.path()?)?;
            Output::new(format!("CWD is now {}", display(navigation.cwd())))
        }
        NavigatorCommand::Pwd => Output::new(display(navigation.cwd())),
        NavigatorCommand::Ls => call.ls(navigation)?,
        NavigatorCommand::Read => call.read(navigation, history)?,
        NavigatorCommand::Find => call.find(navigation)?,
        NavigatorCommand::Grep => call.grep(navigation)?,
        NavigatorCommand::LockCwd => {
            workspace.check_editable()?;
            navigation.lock_cwd(workspace.root)?;
            Output::new(instructions(navigation))
        }
        NavigatorCommand::Unlock => {
            navigation.unlock();
            Output::new(instructions(navigation))
        }
    };
    Ok(output.response(navigation))
}

/// Returns the response to the start of a navigation: the instructions of its phase.
pub fn started(navigation: &Navigation) -> ToolResponse {
    Output::new(instructions(navigation)).response(navigation)
}

struct Call<'a> {
    workspace: &'a Workspace<'a>,
    request: &'a NavigatorRequest,
}

impl Call<'_> {
    fn ls(&self, navigation: &Navigation) -> Result<Output, Error> {
        let path = self.path_or_cwd(navigation)?;
        let listing = list::list(self.workspace.root, &path, self.max_results())?;
        let mut output = self.lines(listing.entries.iter().map(shown_entry));
        if listing.omitted_entries > 0 {
            let omitted = listing.omitted_entries;
            output.is_truncated = true;
            output = output.note(format!(
                "entries that are not shown: {omitted}; set max_results to see them"
            ));
        }
        if listing.is_partial {
            output.is_truncated = true;
            output = output.note("the directory has more entries than can be read");
        }
        Ok(output)
    }

    fn read(&self, navigation: &Navigation, history: &mut EditHistory) -> Result<Output, Error> {
        let path = navigation.path_to_read(self.path()?)?;
        let range = self.request.view_range.map(LineRange::get);
        let view = self.workspace.tree().read(&path, range, Limits::default())?;
        history.see(&path, view.version);
        Ok(Output::of_file(view))
    }

    fn find(&self, navigation: &Navigation) -> Result<Output, Error> {
        let path = self.path_or_cwd(navigation)?;
        let found = find::find(self.workspace.root, &path, self.pattern()?, self.max_results())?;
        let output = self.lines(found.paths.iter().map(|path| one_line(&display(path))));
        Ok(searched(output, found.is_partial, "nothing matches the glob"))
    }

    fn grep(&self, navigation: &Navigation) -> Result<Output, Error> {
        let path = self.path_or_cwd(navigation)?;
        let query = grep::Query {
            path: &path,
            pattern: self.pattern()?,
            is_literal: self.request.literal.unwrap_or(false),
            ignores_case: self.request.ignore_case.unwrap_or(false),
            glob: self.request.glob.as_ref().map(Glob::as_str),
            max_matches: self.max_results(),
        };
        let found = grep::grep(self.workspace.tree(), query)?;
        let line = |found: &grep::Match| {
            format!("{}:{}:{}", one_line(&display(&found.path)), found.line, found.text)
        };
        let mut output = self.lines(found.lines.iter().map(line));
        if found.skipped > 0 {
            let skipped = found.skipped;
            output = output
                .note(format!("skipped files, which are large, binary or unreadable: {skipped}"));
        }
        Ok(searched(output, found.is_partial, "no line matches"))
    }

    /// Returns lines, masked together with their names.
    fn lines(&self, lines: impl Iterator<Item = String>) -> Output {
        let mut output = Output::of_lines(lines);
        output.text = self.workspace.tree().mask(&output.text);
        output
    }

    fn path(&self) -> Result<&str, Error> {
        let subcommand = self.request.subcommand.as_str();
        Ok(required(subcommand, "path", self.request.path.as_ref())?.as_str())
    }

    fn path_or_cwd(&self, navigation: &Navigation) -> Result<String, Error> {
        navigation.path_to_read(self.request.path.as_ref().map_or("", WorkspacePath::as_str))
    }

    fn pattern(&self) -> Result<&str, Error> {
        let subcommand = self.request.subcommand.as_str();
        Ok(required(subcommand, "pattern", self.request.pattern.as_ref())?.as_str())
    }

    fn max_results(&self) -> usize {
        self.request.max_results.unwrap_or_default().get()
    }
}

fn searched(mut output: Output, is_partial: bool, nothing: &str) -> Output {
    if output.text.is_empty() && !is_partial {
        return output.note(nothing);
    }
    output.is_truncated |= is_partial;
    if output.is_truncated {
        return output.note("there may be more; narrow the path, the pattern or the glob");
    }
    output
}

fn shown_entry(entry: &Entry) -> String {
    let name = one_line(&entry.name);
    match entry.kind {
        FileKind::Directory => format!("dir  {:>10} {name}/", ""),
        FileKind::File => format!("file {:>10} {name}", entry.bytes),
        FileKind::Link => format!("link {:>10} {name}", ""),
        FileKind::Other => format!("other{:>10} {name}", ""),
    }
}
