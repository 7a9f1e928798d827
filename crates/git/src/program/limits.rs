//! Limits of a git process. They also apply to each program that it starts.

use std::time::Duration;

use mc_privileges::UnprivilegedUser;
use tokio::process::Command;

/// Redirections that make the standard input of a program its descriptor 3.
pub(super) const CONNECTION: &str = " 3<&0 </dev/null";
/// Shell commands that set the limits of [`arguments`], and start the program after them. A limit
/// that can't be set is left out: that of the system is lower, or the system has no such limit.
const LIMIT_SCRIPT: &str = r#"
{
    ulimit -c 0
    ulimit -S -v "$1"
    ulimit -f "$2"
    ulimit -t "$3"
    # Some shells have another name for the number of processes.
    [ -z "$4" ] || ulimit -u "$4" || ulimit -p "$4"
} 2>/dev/null
shift 4
exec "$@""#;

/// Address space, in KiB, since git loads large objects of a pack into memory. Only Linux enforces
/// this limit.
const MEMORY_KIB: &str = if cfg!(target_os = "linux") { "4194304" } else { "unlimited" };
/// Bytes of a block, the unit in which a POSIX shell limits files.
const BLOCK_BYTES: u64 = 512;
/// Minimum of the limit of a written file, in bytes. Git's index grows with the number of files,
/// even if the files are small.
pub(super) const MIN_FILE_BYTES: u64 = 32 << 20;
/// Seconds of CPU time for each second of the timeout, since git uses several threads. The limit
/// ends a process that the service does not kill at the timeout, because the service died.
const CPU_SECONDS: u64 = 4;
/// Seconds of CPU time in addition, so that the timeout always comes first.
const MIN_CPU_SECONDS: u64 = 60;
/// Maximum number of processes and threads of a user that exists only for git and for the commands
/// of workspaces. All jobs and commands of a node together need fewer. For other users there is no
/// limit, since it would count all their programs.
const MAX_PROCESSES: &str = "4096";

/// Returns a command that runs the program of the arguments that are added to it, with these
/// redirections: as `user`, for at most `time`. It writes files of at most `file_bytes`.
pub(super) fn shell(
    redirections: &str,
    file_bytes: u64,
    time: Duration,
    user: Option<UnprivilegedUser>,
) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{LIMIT_SCRIPT}{redirections}")).arg("sh");
    command.args(arguments(file_bytes, time, user));
    command
}

/// Returns the arguments of [`LIMIT_SCRIPT`].
fn arguments(file_bytes: u64, time: Duration, user: Option<UnprivilegedUser>) -> [String; 4] {
    // One block more, so that a file that reached the limit is larger than `file_bytes`.
    let blocks = file_bytes.max(MIN_FILE_BYTES) / BLOCK_BYTES + 1;
    let cpu = time.as_secs().saturating_mul(CPU_SECONDS).saturating_add(MIN_CPU_SECONDS);
    let of_git =
        [UnprivilegedUser::GIT, UnprivilegedUser::PRIVATE_GIT, UnprivilegedUser::SHARED_GIT];
    let is_only_for_git = user.is_some_and(|user| of_git.contains(&user));
    let processes = if is_only_for_git { MAX_PROCESSES } else { "" };
    [MEMORY_KIB.to_owned(), blocks.to_string(), cpu.to_string(), processes.to_owned()]
}
