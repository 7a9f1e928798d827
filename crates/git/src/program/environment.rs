//! Settings and environment of git.

use tokio::process::Command;

use super::{Git, is_http};

/// Settings that the configuration of a repository cannot override. They prevent git from running
/// code of the repository, and restrict its transports.
pub(super) const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.autocrlf=false",
    // Git streams larger files instead of loading them into memory.
    "core.bigFileThreshold=16m",
    "core.packedGitLimit=512m",
    "core.packedGitWindowSize=64m",
    "core.pager=cat",
    "credential.helper=",
    "fetch.recurseSubmodules=false",
    // A fetch stores packs instead of single objects, so its size can be measured while it runs.
    "fetch.unpackLimit=1",
    "gc.auto=0",
    // Credentials of the service's user are not offered to hosts.
    "http.emptyAuth=false",
    "maintenance.auto=false",
    // Each thread reserves address space, which is limited.
    "pack.threads=2",
    "protocol.allow=never",
    "protocol.fd.allow=always",
    "protocol.https.allow=always",
    "submodule.recurse=false",
    // Everything is fetched from the requested URL, even if the host names others.
    "transfer.bundleURI=false",
];

/// Home directory without `.netrc`, `.gitconfig` or attributes, in which no process can create any.
/// If it were not set, git would read them in the home directory of the service's user.
pub(super) const NO_HOME: &str = "/dev/null";

/// Environment variables, besides all of git's own, that would change the behavior of git.
const REMOVED_VARIABLES: [&str; 2] = ["SSH_ASKPASS", "SUDO_UID"];
/// Start of the names of git's own variables.
const OF_GIT: &str = "GIT_";

/// Environment variables that git gets if it runs as another user. Other variables may contain
/// secrets of the service, such as the password of its database or credentials of connectors.
const ALLOWED_VARIABLES: &str = "
    PATH LD_LIBRARY_PATH SSL_CERT_FILE SSL_CERT_DIR GIT_SSL_CAINFO GIT_SSL_CAPATH GIT_SSL_NO_VERIFY
    http_proxy https_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY
";

impl Git {
    /// Sets the environment variables of a process of git.
    pub(super) fn set_environment(&self, command: &mut Command) {
        if self.user.is_some() {
            command.env_clear();
            let passed = ALLOWED_VARIABLES.split_whitespace();
            command.envs(passed.filter_map(|name| Some((name, std::env::var_os(name)?))));
        }
        remove_variables(command);
        let protocol = match &self.url {
            None => "",
            Some(url) if is_http(url) => "https",
            Some(_) => "fd",
        };
        command
            .env("HOME", NO_HOME)
            .env("XDG_CONFIG_HOME", NO_HOME)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ALLOW_PROTOCOL", protocol)
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            // A lazy fetch starts a second git, which cannot share the connection.
            .env("GIT_NO_LAZY_FETCH", if protocol == "https" { "0" } else { "1" })
            .env("LC_ALL", "C");
        if let Some(index) = &self.index {
            command.env("GIT_INDEX_FILE", index);
        }
        // Unlike `-c`, this way allows any character in a name.
        command.env("GIT_CONFIG_COUNT", self.overrides.len().to_string());
        for (number, (name, value)) in self.overrides.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{number}"), name);
            command.env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
    }
}

/// Removes the environment variables that would change the behavior of git, or of a program that it
/// is connected to.
pub(super) fn remove_variables(command: &mut Command) {
    let allowed = || ALLOWED_VARIABLES.split_whitespace();
    for (name, _) in std::env::vars_os() {
        let is_of_git = name.to_str().is_some_and(|name| name.starts_with(OF_GIT));
        if is_of_git && !allowed().any(|allowed| name == allowed) {
            command.env_remove(name);
        }
    }
    for name in REMOVED_VARIABLES {
        command.env_remove(name);
    }
}
