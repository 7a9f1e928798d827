//! The files of merge requests.

use mc_domain::FileChange;
use serde::Deserialize;

use super::project_segments;
use crate::changed_files::{FileList, PAGE};
use crate::error::Error;
use crate::http::Http;
use crate::resource_name;
use crate::traits::{ChangedFile, ChangedFiles};

#[derive(Deserialize)]
struct Item {
    old_path: String,
    new_path: String,
    #[serde(default)]
    new_file: bool,
    #[serde(default)]
    renamed_file: bool,
    #[serde(default)]
    deleted_file: bool,
    /// Empty for a binary file, and if the diff is collapsed or too large.
    diff: Option<String>,
}

/// Lists the files of a merge request of the project with this path. GitLab has this list since
/// version 15.7.
pub(super) async fn list(
    http: &Http,
    path: &str,
    external_id: &str,
) -> Result<ChangedFiles, Error> {
    let iid = resource_name::number(http, external_id, &format!("{path}!"))?.to_string();
    let action = format!("to list the files of {external_id}");
    let segments = project_segments(path, &["merge_requests", &iid, "diffs"]);
    let (mut list, mut page) = (FileList::default(), 1_usize);
    loop {
        let (size, number) = (PAGE.to_string(), page.to_string());
        let query = [("per_page", size.as_str()), ("page", number.as_str())];
        let items: Vec<Item> = http.get(&segments, &query, &action).await?;
        if !list.add(items.into_iter().map(Item::into_file).collect()) {
            return Ok(list.finish());
        }
        page += 1;
    }
}

impl Item {
    /// GitLab sends no numbers of lines: they are counted in the diff.
    fn into_file(self) -> ChangedFile {
        let change = match self {
            Self { new_file: true, .. } => FileChange::Added,
            Self { deleted_file: true, .. } => FileChange::Removed,
            Self { renamed_file: true, .. } => FileChange::Renamed,
            _ => FileChange::Modified,
        };
        let diff = self.diff.filter(|diff| !diff.is_empty());
        let lines = |sign| diff.as_deref().map(|diff| count_lines(diff, sign));
        let (additions, deletions) = (lines('+'), lines('-'));
        let previous_path = (change == FileChange::Renamed).then_some(self.old_path);
        ChangedFile { path: self.new_path, previous_path, change, additions, deletions, diff }
    }
}

/// Counts the lines with this sign. A diff of GitLab has hunks alone, without a header of files.
fn count_lines(diff: &str, sign: char) -> u32 {
    let count = diff.lines().filter(|line| line.starts_with(sign)).count();
    u32::try_from(count).unwrap_or(u32::MAX)
}
