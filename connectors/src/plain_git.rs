//! Repositories whose host has no interface but git's own.

/// A repository of a project, by the name under which it is indexed. Where it is, and how far git may go to reach it, was
/// said by whoever had it indexed, so a connection to it leads nowhere else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainGit<'a> {
    /// Such as `pallets`; `local` for a folder.
    pub owner: &'a str,
    /// Such as `flask`.
    pub name: &'a str,
}

impl<'a> PlainGit<'a> {
    /// What connections call it in place of a system. Operators give no system this name.
    pub const SYSTEM: &'static str = "git";

    /// Reads `owner/name`.
    pub fn parse(what: &'a str) -> Option<Self> {
        let (owner, name) = what.split_once('/')?;
        let is_part = |part: &str| !part.is_empty() && !part.contains('/');
        (is_part(owner) && is_part(name)).then_some(Self { owner, name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_has_an_owner_and_a_name() {
        let read = PlainGit::parse("local/notes");
        assert_eq!(read, Some(PlainGit { owner: "local", name: "notes" }));
        for other in ["", "notes", "/notes", "local/", "a/b/c", "file:///srv/notes"] {
            assert_eq!(PlainGit::parse(other), None, "{other}");
        }
    }
}
