//! What a command must not reach: files, sockets and processes of this machine.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mc_privileges::is_root;
use mc_sandbox::DEFAULT_USER;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::support::{give_to_user, open_to_all};

/// Files, servers and a process of this machine. All contain or return a text, the canary, that no
/// command may print. Their permissions let every user read them.
pub struct Outside {
    canary: String,
    /// Name of files and of a socket. Scripts contain it, so it may be in their error messages.
    name: String,
    directory: TempDir,
    shared_file: PathBuf,
    port: u16,
    process: Child,
    connections: Arc<AtomicUsize>,
}

impl Outside {
    pub fn new() -> Self {
        let canary = format!("canary-{}", random());
        let name = format!("outside-{}", random());
        let directory = tempfile::Builder::new().prefix(&name).tempdir().unwrap();
        let root = directory.path();
        for name in ["data", "other-work", "read-only"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        for name in ["data/token", "data/database", "other-work/file", "read-only/input"] {
            let text = if name == "read-only/input" { "input" } else { &canary };
            fs::write(root.join(name), text).unwrap();
            open_to_all(&root.join(name));
            // The user may change them, so that no permission protects them.
            give_to_user(&root.join(name));
        }
        for name in ["", "data", "other-work", "read-only"] {
            open_to_all(&root.join(name));
            give_to_user(&root.join(name));
        }
        let shared_file = Path::new("/dev/shm").join(&name);
        fs::write(&shared_file, &canary).unwrap();
        open_to_all(&shared_file);
        let connections = Arc::<AtomicUsize>::default();
        let outside = Self {
            process: start_process(&canary),
            port: serve(&canary, &name, root, &connections),
            canary,
            name,
            directory,
            shared_file,
            connections,
        };
        open_to_all(&outside.socket());
        fs::set_permissions(outside.socket(), std::os::unix::fs::PermissionsExt::from_mode(0o777))
            .unwrap();
        outside
    }

    pub fn canary(&self) -> &str {
        &self.canary
    }

    /// Name of the shared file, of the abstract socket, and the start of the directory's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn root(&self) -> &Path {
        self.directory.path()
    }

    /// A file of the service.
    pub fn token(&self) -> PathBuf {
        self.root().join("data/token")
    }

    /// A Unix socket of the service.
    pub fn socket(&self) -> PathBuf {
        self.root().join("data/socket")
    }

    /// A file in the memory that programs of this machine share.
    pub fn shared_file(&self) -> &Path {
        &self.shared_file
    }

    /// A directory that commands can read.
    pub fn read_only(&self) -> PathBuf {
        self.root().join("read-only")
    }

    /// Port of a server on the loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Id of a process with the canary in its arguments and its environment.
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    pub fn other_process_is_running(&self) -> bool {
        Path::new(&format!("/proc/{}/exe", self.process.id())).read_link().is_ok()
    }

    /// Number of connections that servers have accepted.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Adds links to a directory of a command that lead here.
    pub fn add_links(&self, work: &Path) {
        for (name, target) in [
            ("link", self.token()),
            ("directory-link", self.root().to_owned()),
            ("socket-link", self.socket()),
            ("proc-link", PathBuf::from(format!("/proc/{}/root", self.process.id()))),
            (
                "relative-link",
                PathBuf::from("../../../../../../")
                    .join(&self.token().as_path().to_str().unwrap()[1..]),
            ),
        ] {
            symlink(target, work.join(name)).unwrap();
        }
    }

    /// Returns path, owner, mode, time and content of each file.
    pub fn state(&self) -> BTreeMap<PathBuf, String> {
        let mut state = BTreeMap::new();
        let mut left = vec![self.root().to_owned(), self.shared_file.clone()];
        while let Some(path) = left.pop() {
            let found = fs::symlink_metadata(&path).unwrap();
            if found.is_dir() {
                left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            }
            let content = if found.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            let digest = Sha256::digest(&content);
            let times = (found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec());
            let owner = (found.uid(), found.gid(), found.mode(), found.nlink());
            state.insert(path, format!("{owner:?} {times:?} {digest:?}"));
        }
        state
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_file(&self.shared_file);
    }
}

/// Starts a process of the user that also runs commands.
fn start_process(canary: &str) -> Child {
    let mut command = Command::new("perl");
    command.args(["-e", "sleep 1 while 1", canary]).env("SECRET", canary).current_dir("/");
    if is_root() {
        command.uid(DEFAULT_USER.uid).gid(DEFAULT_USER.gid);
    }
    command.spawn().unwrap()
}

/// Starts servers that return the canary: on the loopback, and on two Unix sockets. Returns the
/// port.
fn serve(canary: &str, name: &str, root: &Path, connections: &Arc<AtomicUsize>) -> u16 {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let abstract_name = SocketAddr::from_abstract_name(name).unwrap();
    let unix = [
        UnixListener::bind(root.join("data/socket")).unwrap(),
        UnixListener::bind_addr(&abstract_name).unwrap(),
    ];
    let answer = {
        let (connections, canary) = (connections.clone(), canary.to_owned());
        move |mut stream: Box<dyn std::io::Write>| {
            connections.fetch_add(1, Ordering::SeqCst);
            let _ = stream.write_all(canary.as_bytes());
        }
    };
    let answer_tcp = answer.clone();
    std::thread::spawn(move || {
        tcp.incoming().for_each(|stream| answer_tcp(Box::new(stream.unwrap())));
    });
    for listener in unix {
        let answer = answer.clone();
        std::thread::spawn(move || {
            listener.incoming().for_each(|stream| answer(Box::new(stream.unwrap())));
        });
    }
    port
}

/// Returns a text that no other run of the tests has.
fn random() -> String {
    let mut bytes = [0; 16];
    std::io::Read::read_exact(&mut fs::File::open("/dev/urandom").unwrap(), &mut bytes).unwrap();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
