//! Attempts to reach other processes, and the privileges of other users.

use super::{Attempt, python, shell};
use crate::outside::Outside;

pub fn attempts(outside: &Outside) -> Vec<Attempt> {
    let id = outside.process_id();
    let calls = |lines: &[String]| lines.join("\n");
    let ptrace = libc::SYS_ptrace;
    vec![
        shell(
            "the arguments of other processes",
            "cat /proc/*/cmdline /proc/*/task/*/cmdline | tr '\\0' '\\n'",
        ),
        shell(
            "the environment of other processes",
            &format!("cat /proc/*/environ /proc/{id}/environ | tr '\\0' '\\n'"),
        ),
        shell("the environment of the service", "env; set; export; cat /proc/self/environ"),
        shell(
            "the root of other processes",
            &format!(
                "ls /proc/1/root/ /proc/{id}/root/ /proc/1/cwd/ && echo ESCAPED; ls \
                 /work/proc-link/ && echo ESCAPED; true"
            ),
        ),
        shell(
            "files of other processes",
            "for f in /proc/1/fd/* /proc/1/mem /proc/1/maps /proc/1/exe /proc/1/map_files/*; do \
             head -c 1 \"$f\" && echo ESCAPED; done",
        ),
        shell(
            "a process of the machine by its id",
            &format!("kill -9 {id} && echo ESCAPED; test -d /proc/{id} && echo ESCAPED"),
        ),
        python(
            "signals to the first process",
            "import signal\nos.setsid() if os.getpgrp() != os.getpid() else None\n\
             for n in (1, 2, 3, 9, 15, 19, 11):\n  try: os.kill(1, n)\n\
             \x20 except OSError as e: print(e)\n\
             try: os.kill(os.getppid(), 9)\nexcept OSError as e: print(e)",
        ),
        shell("signals to all processes", "trap '' TERM HUP; kill -TERM -1; kill -HUP -1"),
        python(
            "the trace of a process",
            &calls(&[
                format!("call('attach', {ptrace}, 16, 1, 0, 0)"),
                format!("call('seize', {ptrace}, 0x4206, 1, 0, 0)"),
                format!("call('trace me', {ptrace}, 0, 0, 0, 0)"),
            ]),
        ),
        python(
            "the memory of a process",
            &calls(&[
                "buffer = ctypes.create_string_buffer(64)".to_owned(),
                "local = struct.pack('QQ', ctypes.addressof(buffer), 8)".to_owned(),
                format!(
                    "call('read', {}, os.getpid(), local, 1, local, 1, 0)",
                    libc::SYS_process_vm_readv
                ),
                format!(
                    "call('write', {}, os.getpid(), local, 1, local, 1, 0)",
                    libc::SYS_process_vm_writev
                ),
            ]),
        ),
        python(
            "the files of a process",
            &format!(
                "fd = os.pidfd_open(1)\ncall('getfd', {}, fd, 0, 0)\n\
                 call('kcmp', {}, 1, os.getpid(), 0, 0, 0)",
                libc::SYS_pidfd_getfd,
                libc::SYS_kcmp
            ),
        ),
        python(
            "the limits of the first process",
            &format!(
                "none = struct.pack('QQ', 0, 0)\nfor n in range(16): call(n, {}, 1, n, none, 0)\n\
                 call('nice', {}, 0, 1, 19)\ncall('nice of the user', {}, 2, 0, 19)\n\
                 call('affinity', {}, 1, 8, struct.pack('Q', 1))\n\
                 call('idle', {}, 1, 5, struct.pack('I', 0))",
                libc::SYS_prlimit64,
                libc::SYS_setpriority,
                libc::SYS_setpriority,
                libc::SYS_sched_setaffinity,
                libc::SYS_sched_setscheduler,
            ),
        ),
        shell(
            "the id of root",
            "perl -e '$> = 0; $< = 0; print \"ESCAPED\" if $> == 0; $) = 0; print \"ESCAPED\" if \
             (split / /, $))[0] == 0'",
        ),
        shell(
            "capabilities",
            "grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb):' /proc/self/status | grep -v 0000000000000000 | \
             grep -v CapBnd && echo ESCAPED; grep -q '^NoNewPrivs:.1' /proc/self/status || echo \
             ESCAPED",
        ),
        shell("namespaces by their links", "ls -l /proc/1/ns/ | grep -- '->' && echo ESCAPED"),
        shell("number of processes", "test $(ls -d /proc/[0-9]* | wc -l) -gt 8 && echo ESCAPED"),
        shell(
            "shared memory of the machine",
            "test $(cat /proc/sysvipc/shm /proc/sysvipc/msg /proc/sysvipc/sem | wc -l) -gt 3 && \
             echo ESCAPED",
        ),
        python(
            "input of a terminal",
            &format!(
                "import pty\nmain, other = pty.openpty()\n\
             for request, name in ((0x5412, 'TIOCSTI'), (0x541C, 'TIOCLINUX'), (0x541D, \
             'TIOCCONS')):\n\
             \x20 for fd in (0, 1, 2, other): attempt(name, lambda: fcntl.ioctl(fd, request, \
             b'x'))\n\
             \x20 call(name, {}, other, 0x100000000 | request, ctypes.c_char_p(b'x'))\n\
             attempt('tty', lambda: os.open('/dev/tty', os.O_RDWR))\n\
             attempt('console', lambda: os.open('/dev/console', os.O_RDWR))",
                libc::SYS_ioctl
            ),
        ),
    ]
}
