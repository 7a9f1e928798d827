//! Resolving an absolute path of a machine's file system to the path within an indexed repository.

use mc_domain::ProjectId;
use mc_store::repositories::{self, Repository};
use mc_store::{Error, files};

use crate::MemoryContext;

/// Maximum number of paths below names, and of ends of the path, that are looked up. Each look-up
/// may read all file names of the project.
const MAX_LOOK_UPS: usize = 32;

/// Returns the path relative to the root of the repository that has it; `None` if no repository of
/// the project has it. The repository is found by its location, its name, or the end of the path,
/// of which at most 32 parts are compared.
pub async fn resolve_path(
    ctx: &MemoryContext,
    project: ProjectId,
    path: &str,
) -> Result<Option<String>, Error> {
    let parts = parts(path);
    let repositories = repositories::list(&ctx.store, project).await?;
    if let Some(path) = below_location(&repositories, &parts) {
        return Ok(Some(path));
    }
    let below_names = below_names(&repositories, &parts);
    // Other repositories may have directories of a repository's name, so its own paths come first.
    let candidates: Vec<_> =
        below_names.iter().take(MAX_LOOK_UPS).cloned().chain(tails(&parts)).collect();
    let found = files::first_indexed(&ctx.store, project, &candidates).await?;
    // A file name at the root, such as `README.md`, is in many repositories, so the path below a
    // repository's name wins over it, even if that path is not indexed.
    let is_telling = |path: &String| path.contains('/') || below_names.contains(path);
    let telling = found.clone().filter(is_telling);
    Ok(telling.or(below_names.last().cloned()).or(found))
}

/// Returns the parts of an absolute path, without the root.
fn parts(path: &str) -> Vec<String> {
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "." | "~"));
    parts.map(ToOwned::to_owned).collect()
}

/// Returns the path relative to the indexed directory that contains it.
fn below_location(repositories: &[Repository], parts: &[String]) -> Option<String> {
    let rest = |repository: &Repository| {
        let root = repository.location.strip_prefix('/')?;
        let root: Vec<&str> = root.split('/').filter(|part| !part.is_empty()).collect();
        let is_below = parts.len() >= root.len() && root.iter().zip(parts).all(|(a, b)| a == b);
        is_below.then(|| parts[root.len()..].join("/"))
    };
    // Of nested repositories the innermost wins.
    repositories.iter().filter_map(rest).min_by_key(String::len)
}

/// Returns the paths below each directory with the name of a repository, the longest first.
fn below_names(repositories: &[Repository], parts: &[String]) -> Vec<String> {
    let is_named =
        |part: &String| repositories.iter().any(|one| one.name.eq_ignore_ascii_case(part));
    let roots = (0..parts.len()).filter(|at| is_named(&parts[*at]));
    roots.map(|at| parts[at + 1..].join("/")).collect()
}

/// Returns the suffixes of a path with at most [`MAX_LOOK_UPS`] parts, longest first.
fn tails(parts: &[String]) -> Vec<String> {
    let starts = parts.len().saturating_sub(MAX_LOOK_UPS)..parts.len();
    starts.map(|from| parts[from..].join("/")).collect()
}

#[cfg(test)]
mod tests {
    use chrono::Utc;
    use mc_domain::RepositoryId;

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
            include_patterns: Vec::new(),
            exclude_patterns: Vec::new(),
            source_ref: String::new(),
            indexed_at: Some(Utc::now()),
        }
    }

    #[test]
    fn path_below_an_indexed_directory_is_made_relative() {
        let both = [repository("main", "/srv"), repository("shop", "/srv/shop/")];
        let below = |path| below_location(&both, &parts(path));
        assert_eq!(below("srv/shop/app/cart.rb").as_deref(), Some("app/cart.rb"));
        assert_eq!(below("srv/shop").as_deref(), Some(""));
        assert_eq!(below("srv/other/x.rb").as_deref(), Some("other/x.rb"));
        assert_eq!(below("home/me/shop/app"), None);
    }

    #[test]
    fn directory_with_the_name_of_a_repository_is_its_root() {
        let shop = [repository("Shop", "https://git.example/acme/shop.git")];
        let below = |path| below_names(&shop, &parts(path));
        assert_eq!(below("home/me/shop/app/cart.rb"), ["app/cart.rb"]);
        assert_eq!(below("home/shop/src/shop"), ["src/shop", ""], "the outermost one first");
        assert_eq!(below("home/me/bank/x"), [""; 0]);
    }

    #[test]
    fn suffixes_of_a_path_are_listed_longest_first() {
        assert_eq!(tails(&parts("a/b/c")), ["a/b/c", "b/c", "c"]);
        let deep = vec!["x".to_owned(); 100];
        assert_eq!(tails(&deep).len(), MAX_LOOK_UPS);
    }
}
