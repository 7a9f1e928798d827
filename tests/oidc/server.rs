//! The provider's process: an independent, certified implementation.
#![allow(dead_code, reason = "not every test that includes it needs all of it")]

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use url::Url;

use crate::cache::cache;

/// The environment variable used as the client's secret. Cargo sets it for every test, and a test
/// cannot set one of its own.
pub const SECRET_VARIABLE: &str = "CARGO_PKG_NAME";

/// The redirect URL without a service.
pub const REDIRECT_URI: &str = "http://127.0.0.1:9/callback/corp";

/// Returns the client's secret.
pub fn secret() -> String {
    std::env::var(SECRET_VARIABLE).expect("cargo sets it")
}

/// A provider that runs until it is dropped.
pub struct Server {
    pub url: Url,
    _process: Child,
    /// The process ends when its output is closed.
    _output: Lines<BufReader<ChildStdout>>,
}

impl Server {
    /// Starts an OpenID Connect provider.
    pub async fn oidc() -> Self {
        Self::run(&[], REDIRECT_URI).await
    }

    /// Starts an OpenID Connect provider with these redirect URLs.
    pub async fn oidc_for(redirect_uris: &[String]) -> Self {
        Self::run(&[], &redirect_uris.join(" ")).await
    }

    /// Starts a provider with the endpoints and the REST API of GitHub.
    pub async fn github() -> Self {
        Self::run(&["github"], REDIRECT_URI).await
    }

    async fn run(arguments: &[&str], redirect_uris: &str) -> Self {
        let (node, directory) = installation();
        let mut process = Command::new(node)
            .arg(script("provider.mjs"))
            .arg(directory)
            .args(arguments)
            .env("CLIENT_SECRET", secret())
            .env("REDIRECT_URIS", redirect_uris)
            .env("NODE_NO_WARNINGS", "1")
            // It ends when its standard input is closed, at the latest with this process.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("node runs");
        let output = process.stdout.take().expect("its output");
        let mut output = BufReader::new(output).lines();
        let address = output.next_line().await.expect("its output");
        let address = address.expect("the provider says where it is");
        let url = address.parse().expect("an address");
        Self { url, _process: process, _output: output }
    }

    /// Returns its issuer: a URL without a trailing slash.
    pub fn issuer(&self) -> &str {
        self.url.as_str().trim_end_matches('/')
    }

    /// Forges the ID tokens of all later responses.
    pub async fn forge(&self, kind: &str) {
        let mut url = self.url.clone();
        url.path_segments_mut().expect("a path").push("tamper").push(kind);
        let answer = reqwest::get(url).await.expect("an answer");
        assert_eq!(answer.status(), 204);
    }
}

/// Returns the path of a Node program in the current checkout, which may differ from that of the
/// build.
pub fn script(name: &str) -> PathBuf {
    let package = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    Path::new(&package).join("../../tests/oidc").join(name)
}

/// Returns Node and the directory of its packages.
pub fn installation() -> (PathBuf, PathBuf) {
    let directory = cache().join("oidc-provider");
    let node = directory.join("bin/node");
    assert!(node.is_file(), "{} is missing; run `scripts/setup oidc-provider`", node.display());
    (node, directory)
}
