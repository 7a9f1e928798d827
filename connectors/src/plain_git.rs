//! Repositories whose host has no API but git's. The ingest run of such a repository has set its
//! address and its network permissions, so an integration with it reaches nothing else.

/// The name that integrations use in place of a connector's. No connector may have it.
pub const PLAIN_GIT: &str = "git";

/// Parses `owner/name` of an indexed repository, such as `pallets/flask` or `local/shop`.
pub fn parse_plain_git(resource: &str) -> Option<(&str, &str)> {
    let is_part = |part: &str| !part.is_empty() && !part.contains('/');
    resource.split_once('/').filter(|(owner, name)| is_part(owner) && is_part(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_git_resource_has_an_owner_and_a_name() {
        assert_eq!(parse_plain_git("local/notes"), Some(("local", "notes")));
        for other in ["", "notes", "/notes", "local/", "a/b/c", "file:///srv/notes"] {
            assert_eq!(parse_plain_git(other), None, "{other}");
        }
    }
}
