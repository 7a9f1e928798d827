//! Files as a model sees and edits them: masked by the rules of a project, and neutralized.

use std::fmt;

use mc_files::{FileError, Root};
use mc_sanitizer::{Finding, Policy, Sanitizer};
use mc_text_edit::{
    CheckedEdit, EditError, Edited, Encoding, FileText, Limits, Listing, MAX_FILE_BYTES, RangeEdit,
    View,
};
use sha2::{Digest as _, Sha256};

use crate::Error;
use crate::navigation::EditPath;

/// Permission bits of a new file.
const PERMISSIONS: u32 = 0o644;

/// A tree, and the rules by which its files are masked.
#[derive(Debug, Clone, Copy)]
pub struct MaskedTree<'a> {
    /// The tree.
    pub root: &'a Root,
    /// The rules that find secrets and personal data.
    pub sanitizer: &'a Sanitizer,
    /// Decides which of them are masked.
    pub policy: &'a Policy,
}

/// A text file, and what of it is masked.
#[derive(Debug)]
pub struct MaskedFile {
    file: FileText,
    findings: Vec<Finding>,
}

impl MaskedFile {
    /// Returns its bytes, which are not for a model.
    pub fn bytes(&self) -> &[u8] {
        self.file.bytes()
    }

    /// Returns the file as a model sees it.
    pub fn view(&self) -> View<'_> {
        View::new(&self.file, &self.findings)
    }
}

/// Lines of a file.
#[derive(Debug)]
pub struct FileView {
    /// The lines.
    pub listing: Listing,
    /// Encoding of the file.
    pub encoding: Encoding,
    /// Size of the file, in bytes.
    pub bytes: usize,
    /// Version of the file.
    pub version: Version,
}

/// Version of a file: the hash of its bytes. It is not for a model, which could guess masked text
/// with it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Version([u8; 32]);

/// An edit that was written.
#[derive(Debug)]
pub struct AppliedEdit {
    /// The edit.
    pub edit: CheckedEdit,
    /// The state to restore.
    pub undo: Undo,
}

/// State of a file before an edit. It is restored if the file still has the version after the edit.
#[derive(Clone)]
pub struct Undo {
    path: EditPath,
    /// Bytes of the file; `None` if it did not exist.
    before: Option<Vec<u8>>,
    after: Vec<u8>,
}

