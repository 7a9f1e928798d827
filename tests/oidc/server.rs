//! The provider's process: a certified implementation that this project did not write.
#![allow(dead_code, reason = "not every test that includes it needs all of it")]

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use url::Url;

use crate::cache::cache;

/// The variable that stands for the client's secret: cargo sets it for every test, and a test can't
/// set one of its own.
pub const SECRET_VARIABLE: &str = "CARGO_PKG_NAME";

/// Where it sends browsers back to where there is no service.
pub const REDIRECT_URI: &str = "http://127.0.0.1:9/callback/corp";

/// The client's secret.
pub fn secret() -> String {
    std::env::var(SECRET_VARIABLE).expect("cargo sets it")
}

/// A provider that runs until it is dropped.
pub struct Server {
    pub url: Url,
    _process: Child,
    /// It ends at once if nobody could read what it says.
    _output: Lines<BufReader<ChildStdout>>,
}

impl Server {
    /// An OpenID Connect provider.
    pub async fn oidc() -> Self {
        Self::run(&[], REDIRECT_URI).await
    }

    /// The same for a service that browsers come back to at one of these addresses.
    pub async fn oidc_for(redirect_uris: &[String]) -> Self {
        Self::run(&[], &redirect_uris.join(" ")).await
    }

    /// The same with its endpoints where GitHub has them, and GitHub's REST API.
    pub async fn github() -> Self {
        Self::run(&["github"], REDIRECT_URI).await
    }

    async fn run(arguments: &[&str], redirect_uris: &str) -> Self {
        let (node, folder) = installation();
        let mut process = Command::new(node)
            .arg(script("provider.mjs"))
            .arg(folder)
            .args(arguments)
            .env("CLIENT_SECRET", secret())
            .env("REDIRECT_URIS", redirect_uris)
            .env("NODE_NO_WARNINGS", "1")
            // It ends when its standard input does, which is when this process is gone.
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

    /// Its issuer: an address without a slash at the end.
    pub fn issuer(&self) -> &str {
        self.url.as_str().trim_end_matches('/')
    }

    /// Has it forge the ID tokens of all later answers.
    pub async fn forge(&self, kind: &str) {
        let mut url = self.url.clone();
        url.path_segments_mut().expect("a path").push("tamper").push(kind);
        let answer = reqwest::get(url).await.expect("an answer");
        assert_eq!(answer.status(), 204);
    }
}

/// A program for node of the checkout at hand, which need not be the one that this was built in.
pub fn script(name: &str) -> PathBuf {
    let package = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    Path::new(&package).join("../../tests/oidc").join(name)
}

/// Node, and the folder with its packages.
pub fn installation() -> (PathBuf, PathBuf) {
    let folder = cache().join("oidc-provider");
    let node = folder.join("bin/node");
    assert!(node.is_file(), "{} is missing; run `scripts/setup oidc-provider`", node.display());
    (node, folder)
}
