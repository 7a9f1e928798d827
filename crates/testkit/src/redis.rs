//! A real Redis for one test.

use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Longest wait for a server to start.
const START_TIMEOUT: Duration = Duration::from_secs(30);
const AUTH_TIMEOUT: Duration = Duration::from_secs(1);
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Number of ports to try: another process may take a free port before the server does.
const PORT_ATTEMPTS: usize = 5;

/// A Redis server on a loopback port, with a password and without persistence. Dropping the value
/// ends it.
#[derive(Debug)]
pub struct Redis {
    directory: TempDir,
    password: String,
    port: u16,
    process: Option<Child>,
}

impl Redis {
    /// Starts the `redis-server` that `MC_TEST_REDIS_SERVER` names, or the system's.
    ///
    /// # Panics
    /// If there is none or it does not start.
    pub async fn start() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let password = uuid::Uuid::now_v7().simple().to_string();
        let mut redis = Self { directory, password, port: 0, process: None };
        for _ in 0..PORT_ATTEMPTS {
            redis.port = free_port();
            if redis.try_start().await {
                return redis;
            }
        }
        panic!("redis-server did not start:\n{}", redis.log());
    }

    /// Returns the URL with the password.
    pub fn url(&self) -> String {
        format!("redis://:{}@127.0.0.1:{}", self.password, self.port)
    }

    /// Kills the server as `kill -9` does.
    ///
    /// # Panics
    /// If the process can't be killed.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("redis-server dies");
            process.wait().expect("redis-server is gone");
        }
    }

    /// Restarts the server on the same port, without data.
    ///
    /// # Panics
    /// If the server does not start.
    pub async fn restart(&mut self) {
        self.kill();
        assert!(self.try_start().await, "redis-server did not start again:\n{}", self.log());
    }

    /// Suspends the server: connections stay open without responses until [`thaw`](Self::thaw).
    pub fn freeze(&self) {
        self.signal("-STOP");
    }

    /// Resumes a suspended server.
    pub fn thaw(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let process = self.process.as_ref().expect("a running redis-server");
        let sent = Command::new("kill").args([signal, &process.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// Starts the process, and returns whether it accepts its password, which a foreign server on
    /// the port does not.
    async fn try_start(&mut self) -> bool {
        self.configure().expect("the directory takes files");
        let program = std::env::var_os("MC_TEST_REDIS_SERVER").filter(|path| !path.is_empty());
        let program = program.map_or_else(|| PathBuf::from("redis-server"), PathBuf::from);
        let started = Command::new(&program)
            .arg(self.directory.path().join("redis.conf"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut process = started.unwrap_or_else(|error| {
            panic!("{} does not run ({error}); run `scripts/setup redis`", program.display())
        });
        let started_at = Instant::now();
        let mut is_ready = false;
        while !is_ready && started_at.elapsed() < START_TIMEOUT && is_running(&mut process) {
            tokio::time::sleep(POLL_INTERVAL).await;
            // A foreign server may not respond.
            let authenticated = tokio::time::timeout(AUTH_TIMEOUT, self.authenticate()).await;
            is_ready = matches!(authenticated, Ok(Ok(true)));
        }
        self.process = Some(process);
        if !is_ready {
            self.kill();
        }
        is_ready
    }

    /// Writes the configuration file: every user of the machine can read arguments.
    fn configure(&self) -> io::Result<()> {
        let directory = self.directory.path().display();
        let Self { port, password, .. } = self;
        let settings = format!(
            "bind 127.0.0.1\nport {port}\nrequirepass {password}\nsave \"\"\nappendonly no\n\
             daemonize no\ndir {directory}\nlogfile {directory}/redis.log\n"
        );
        std::fs::write(self.directory.path().join("redis.conf"), settings)
    }

    async fn authenticate(&self) -> io::Result<bool> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        stream.write_all(format!("AUTH {}\r\n", self.password).as_bytes()).await?;
        let mut response = [0; 5];
        stream.read_exact(&mut response).await?;
        Ok(response == *b"+OK\r\n")
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("redis.log")).unwrap_or_default()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            // The test has ended, so errors are ignored.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn is_running(process: &mut Child) -> bool {
    matches!(process.try_wait(), Ok(None))
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}