impl MaskedTree<'_> {
    /// Reads lines of a text file of at most [`MAX_FILE_BYTES`]. `path` is from the root, and
    /// `range` as in [`View::listing`].
    pub fn read(
        &self,
        path: &str,
        range: Option<(i64, i64)>,
        limits: Limits,
    ) -> Result<FileView, Error> {
        let bytes = self.root.read(path, MAX_FILE_BYTES as u64).map_err(Error::only_file(path))?;
        FileView::of(path, &bytes, self.sanitizer, self.policy, range, limits)
    }

    /// Masks a text.
    pub fn mask(&self, text: &str) -> String {
        self.sanitizer.mask(text, self.policy).text.into_string()
    }

    /// Reads a text file of at most [`MAX_FILE_BYTES`]. `path` is from the root.
    pub fn file(&self, path: &str) -> Result<MaskedFile, Error> {
        let file = self.decode(path)?;
        let findings = self.findings(file.text());
        Ok(MaskedFile { file, findings })
    }

    /// Returns a file after changes of its shown text ([`mc_text_edit::replace_ranges`]). Nothing
    /// is written.
    pub fn replaced(
        &self,
        path: &str,
        file: &MaskedFile,
        edits: &[RangeEdit],
    ) -> Result<CheckedEdit, Error> {
        let edited = mc_text_edit::replace_ranges(&file.view(), edits, MAX_FILE_BYTES);
        self.checked(path, edited.map_err(Error::edit_of(path))?)
    }

    /// Returns a new file with this content. Nothing is written.
    pub fn created(&self, path: &str, content: &str) -> Result<CheckedEdit, Error> {
        let created = mc_text_edit::create(content, MAX_FILE_BYTES);
        self.checked(path, created.map_err(Error::edit_of(path))?)
    }

    /// Shows a text file to `show`, such as [`mc_text_edit::json::view`]. `path` is from the root.
    pub fn view<T>(
        &self,
        path: &str,
        show: impl FnOnce(&View<'_>) -> Result<T, EditError>,
    ) -> Result<T, Error> {
        self.shown(path, &self.decode(path)?, show)
    }

    /// Edits a text file by `edit`, such as [`mc_text_edit::str_replace`]. With `expected`, the
    /// file must have this version.
    ///
    /// Fails also if the file changes meanwhile. A change between the last check and the rename,
    /// some microseconds later, is lost.
    pub fn edit(
        &self,
        path: &EditPath,
        expected: Option<Version>,
        edit: impl FnOnce(&View<'_>) -> Result<Edited, EditError>,
    ) -> Result<AppliedEdit, Error> {
        let name = path.as_str();
        let changed = || Error::ChangedFile(name.to_owned());
        let file = match self.decode(name) {
            Err(Error::File { error: FileError::Missing, .. }) if expected.is_some() => {
                return Err(changed());
            }
            file => file?,
        };
        if expected.is_some_and(|expected| expected != Version::of(file.bytes())) {
            return Err(changed());
        }
        let edited = self.shown(name, &file, edit)?;
        let edit = self.checked(name, edited)?;
        let replaced = self.root.replace_content(name, file.bytes(), edit.bytes());
        replaced.map_err(Error::only_file(name))?;
        Ok(AppliedEdit::new(path, Some(file.bytes()), edit))
    }

    /// Creates a text file, and the directories around it. Fails if there is something at the path.
    /// Directories that it has created stay after a failure, and after it is undone.
    pub fn create(&self, path: &EditPath, content: &str) -> Result<AppliedEdit, Error> {
        let name = path.as_str();
        let edit = self.created(name, content)?;
        if let Some((directory, _)) = name.rsplit_once('/') {
            self.root.create_directories(directory).map_err(Error::at(name))?;
        }
        self.root.create(name, edit.bytes(), PERMISSIONS).map_err(Error::at(name))?;
        Ok(AppliedEdit::new(path, None, edit))
    }

    /// Replaces the text of a file, or creates it. A file with masked text is not replaced: the
    /// text would be lost. `expected` is as in [`Self::edit`].
    pub fn write(
        &self,
        path: &EditPath,
        expected: Option<Version>,
        content: &str,
    ) -> Result<AppliedEdit, Error> {
        let found = self.root.metadata(path.as_str());
        if expected.is_none() && matches!(found, Err(FileError::Missing)) {
            return self.create(path, content);
        }
        self.edit(path, expected, |view| mc_text_edit::write(view, content, MAX_FILE_BYTES))
    }

    /// Restores the bytes before an edit of the file at `path`, or deletes the file if the edit
    /// created it. Fails if the file has been changed since.
    pub fn undo(&self, path: &EditPath, undo: &Undo) -> Result<(), Error> {
        let name = path.as_str();
        let not_undone = || Error::NotUndone(name.to_owned());
        if *path != undo.path {
            return Err(not_undone());
        }
        let restored = match &undo.before {
            Some(before) => self.root.replace_content(name, &undo.after, before),
            None => match self.root.read(name, MAX_FILE_BYTES as u64) {
                Ok(content) if content == undo.after => self.root.remove(name),
                Ok(_) => Err(FileError::Changed),
                Err(error) => Err(error),
            },
        };
        restored.map_err(|error| match error {
            FileError::Changed
            | FileError::Missing
            | FileError::Link
            | FileError::Directory
            | FileError::NotADirectory
            | FileError::NotAFile
            | FileError::TooLarge(_) => not_undone(),
            error => Error::at(name)(error),
        })
    }

    fn decode(&self, path: &str) -> Result<FileText, Error> {
        let bytes = self.root.read(path, MAX_FILE_BYTES as u64).map_err(Error::only_file(path))?;
        FileText::decode(&bytes).map_err(EditError::from).map_err(Error::edit_of(path))
    }

    fn shown<T>(
        &self,
        path: &str,
        file: &FileText,
        show: impl FnOnce(&View<'_>) -> Result<T, EditError>,
    ) -> Result<T, Error> {
        let view = View::new(file, &self.findings(file.text()));
        show(&view).map_err(Error::edit_of(path))
    }

    fn findings(&self, text: &str) -> Vec<Finding> {
        self.sanitizer.mask(text, self.policy).findings
    }

    fn checked(&self, path: &str, edited: Edited) -> Result<CheckedEdit, Error> {
        let findings = self.findings(edited.text());
        edited.check_masking(&findings).map_err(Error::edit_of(path))
    }
}

impl FileView {
    /// Returns lines of a file with this content. `path` is for errors.
    pub(crate) fn of(
        path: &str,
        content: &[u8],
        sanitizer: &Sanitizer,
        policy: &Policy,
        range: Option<(i64, i64)>,
        limits: Limits,
    ) -> Result<Self, Error> {
        let file =
            FileText::decode(content).map_err(EditError::from).map_err(Error::edit_of(path))?;
        let view = View::new(&file, &sanitizer.mask(file.text(), policy).findings);
        let listing = view.listing(range, limits).map_err(Error::edit_of(path))?;
        let version = Version::of(content);
        Ok(Self { listing, encoding: file.encoding(), bytes: content.len(), version })
    }
}

impl AppliedEdit {
    fn new(path: &EditPath, before: Option<&[u8]>, edit: CheckedEdit) -> Self {
        let undo = Undo::new(path, before.map(<[u8]>::to_vec), edit.bytes().to_vec());
        Self { edit, undo }
    }
}

impl Version {
    /// Returns the version of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Version(..)")
    }
}

impl Undo {
    pub(crate) fn new(path: &EditPath, before: Option<Vec<u8>>, after: Vec<u8>) -> Self {
        Self { path: path.clone(), before, after }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &EditPath {
        &self.path
    }

    /// Returns the version of the file before the edit; `None` if it did not exist.
    pub fn version_before(&self) -> Option<Version> {
        self.before.as_deref().map(Version::of)
    }

    /// Returns the version of the file after the edit.
    pub fn version_after(&self) -> Version {
        Version::of(&self.after)
    }

    /// Returns the size of both states, in bytes.
    pub fn size(&self) -> usize {
        self.before.as_ref().map_or(0, Vec::len) + self.after.len()
    }
}

impl fmt::Debug for Undo {
    /// Without the bytes, which may have secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Undo").field("path", &self.path).finish_non_exhaustive()
    }
}
