//! A real Redis for one test.

use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// How long a server may take until it answers; a condition is awaited, this is where hope ends.
const READY_WITHIN: Duration = Duration::from_secs(30);
const ANSWERS_WITHIN: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(10);
/// A port that was free a moment ago may be somebody else's by now.
const PORTS_TRIED: usize = 5;

/// A server of its own on a port of the loopback, with a password and without a disk: what it holds is gone when it
/// ends. Dropped with the value.
#[derive(Debug)]
pub struct Redis {
    folder: TempDir,
    password: String,
    port: u16,
    process: Option<Child>,
}

impl Redis {
    /// Starts the `redis-server` that `MC_TEST_REDIS_SERVER` names, or that of the system.
    ///
    /// # Panics
    /// When there is none, or it does not start: a test can't go on without.
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let password = uuid::Uuid::now_v7().simple().to_string();
        let mut redis = Self { folder, password, port: 0, process: None };
        for _ in 0..PORTS_TRIED {
            redis.port = free_port();
            if redis.launch().await {
                return redis;
            }
        }
        panic!("redis-server did not start:\n{}", redis.log());
    }

    /// Its URL, with the password.
    pub fn url(&self) -> String {
        format!("redis://:{}@127.0.0.1:{}", self.password, self.port)
    }

    /// Ends it without warning, as `kill -9` does.
    ///
    /// # Panics
    /// When it can't be ended.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("redis-server dies");
            process.wait().expect("redis-server is gone");
        }
    }

    /// Starts it anew at the same port, empty.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn restart(&mut self) {
        self.kill();
        assert!(self.launch().await, "redis-server did not start again:\n{}", self.log());
    }

    /// Has it hang: connections stay open, and nothing is answered until [`thaw`](Self::thaw).
    pub fn freeze(&self) {
        self.signal("-STOP");
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let process = self.process.as_ref().expect("a running redis-server");
        let sent = Command::new("kill").args([signal, &process.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// Whether it runs and answers to its password; another's at that port does not.
    async fn launch(&mut self) -> bool {
        self.configure().expect("the folder takes files");
        let program = std::env::var_os("MC_TEST_REDIS_SERVER").filter(|path| !path.is_empty());
        let program = program.map_or_else(|| PathBuf::from("redis-server"), PathBuf::from);
        let started = Command::new(&program)
            .arg(self.folder.path().join("redis.conf"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut process = started.unwrap_or_else(|error| {
            panic!("{} does not run ({error}); run `scripts/setup redis`", program.display())
        });
        let began = Instant::now();
        let mut answers = false;
        while !answers && began.elapsed() < READY_WITHIN && is_running(&mut process) {
            tokio::time::sleep(LOOK).await;
            // Somebody else's server may keep silent.
            let answer = tokio::time::timeout(ANSWERS_WITHIN, self.answers()).await;
            answers = matches!(answer, Ok(Ok(true)));
        }
        self.process = Some(process);
        if !answers {
            self.kill();
        }
        answers
    }

    /// In a file: arguments are open to every user of the machine.
    fn configure(&self) -> io::Result<()> {
        let folder = self.folder.path().display();
        let Self { port, password, .. } = self;
        let settings = format!(
            "bind 127.0.0.1\nport {port}\nrequirepass {password}\nsave \"\"\nappendonly no\n\
             daemonize no\ndir {folder}\nlogfile {folder}/redis.log\n"
        );
        std::fs::write(self.folder.path().join("redis.conf"), settings)
    }

    async fn answers(&self) -> io::Result<bool> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        stream.write_all(format!("AUTH {}\r\n", self.password).as_bytes()).await?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer).await?;
        Ok(answer == *b"+OK\r\n")
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("redis.log")).unwrap_or_default()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            // The test is over either way.
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
