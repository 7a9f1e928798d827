//! Questions to a repository, each with the file that answers it.

/// A question.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Its text.
    pub text: &'a str,
    /// Path of the file that answers it.
    pub path: &'a str,
}

/// Reads a file with a question and a path in each line, separated by a tab.
pub fn parse(text: &str) -> Vec<Question<'_>> {
    let lines = text.lines().filter_map(|line| line.split_once('\t'));
    lines.map(|(text, path)| Question { text, path: path.trim() }).collect()
}

/// Returns the rank of the expected file among the files of the matches, from 1.
pub fn rank<'a>(question: Question<'_>, paths: impl Iterator<Item = &'a str>) -> Option<usize> {
    let mut files: Vec<&str> = Vec::new();
    for path in paths {
        if !files.contains(&path) {
            files.push(path);
        }
    }
    files.iter().position(|path| *path == question.path).map(|index| index + 1)
}
