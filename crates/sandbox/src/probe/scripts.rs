//! Scripts of the probes.

use std::net::TcpListener;
use std::path::Path;

/// A script of the shell. It prints a text only if it reached what it must not reach, or if an
/// attempt failed for an unexpected reason.
pub(super) struct Probe {
    pub name: &'static str,
    /// Programs without which the script would prove nothing.
    pub tools: &'static [&'static str],
    pub script: String,
}

/// Returns the scripts. They read the secrets, and connect to the listener.
pub(super) fn probes(secrets: &[&Path], listener: Option<&TcpListener>) -> Vec<Probe> {
    files(secrets).into_iter().chain(network(listener)).chain(processes()).collect()
}

fn probe(name: &'static str, tools: &'static [&'static str], script: impl Into<String>) -> Probe {
    Probe { name, tools, script: script.into() }
}

fn files(secrets: &[&Path]) -> [Probe; 3] {
    let quoted = |path: &&Path| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
    let secrets: Vec<String> = secrets.iter().map(quoted).collect();
    [
        probe(
            "files of the machine",
            &["ls"],
            "for f in /etc/shadow /etc/ssl/private /root /home /var /boot /sys/kernel /run; do \
             ls \"$f\" 2>/dev/null; done",
        ),
        probe(
            "files of the service",
            &["head", "ls"],
            format!(
                "for f in {}; do head -c 8 \"$f\" 2>/dev/null || ls \"$f\" 2>/dev/null; done",
                secrets.join(" ")
            ),
        ),
        probe(
            "changes of the system",
            &["sh"],
            "for d in / /usr /etc /dev /proc/sys/kernel; do \
             (echo x > \"$d/probe\") 2>/dev/null && echo \"wrote $d/probe\"; done",
        ),
    ]
}

fn network(listener: Option<&TcpListener>) -> [Probe; 2] {
    // Without a listener, any port shows whether there is a network.
    let port = listener.and_then(|listener| listener.local_addr().ok()).map_or(1, |at| at.port());
    [
        probe(
            "devices of the network",
            &["grep"],
            "test -r /proc/net/dev || echo 'the devices are not known'; \
             grep -v -e '^ *lo:' -e '|' /proc/net/dev",
        ),
        probe(
            "connections to this machine",
            &["bash", "timeout"],
            format!(
                "e=$(timeout 5 bash -c ': < /dev/tcp/127.0.0.1/{port}' 2>&1) && echo connected; \
                 case $e in *refused*|*unreachable*) ;; *) echo \"another error: $e\";; esac"
            ),
        ),
    ]
}

fn processes() -> [Probe; 5] {
    [
        probe(
            "other processes",
            &["cat"],
            "for p in /proc/[0-9]*; do n=${p#/proc/}; [ $n -gt 64 ] && echo $p; done; \
             cat /proc/1/environ 2>/dev/null",
        ),
        probe(
            "the environment of the service",
            &["env", "grep"],
            "env | grep -v -e ^PATH= -e ^HOME= -e ^USER= -e ^TMPDIR= -e ^LANG= -e ^PWD= -e ^_= \
             -e ^OLDPWD= -e ^HOSTNAME= -e ^SHLVL=",
        ),
        probe(
            "privileges",
            &["grep", "id"],
            "grep -E '^Cap(Prm|Eff|Amb):' /proc/self/status | grep -v 0000000000000000; \
             grep -q '^NoNewPrivs:.1' /proc/self/status || echo 'new privileges are possible'; \
             [ \"$(id -u)\" = 0 ] && echo 'it runs as root'",
        ),
        probe(
            "the filter of system calls",
            &["grep"],
            "grep -q '^Seccomp:.2' /proc/self/status || echo 'there is no filter'",
        ),
        probe(
            "a user namespace",
            &["unshare"],
            "e=$(unshare --user true 2>&1) && echo 'a user namespace was created'; \
             case $e in *'not permitted'*) ;; *) echo \"another error: $e\";; esac",
        ),
    ]
}
