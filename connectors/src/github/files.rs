//! The files of pull requests.

use mc_domain::FileChange;
use serde::{Deserialize, Serialize};

use super::client::Client;
use crate::changed_files::{FileList, PAGE};
use crate::error::Error;
use crate::resource_name;
use crate::traits::{ChangedFile, ChangedFiles};

#[derive(Serialize)]
struct PageQuery {
    per_page: usize,
    page: usize,
}

#[derive(Deserialize)]
struct Item {
    filename: String,
    previous_filename: Option<String>,
    status: String,
    additions: Option<u32>,
    deletions: Option<u32>,
    /// Absent for a binary file and for a long diff.
    patch: Option<String>,
}

/// Lists the files of a pull request of the repository at `route`, which is `/repos/owner/name`.
pub(super) async fn list(
    client: &Client,
    route: &str,
    external_id: &str,
) -> Result<ChangedFiles, Error> {
    let repository = route.trim_start_matches("/repos/");
    let number = resource_name::number(&client.http, external_id, &format!("{repository}!"))?;
    let route = format!("{route}/pulls/{number}/files");
    let (mut list, mut page) = (FileList::default(), 1);
    loop {
        let items: Vec<Item> = client.get(&route, &PageQuery { per_page: PAGE, page }).await?;
        if !list.add(items.into_iter().map(Item::into_file).collect()) {
            return Ok(list.finish());
        }
        page += 1;
    }
}

impl Item {
    fn into_file(self) -> ChangedFile {
        ChangedFile {
            change: match self.status.as_str() {
                "added" | "copied" => FileChange::Added,
                "removed" => FileChange::Removed,
                "renamed" => FileChange::Renamed,
                _ => FileChange::Modified,
            },
            path: self.filename,
            previous_path: self.previous_filename,
            additions: self.additions,
            deletions: self.deletions,
            diff: self.patch,
        }
    }
}
