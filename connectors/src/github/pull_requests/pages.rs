//! Lists that are read completely.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::RepositoryPullRequests;
use crate::error::Error;

/// Items on a page.
const PAGE: usize = 100;
/// Pages of a list. A longer one is an error: a decision must not depend on a part of a list.
const MAX_PAGES: usize = 30;

#[derive(Serialize)]
struct PageQuery {
    per_page: usize,
    page: usize,
}

impl RepositoryPullRequests {
    /// Reads all pages of a list; `items` returns the items of a page.
    pub(super) async fn read_all<P: DeserializeOwned, T>(
        &self,
        rest: &str,
        items: impl Fn(P) -> Vec<T>,
    ) -> Result<Vec<T>, Error> {
        let route = self.route(rest);
        let mut all = Vec::new();
        for page in 1..=MAX_PAGES {
            let query = PageQuery { per_page: PAGE, page };
            let page = items(self.client.get(&route, &query).await?);
            let is_last = page.len() < PAGE;
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
        let action = format!("to GET {route}");
        Err(self.unexpected(&action, "more than 3,000 items"))
    }
}
