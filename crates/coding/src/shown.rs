//! Patches of files as a model sees them: with secrets and personal data masked.
//!
//! A patch is stored, shown and checked in this form alone. What is masked in a file stays as it
//! is, since a patch that would change it, or write a placeholder, does not apply.

use std::collections::HashMap;
use std::ops::Range;

use mc_files::FileError;
use mc_patch::{
    Applied, Failure, FilePatch, Operation, PlannedFile, Replacement, Tolerance, plan, render,
};
use mc_text_edit::RangeEdit;
use mc_workspaces::Error as TreeError;
use mc_workspaces::edit::{MaskedFile, MaskedTree};

use crate::check::parsed;
use crate::paths::{PathProblem, PathRules};
use crate::risk::risks;
use crate::{CheckError, CheckedPatch, Limits};

/// Why a file of a patch can't be changed.
#[derive(Debug, thiserror::Error)]
pub enum FileProblem {
    /// The file can't be read, or the change touches what is masked.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The path may not be changed.
    #[error(transparent)]
    Path(#[from] PathProblem),
    /// A file with masked text would be moved or copied, perhaps to where others read it.
    #[error("has masked text, so it can't be moved or copied; have a person do it in a checkout")]
    MovesMaskedText,
}

/// A patch of files as a model sees them, checked against a tree.
#[derive(Debug)]
pub struct ShownPatch {
    /// A clean unified diff of the files that can be changed, as a model sees them.
    pub diff: String,
    /// What the patch does to the tree. The contents are those of the files: not for a model.
    pub checked: CheckedPatch<FileProblem>,
}

/// Checks a unified diff or search/replace blocks against a tree as a model sees it. Nothing is
/// changed.
pub fn check_shown(
    tree: &MaskedTree<'_>,
    text: &str,
    paths: &PathRules,
    limits: Limits,
) -> Result<ShownPatch, CheckError> {
    let patch = parsed(text.as_bytes(), limits)?;
    let risks = risks(&patch);
    let mut files = HashMap::new();
    let planned = plan(patch, Tolerance::Tolerant, |path| {
        paths.check(path)?;
        match tree.file(path) {
            Ok(file) => {
                let shown = file.view().shown().as_bytes().to_vec();
                files.insert(path.to_owned(), file);
                Ok(Some(shown))
            }
            Err(TreeError::File { error: FileError::Missing, .. }) => Ok(None),
            Err(error) => Err(FileProblem::Tree(error)),
        }
    });
    let mut diff = Vec::new();
    let checked = planned.into_iter().map(|file| {
        // Of the shown contents, before those of the files take their place.
        let rendered = |applied| render(&file.patch, file.before.as_deref(), applied);
        let shown = file.outcome.as_ref().map(rendered).unwrap_or_default();
        let file = Resolver { tree, paths, files: &files }.file(file);
        if file.outcome.is_ok() {
            diff.extend(shown);
        }
        file
    });
    let files = checked.collect();
    let diff = String::from_utf8_lossy(&diff).into_owned();
    Ok(ShownPatch { diff, checked: CheckedPatch { files, risks } })
}

/// Turns changes of shown texts into changes of files.
struct Resolver<'a> {
    tree: &'a MaskedTree<'a>,
    paths: &'a PathRules,
    files: &'a HashMap<String, MaskedFile>,
}

impl Resolver<'_> {
    fn file(&self, file: PlannedFile<FileProblem>) -> PlannedFile<FileProblem> {
        let PlannedFile { patch, before, outcome } = file;
        let old = patch.old_path().and_then(|path| self.files.get(path));
        let outcome = outcome.and_then(|applied| {
            let content = self.content(&patch, before.as_deref(), &applied, old);
            let content = content.map_err(Failure::Unreadable)?;
            Ok(Applied { content, ..applied })
        });
        let before = old.map(|file| file.bytes().to_vec());
        PlannedFile { patch, before, outcome }
    }

    /// Returns the new content of a file.
    fn content(
        &self,
        patch: &FilePatch,
        shown: Option<&[u8]>,
        applied: &Applied,
        old: Option<&MaskedFile>,
    ) -> Result<Option<Vec<u8>>, FileProblem> {
        // A path that another file leaves free was not read.
        self.paths.check(&patch.path)?;
        let Some(content) = &applied.content else { return Ok(None) };
        let edit = match old {
            None => self.tree.created(&patch.path, &String::from_utf8_lossy(content))?,
            Some(old) => {
                let is_moved = matches!(patch.operation, Operation::Rename | Operation::Copy);
                if is_moved && old.view().has_masked_text() {
                    return Err(FileProblem::MovesMaskedText);
                }
                let edits = edits(shown.unwrap_or_default(), &applied.replacements);
                self.tree.replaced(&patch.path, old, &edits)?
            }
        };
        Ok(Some(edit.bytes().to_vec()))
    }
}

/// Returns replacements of lines as changes of the shown text.
fn edits(shown: &[u8], replacements: &[Replacement]) -> Vec<RangeEdit> {
    let mut starts = vec![0];
    let mut end = 0;
    for line in shown.split_inclusive(|byte| *byte == b'\n') {
        end += line.len();
        starts.push(end);
    }
    let bytes = |lines: &Range<usize>| starts[lines.start]..starts[lines.end];
    let edit = |change: &Replacement| RangeEdit {
        shown: bytes(&change.range),
        new: String::from_utf8_lossy(&change.lines.concat()).into_owned(),
    };
    replacements.iter().map(edit).collect()
}
