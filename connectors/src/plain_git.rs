//! Repositories whose host has no API but git's.

/// A repository of a project, by the name under which it is indexed. The ingest run has set its
/// address and its network permissions, so an integration with it reaches nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainGit<'a> {
    /// Such as `pallets`; `local` for a directory.
    pub owner: &'a str,
    /// Such as `flask`.
    pub name: &'a str,
}

impl<'a> PlainGit<'a> {
    /// The name that integrations use in place of a connector's. No connector may have it.
    pub const CONNECTOR_NAME: &'static str = "git";

    /// Parses `owner/name`.
    pub fn parse(resource: &'a str) -> Option<Self> {
        let (owner, name) = resource.split_once('/')?;
        let is_part = |part: &str| !part.is_empty() && !part.contains('/');
        (is_part(owner) && is_part(name)).then_some(Self { owner, name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_git_resource_has_an_owner_and_a_name() {
        let parsed = PlainGit::parse("local/notes");
        assert_eq!(parsed, Some(PlainGit { owner: "local", name: "notes" }));
        for other in ["", "notes", "/notes", "local/", "a/b/c", "file:///srv/notes"] {
            assert_eq!(PlainGit::parse(other), None, "{other}");
        }
    }
}
