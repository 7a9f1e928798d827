//! Files of pull requests, within limits of number and size.

use crate::event::field;
use crate::traits::{ChangedFile, ChangedFiles, MAX_DIFF_BYTES, MAX_DIFFS_BYTES, MAX_FILES};

/// Files on a page of a list.
pub(crate) const PAGE: usize = 100;
/// Characters of a path; a longer one is left out.
const PATH: usize = 1_024;

/// Files that are read page by page.
#[derive(Default)]
pub(crate) struct FileList {
    files: Vec<ChangedFile>,
    diff_bytes: usize,
    has_left_out: bool,
    has_more: bool,
}

impl FileList {
    /// Adds a page of the list; returns whether to read the next one. Once [`MAX_FILES`] are
    /// stored, one more page is read to see whether the list is longer.
    pub(crate) fn add(&mut self, page: Vec<ChangedFile>) -> bool {
        let is_full = page.len() >= PAGE;
        for file in page {
            self.add_file(file);
        }
        is_full && !self.has_more
    }

    pub(crate) fn finish(self) -> ChangedFiles {
        ChangedFiles { files: self.files, is_complete: !(self.has_left_out || self.has_more) }
    }

    fn add_file(&mut self, mut file: ChangedFile) {
        let is_named = field::is_line(&file.path, PATH);
        self.has_left_out |= !is_named;
        self.has_more |= self.files.len() >= MAX_FILES;
        if !is_named || self.has_more {
            return;
        }
        file.previous_path = file.previous_path.filter(|path| field::is_line(path, PATH));
        file.diff = file.diff.take().filter(|diff| self.fits(diff));
        self.diff_bytes += file.diff.as_ref().map_or(0, String::len);
        self.files.push(file);
    }

    /// Also rejects the character that PostgreSQL can't store.
    fn fits(&self, diff: &str) -> bool {
        (1..=MAX_DIFF_BYTES).contains(&diff.len())
            && self.diff_bytes + diff.len() <= MAX_DIFFS_BYTES
            && !diff.contains('\0')
    }
}

#[cfg(test)]
mod tests {
    use mc_domain::FileChange;

    use super::*;

    fn file(number: usize, diff: &str) -> ChangedFile {
        ChangedFile {
            path: format!("src/{number}.rs"),
            previous_path: None,
            change: FileChange::Modified,
            additions: None,
            deletions: None,
            diff: Some(diff.to_owned()),
        }
    }

    #[test]
    fn list_is_limited_in_files_and_diffs() {
        let mut list = FileList::default();
        let page = |from: usize| (from..from + PAGE).map(|n| file(n, &"+".repeat(8_000))).collect();
        assert!(list.add(page(0)) && list.add(page(100)) && list.add(page(200)));
        assert!(!list.add(page(300)), "more files than are read");
        let ChangedFiles { files, is_complete } = list.finish();
        let diffs: usize = files.iter().filter_map(|file| Some(file.diff.as_ref()?.len())).sum();
        assert_eq!((files.len(), is_complete, diffs), (300, false, 131 * 8_000));
    }

    #[test]
    fn list_of_as_many_files_as_are_read_is_complete() {
        let mut list = FileList::default();
        let page = |from: usize| (from..from + PAGE).map(|n| file(n, "+")).collect();
        assert!(list.add(page(0)) && list.add(page(100)) && list.add(page(200)));
        assert!(!list.add(Vec::new()));
        let ChangedFiles { files, is_complete } = list.finish();
        assert_eq!((files.len(), is_complete), (MAX_FILES, true));
    }

    #[test]
    fn diff_is_whole_or_absent() {
        let mut list = FileList::default();
        let long = "+".repeat(MAX_DIFF_BYTES + 1);
        let diffs = ["+fine", &long, "+\0", ""];
        assert!(!list.add((0..).zip(diffs).map(|(n, diff)| file(n, diff)).collect()));
        let ChangedFiles { files, is_complete } = list.finish();
        let diffs: Vec<_> = files.iter().map(|file| file.diff.as_deref()).collect();
        assert_eq!((diffs, is_complete), (vec![Some("+fine"), None, None, None], true));
    }

    #[test]
    fn file_with_an_unusable_path_is_left_out() {
        let mut list = FileList::default();
        list.add(vec![ChangedFile { path: "a\nb".to_owned(), ..file(0, "+") }, file(1, "+")]);
        let ChangedFiles { files, is_complete } = list.finish();
        assert_eq!((files.len(), is_complete), (1, false));
    }
}
