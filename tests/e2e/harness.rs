//! A real service for a scenario: its own data directory and port, the real model.

use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, geteuid, prlimit};
use serde_json::{Value, json};

/// Timeout of a start. Tests wait for a condition; this limits the wait.
const START_TIMEOUT: Duration = Duration::from_mins(2);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Starts a service, and mounts a small disk that only this service sees.
const MOUNT_SMALL_DISK: &str =
    "mount -t tmpfs -o size=$2,mode=711 tmpfs \"$1\" && exec \"$0\" serve";
/// Starts a service, and mounts a directory below /opt that only this service sees.
const MOUNT_DIRECTORY: &str = "mount -t tmpfs -o mode=755 tmpfs /opt && mkdir -p \"$2\" && \
                               mount --bind \"$1\" \"$2\" && shift 2 && exec \"$0\" \"$@\" serve";
/// Size of a small disk for the index.
const INDEX_DISK: &str = "32m";
/// Size of a small disk for a data directory with an embedded PostgreSQL.
const DATA_DISK: &str = "400m";

/// Returns the binary under test: that of `make attack` is a release build.
pub fn binary() -> &'static Path {
    static BINARY: LazyLock<PathBuf> = LazyLock::new(|| {
        let chosen = std::env::var_os("MEMORY_COPILOT_BINARY");
        chosen.map_or_else(|| env!("CARGO_BIN_EXE_memory-copilot").into(), PathBuf::from)
    });
    &BINARY
}

/// A service and its data directory.
pub struct Service {
    /// The data directory, which has the token.
    pub data_dir: PathBuf,
    /// The base URL.
    pub url: String,
    /// The configuration file, if any.
    pub config: Option<PathBuf>,
    settings: Vec<(&'static str, PathBuf)>,
    process: Option<Child>,
    /// Where the small disk is mounted, if one is.
    small_disk: PathBuf,
    client: reqwest::Client,
    // Dropped last.
    _folder: tempfile::TempDir,
}

impl Service {
    /// Starts a service on its embedded PostgreSQL.
    pub async fn embedded() -> Self {
        let mut service = Self::prepared();
        service.launch().await;
        service
    }

