//! `/paths`: absolute paths on a user's machine as paths in an indexed repository.

use axum::Json;
use axum::extract::State;
use mc_domain::{Permission, ProjectKey};
use mc_store::repositories::Repository;
use mc_store::{files, repositories};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::ValidQuery;
use crate::limits;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};

/// Maximum number of path components that are tried, far above the depth of repositories.
const MAX_DEPTH: usize = 32;

/// Query of a path.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PathQuery {
    /// The project's key.
    #[param(value_type = schemas::ProjectKey, inline)]
    project_key: String,
    /// An absolute path.
    #[param(value_type = schemas::AbsolutePath, inline)]
    path: String,
}

/// A validated [`PathQuery`].
#[derive(Debug)]
pub struct ValidatedPath {
    project: ProjectKey,
    /// Its components from the root.
    parts: Vec<String>,
}

impl Validate for PathQuery {
    type Checked = ValidatedPath;

    fn check(self) -> Result<ValidatedPath, ValidationError> {
        let path = validate::line("path", &self.path, limits::PATH)?.replace('\\', "/");
        let is_drive = path.as_bytes().get(1) == Some(&b':');
        if !(path.starts_with(['/', '~']) || is_drive) {
            return Err(ValidationError::new(
                "path",
                "must be absolute, such as /home/me/shop/app/cart.rb",
            ));
        }
        let parts = path.split('/').filter(|part| !matches!(*part, "" | "." | "~"));
        let parts: Vec<_> = parts.map(ToOwned::to_owned).collect();
        if parts.iter().any(|part| part == "..") {
            return Err(ValidationError::new("path", "must not contain \"..\""));
        }
        Ok(ValidatedPath {
            project: validate::project_key("project_key", &self.project_key)?,
            parts,
        })
    }
}

/// A path in a repository.
#[derive(Debug, Serialize, ToSchema)]
pub struct PathResponse {
    /// Relative to the repository's root; empty for the root itself.
    path: String,
}

/// Resolve an absolute path to a path in an indexed repository.
#[utoipa::path(
    get, path = "/paths", tag = "projects", params(PathQuery),
    responses((status = 200, description = "The path in the repository", body = PathResponse))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery(query): ValidQuery<PathQuery>,
) -> Result<Json<PathResponse>, Problem> {
    let ctx = api.authorize(&caller, &query.project, Permission::Read).await?;
    let repositories = repositories::list(&ctx.store, ctx.project.id).await?;
    if let Some(path) = below_location(&repositories, &query.parts) {
        return Ok(Json(PathResponse { path }));
    }
    let tails = tails(&query.parts);
    let found = files::first_indexed(&ctx.store, ctx.project.id, &tails).await?;
    // A file name at the root of a repository is often that of a file elsewhere, so it comes last.
    let (found, by_name) = (found.as_deref(), below_name(&repositories, &query.parts));
    let deep = found.filter(|path| path.contains('/')).map(ToOwned::to_owned);
    let path = deep.or(by_name).or(found.map(ToOwned::to_owned));
    path.map(|path| Json(PathResponse { path })).ok_or_else(|| {
        Problem::not_found("is in none of the project's repositories")
            .field("path")
            .hint("send the path relative to the repository's root")
    })
}

/// Returns the path below the directory of an indexed repository.
fn below_location(repositories: &[Repository], parts: &[String]) -> Option<String> {
    let rest = |repository: &Repository| {
        let root = repository.location.strip_prefix('/')?;
        let root: Vec<&str> = root.split('/').filter(|part| !part.is_empty()).collect();
        let is_below = parts.len() >= root.len() && root.iter().zip(parts).all(|(a, b)| a == b);
        is_below.then(|| parts[root.len()..].join("/"))
    };
    // Of nested repositories, the inner one.
    repositories.iter().filter_map(rest).min_by_key(String::len)
}

/// Returns the path below a directory with the name of a repository.
fn below_name(repositories: &[Repository], parts: &[String]) -> Option<String> {
    let is_named =
        |part: &String| repositories.iter().any(|one| one.name.eq_ignore_ascii_case(part));
    parts.iter().rposition(is_named).map(|at| parts[at + 1..].join("/"))
}

/// Returns the ends of a path, longest first.
fn tails(parts: &[String]) -> Vec<String> {
    let first = parts.len().saturating_sub(MAX_DEPTH);
    (first..parts.len()).map(|from| parts[from..].join("/")).collect()
}

#[cfg(test)]
mod tests {
    use chrono::Utc;
    use mc_domain::{ProjectId, RepositoryId};

    use super::*;

    fn repository(name: &str, location: &str) -> Repository {
        Repository {
            id: RepositoryId::generate(),
            project_id: ProjectId::generate(),
            owner: "acme".into(),
            name: name.into(),
            namespace: format!("repo:acme/{name}"),
            location: location.into(),
            allows_private_network: false,
            source_ref: String::new(),
            indexed_at: Some(Utc::now()),
        }
    }

    fn parts(path: &str) -> Vec<String> {
        path.split('/').map(ToOwned::to_owned).collect()
    }

    #[test]
    fn a_path_below_an_indexed_directory_is_relative_to_it() {
        let both = [repository("main", "/srv"), repository("shop", "/srv/shop/")];
        let below = |path| below_location(&both, &parts(path));
        assert_eq!(below("srv/shop/app/cart.rb").as_deref(), Some("app/cart.rb"));
        assert_eq!(below("srv/shop").as_deref(), Some(""));
        assert_eq!(below("srv/other/x.rb").as_deref(), Some("other/x.rb"));
        assert_eq!(below("home/me/shop/app"), None);
    }

    #[test]
    fn a_directory_named_like_a_repository_is_its_root() {
        let shop = [repository("Shop", "https://git.example/acme/shop.git")];
        let below = |path| below_name(&shop, &parts(path));
        assert_eq!(below("home/me/shop/app/cart.rb").as_deref(), Some("app/cart.rb"));
        assert_eq!(below("home/shop/src/shop").as_deref(), Some(""), "the innermost one");
        assert_eq!(below("home/me/bank/x"), None);
    }

    #[test]
    fn the_ends_of_a_path_are_tried_longest_first() {
        assert_eq!(tails(&parts("a/b/c")), ["a/b/c", "b/c", "c"]);
        let deep = vec!["x".to_owned(); 100];
        assert_eq!(tails(&deep).len(), MAX_DEPTH);
    }
}
