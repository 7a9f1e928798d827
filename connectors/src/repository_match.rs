//! Whether a push is to what somebody has of a repository.

use url::Url;

use crate::event::{Push, WikiPush};

impl Push {
    /// Whether it is to the repository at this address, by whichever way that is reached. Hosts of git take
    /// paths in any case.
    pub fn is_of(&self, location: &str) -> bool {
        is_one_of(&self.urls, location)
    }

    /// Whether it changes what a ref stands for that is asked for: a branch or tag, in full or by its name, or
    /// the default branch where it is empty.
    pub fn updates_ref(&self, asked_for: &str) -> bool {
        if asked_for.is_empty() {
            return self.is_default;
        }
        let kinds = ["refs/heads/", "refs/tags/"];
        let mut named = kinds.iter().filter_map(|kind| self.reference.strip_prefix(kind));
        self.reference == asked_for || named.any(|name| name == asked_for)
    }
}

impl WikiPush {
    /// Whether its pages are in the repository at this address, by whichever way that is reached.
    pub fn is_of(&self, location: &str) -> bool {
        is_one_of(&self.urls, location)
    }
}

fn is_one_of(urls: &[String], location: &str) -> bool {
    let Some(wanted) = place(location) else { return false };
    urls.iter().any(|url| place(url).as_ref() == Some(&wanted))
}

/// Host and path, in small letters and without `.git`.
fn place(address: &str) -> Option<(String, String)> {
    let (host, path) = match Url::parse(address) {
        Ok(url) if url.has_host() => (url.host_str()?.to_owned(), url.path().to_owned()),
        _ => {
            // As scp has it: user@host:path.
            let (login, path) = address.split_once(':')?;
            (login.rsplit('@').next()?.to_owned(), path.to_owned())
        }
    };
    let path = path.trim_matches('/').to_ascii_lowercase();
    let path = path.strip_suffix(".git").unwrap_or(&path);
    (!host.is_empty() && !path.is_empty()).then(|| (host.to_ascii_lowercase(), path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(reference: &str, is_default: bool) -> Push {
        Push {
            path: "Shop/core".to_owned(),
            urls: vec![
                "https://git.example.org/Shop/core.git".to_owned(),
                "git@git.example.org:Shop/core.git".to_owned(),
            ],
            reference: reference.to_owned(),
            is_default,
            after: Some("a".repeat(40)),
            is_forced: false,
            commits: Vec::new(),
        }
    }

    #[test]
    fn a_repository_is_known_however_it_is_reached() {
        let push = push("refs/heads/main", true);
        for location in [
            "https://git.example.org/Shop/core.git",
            "https://git.example.org/shop/core",
            "https://reader@git.example.org:8443/shop/core/",
            "ssh://git@git.example.org/Shop/core.git",
            "git@GIT.example.org:shop/core.git",
        ] {
            assert!(push.is_of(location), "{location}");
        }
        for location in [
            "https://git.example.com/shop/core",
            "https://git.example.org/shop/core-ui",
            "https://git.example.org/other/shop/core",
            "/srv/git/shop/core",
            "file:///srv/git/shop/core.git",
            "https://git.example.org",
            "",
        ] {
            assert!(!push.is_of(location), "{location}");
        }
    }

    #[test]
    fn only_what_is_asked_for_is_moved() {
        let main = push("refs/heads/main", true);
        assert!(
            main.updates_ref("") && main.updates_ref("main") && main.updates_ref("refs/heads/main")
        );
        assert!(!main.updates_ref("wip") && !main.updates_ref("refs/tags/main"));
        let wip = push("refs/heads/team/wip", false);
        assert!(!wip.updates_ref("") && wip.updates_ref("team/wip") && !wip.updates_ref("wip"));
        let tag = push("refs/tags/v1", false);
        assert!(tag.updates_ref("v1") && !tag.updates_ref(""));
    }
}