    /// Starts a service with a self-signed certificate, which commands trust.
    pub async fn encrypted() -> Self {
        let mut service = Self::prepared();
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let issued = rcgen::generate_simple_self_signed(names).expect("a certificate");
        let directory = service._folder.path();
        let (certificate, key) = (directory.join("certificate.pem"), directory.join("key.pem"));
        std::fs::write(&certificate, issued.cert.pem()).expect("a file");
        std::fs::write(&key, issued.signing_key.serialize_pem()).expect("a file");
        std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600))
            .expect("permissions");
        let trusted = reqwest::Certificate::from_der(issued.cert.der()).expect("a certificate");
        let client = reqwest::Client::builder().no_proxy().tls_certs_only([trusted]);
        service.client = client.build().expect("a client");
        service.url = service.url.replace("http:", "https:");
        service.settings.extend([
            ("MEMORY_COPILOT__SERVER__TLS__CERTIFICATE", certificate.clone()),
            ("MEMORY_COPILOT__SERVER__TLS__KEY", key),
            ("MEMORY_COPILOT__CLIENT__CA_CERTIFICATE", certificate),
        ]);
        service.launch().await;
        service
    }

    /// Prepares a service without starting it.
    pub fn prepared() -> Self {
        let directory = tempfile::Builder::new()
            .prefix("memory-copilot-e2e-")
            .tempdir()
            .expect("a temporary folder");
        // The database's own user must be able to enter the directory.
        open_for_passage(directory.path());
        let port = free_port();
        let listen = format!("127.0.0.1:{port}");
        let data_dir = directory.path().join("data");
        Self {
            settings: vec![
                ("MEMORY_COPILOT__DATA_DIR", data_dir.clone()),
                ("MEMORY_COPILOT__SERVER__LISTEN", listen.clone().into()),
            ],
            data_dir,
            config: None,
            url: format!("http://{listen}"),
            process: None,
            small_disk: PathBuf::new(),
            client: direct_client(),
            _folder: directory,
        }
    }

    /// Writes the configuration file that the service and commands read.
    pub fn write_config(&mut self, yaml: &str) {
        let file = self.data_dir.with_file_name("memory-copilot.yaml");
        std::fs::write(&file, yaml).expect("a file");
        self.config = Some(file);
    }

    /// Returns a check of `doctor`.
    pub fn doctor(&self, check: &str) -> Option<serde_json::Value> {
        let output = self.command(&["--json", "doctor"]).output().expect("doctor runs");
        let checks: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let checks = checks.as_array().expect("a list of checks");
        checks.iter().find(|found| found["check"] == check).cloned()
    }

    /// Returns a command of the binary with this service's environment.
    pub fn command(&self, args: &[&str]) -> Command {
        self.complete(Command::new(binary()), args)
    }

    /// Returns a command of the binary that inherits an umask without restrictions.
    pub fn command_without_umask(&self, args: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "umask 000; exec \"$0\" \"$@\""]).arg(binary());
        self.complete(command, args)
    }

    fn complete(&self, mut command: Command, args: &[&str]) -> Command {
        command.args(self.config.iter().flat_map(|file| [OsStr::new("--config"), file.as_ref()]));
        command.args(args);
        self.surround(&mut command);
        command
    }

    fn surround(&self, command: &mut Command) {
        command.env_remove("DATABASE_URL").env_remove("MEMORY_COPILOT_PROJECT");
        command.envs(self.environment().iter().map(|(name, value)| (name, value)));
    }

    /// Returns the environment that connects a process to this service.
    pub fn environment(&self) -> &[(&'static str, PathBuf)] {
        &self.settings
    }

    /// Returns the value of a variable of [`environment`](Self::environment).
    pub fn setting(&self, wanted: &str) -> &Path {
        let found = self.settings.iter().find(|(name, _)| *name == wanted);
        found.map(|(_, value)| value.as_path()).expect("a setting of this service")
    }

    /// Sets a variable for the next start.
    pub fn set(&mut self, name: &'static str, value: PathBuf) {
        self.settings.retain(|(known, _)| *known != name);
        self.settings.push((name, value));
    }

    /// Starts or restarts the process and waits until it is ready.
    pub async fn launch(&mut self) {
        let command = self.command(&["serve"]);
        self.launch_by(command).await;
    }

    /// Starts the process by this command and waits until it is ready.
    pub async fn launch_by(&mut self, mut command: Command) {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(self.open_log())
            .spawn()
            .expect("the service starts");
        self.process = Some(child);
        self.until_ready().await;
    }

    /// Starts the process so that [`Service::fill_the_disk`] works. Its log goes through a pipe,
    /// which is not a file.
    pub async fn launch_on_a_small_disk(&mut self) {
        let index = self.index_dir();
        if geteuid().is_root() {
            return self.launch_mounted(index, INDEX_DISK).await;
        }
        // The shell ignores the signal that would end the process, and so does the program that it
        // executes.
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' XFSZ; exec \"$0\" serve"]).arg(binary());
        self.launch_piped(command).await;
    }

    /// Starts the process, as root, with its data directory on a small disk.
    pub async fn launch_with_a_small_data_disk(&mut self) {
        self.launch_mounted(self.data_dir.clone(), DATA_DISK).await;
    }

    /// Starts the process, as root, with a directory at a path below /opt.
    pub async fn launch_with_directory(&mut self, directory: &Path, path: &str) {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", MOUNT_DIRECTORY]);
        command.arg(binary()).arg(directory).arg(path);
        command.args(self.config.iter().flat_map(|file| [OsStr::new("--config"), file.as_ref()]));
        self.launch_piped(command).await;
    }

    async fn launch_mounted(&mut self, directory: PathBuf, size: &str) {
        std::fs::create_dir_all(&directory).expect("a directory");
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", MOUNT_SMALL_DISK]);
        command.arg(binary()).arg(&directory).arg(size);
        self.small_disk = directory;
        self.launch_piped(command).await;
    }

    async fn launch_piped(&mut self, mut command: Command) {
        self.surround(&mut command);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the service starts");
        let mut said = child.stderr.take().expect("a pipe");
        let mut log = self.open_log();
        std::thread::spawn(move || std::io::copy(&mut said, &mut log));
        self.process = Some(child);
        self.until_ready().await;
    }

    /// Makes further writes of the process to its small disk fail.
    pub fn fill_the_disk(&self) {
        if !geteuid().is_root() {
            return self.limit_files(Some(0));
        }
        let mut filler = File::create(self.filler()).expect("a file");
        let written = std::io::copy(&mut std::io::repeat(0), &mut filler);
        assert_eq!(written.expect_err("a full disk").kind(), ErrorKind::StorageFull);
    }

    /// Allows the process to write to files again.
    pub fn clear_the_disk(&self) {
        if !geteuid().is_root() {
            return self.limit_files(None);
        }
        std::fs::remove_file(self.filler()).expect("a filler");
    }

    fn index_dir(&self) -> PathBuf {
        self.data_dir.join("index")
    }

    /// Returns a path on the small disk, which only the service has mounted.
    fn filler(&self) -> PathBuf {
        self.seen(&self.small_disk).join("filler")
    }

    /// Returns the path by which this process finds a directory of the service.
    fn seen(&self, directory: &Path) -> PathBuf {
        let below_root = directory.strip_prefix("/").expect("an absolute path");
        Path::new(&format!("/proc/{}/root", self.process_id())).join(below_root)
    }

    /// Makes the token of a service on a small data disk available to [`Self::token`] and to
    /// commands.
    pub fn copy_token(&self) {
        let token = self.seen(&self.data_dir).join("token");
        std::fs::copy(token, self.data_dir.join("token")).expect("a token");
    }

    /// Sends `GET` and returns status and text.
    pub async fn try_get(&self, path: &str) -> (u16, String) {
        let request = self.client.get(format!("{}{path}", self.url)).bearer_auth(self.token());
        let answer = request.send().await.expect("an answer");
        (answer.status().as_u16(), answer.text().await.expect("a text"))
    }

    fn limit_files(&self, bytes: Option<u64>) {
        let pid = i32::try_from(self.process_id()).ok().and_then(Pid::from_raw);
        let limit = Rlimit { current: bytes, maximum: None };
        prlimit(pid, Resource::Fsize, limit).expect("a process of ours");
    }

    /// Waits until the process is ready.
    pub async fn until_ready(&mut self) {
        let began = Instant::now();
        while !self.is_ready().await {
            let child = self.process.as_mut().expect("a process");
            if let Some(status) = child.try_wait().expect("the process can be asked") {
                panic!("the service ended with {status}:\n{}", self.log());
            }
            assert!(began.elapsed() < START_TIMEOUT, "not ready in time:\n{}", self.log());
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Returns the id of the running process.
    pub fn process_id(&self) -> u32 {
        self.process.as_ref().expect("a running service").id()
    }

    /// Kills the process as `kill -9` does.
    pub fn kill(&mut self) {
        let mut child = self.process.take().expect("a running service");
        child.kill().expect("the process dies");
        child.wait().expect("the process is gone");
    }

    /// Asks the process to stop and waits until it has ended.
    pub fn stop(&mut self) -> std::process::ExitStatus {
        let mut child = self.process.take().expect("a running service");
        let pid = child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs");
        assert!(asked.success());
        child.wait().expect("the process is gone")
    }

    /// Returns the service's log so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    /// Returns the bearer token.
    pub fn token(&self) -> String {
        std::fs::read_to_string(self.data_dir.join("token")).expect("a token")
    }

    /// Sends `POST` and expects success.
    pub async fn post(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.try_post(path, body).await.expect("an answer");
        assert!(status < 300, "{path} answered {status}: {answer}");
        answer
    }

    /// Sends `POST` and returns status and body, or `None` if the connection broke.
    pub async fn try_post(&self, path: &str, body: &Value) -> Option<(u16, Value)> {
        let request = self.client.post(format!("{}{path}", self.url)).bearer_auth(self.token());
        let answer = request.json(body).send().await.ok()?;
        let status = answer.status().as_u16();
        Some((status, answer.json().await.ok()?))
    }

    /// Sends `PUT` over any version and expects success.
    pub async fn put(&self, path: &str, body: &Value) -> Value {
        let request = self.client.put(format!("{}{path}", self.url)).bearer_auth(self.token());
        let request = request.header(reqwest::header::IF_MATCH, "*").json(body);
        let answer = request.send().await.expect("an answer");
        let status = answer.status();
        let body = answer.text().await.expect("a text");
        assert!(status.is_success(), "{path} answered {status}: {body}");
        // The response may be empty.
        if body.is_empty() { Value::Null } else { serde_json::from_str(&body).expect("JSON") }
    }

    /// Sends `DELETE` and expects success.
    pub async fn delete(&self, path: &str) {
        let (status, answer) = self.try_delete(path).await;
        assert!(status < 300, "{path} answered {status}: {answer}");
    }

    /// Sends `DELETE` and returns status and text.
    pub async fn try_delete(&self, path: &str) -> (u16, String) {
        let request = self.client.delete(format!("{}{path}", self.url)).bearer_auth(self.token());
        let answer = request.send().await.expect("an answer");
        (answer.status().as_u16(), answer.text().await.expect("a text"))
    }

    /// Sends `GET` and expects success.
    pub async fn get(&self, path: &str) -> Value {
        let request = self.client.get(format!("{}{path}", self.url)).bearer_auth(self.token());
        let answer = request.send().await.expect("an answer");
        let status = answer.status();
        let body: Value = answer.json().await.expect("JSON");
        assert!(status.is_success(), "{path} answered {status}: {body}");
        body
    }

    /// Creates a project.
    pub async fn project(&self, key: &str) {
        self.post("/projects", &json!({ "key": key })).await;
    }

    /// Requests `path` until `wanted` accepts the response.
    pub async fn until(&self, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let body = self.get(path).await;
            if wanted(&body) {
                return body;
            }
            assert!(began.elapsed() < START_TIMEOUT, "never came about: {path} says {body}");
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Indexes a repository and waits until it is complete.
    pub async fn index(&self, project: &str, location: &Path) -> Value {
        self.index_by(json!({ "project_key": project, "location": location })).await
    }

    /// Indexes a repository like [`Self::index`], by a name of its own.
    pub async fn index_as(&self, project: &str, name: &str, location: &Path) -> Value {
        self.index_by(json!({ "project_key": project, "name": name, "location": location })).await
    }

    async fn index_by(&self, body: Value) -> Value {
        let run = self.post("/ingest/git", &body).await;
        let path = format!("/ingest/runs/{}", run["ingest_id"].as_str().expect("an id"));
        self.until(&path, |run| {
            assert_ne!(run["status"], "FAILED", "{run}");
            run["status"] == "SUCCEEDED"
        })
        .await
    }

    async fn is_ready(&self) -> bool {
        let answer = self.client.get(format!("{}/readyz", self.url)).send().await;
        answer.is_ok_and(|answer| answer.status().is_success())
    }

    fn open_log(&self) -> std::fs::File {
        let mut log = std::fs::File::options();
        log.create(true).append(true).open(self.log_file()).expect("a log file")
    }

    fn log_file(&self) -> PathBuf {
        self._folder.path().join("service.log")
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if self.process.is_some() {
            self.stop();
        }
    }
}

/// Waits until a thread of the process is in one of these system calls, given by number and first
/// arguments as in `/proc`. If the system has no such files, returns at once.
pub fn until_in_call(process: &Child, calls: &[&str]) {
    let began = Instant::now();
    while !is_in_call(process, calls).unwrap_or(true) {
        assert!(began.elapsed() < START_TIMEOUT, "the process stands in none of {calls:?}");
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn is_in_call(process: &Child, calls: &[&str]) -> Option<bool> {
    let threads = std::fs::read_dir(format!("/proc/{}/task", process.id())).ok()?;
    for thread in threads.flatten() {
        let stands_in = std::fs::read_to_string(thread.path().join("syscall")).ok()?;
        if calls.iter().any(|call| stands_in.starts_with(call)) {
            return Some(true);
        }
    }
    Some(false)
}

/// Creates a client that bypasses proxies.
pub fn direct_client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().expect("a client")
}

/// Returns a port that was free a moment ago.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

pub fn open_for_passage(directory: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let passage = std::fs::Permissions::from_mode(0o711);
    std::fs::set_permissions(directory, passage).expect("permissions");
}
