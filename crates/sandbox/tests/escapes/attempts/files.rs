//! Attempts to reach files and sockets of the machine.

use super::{Attempt, python, shell};
use crate::outside::Outside;

pub fn attempts(outside: &Outside) -> Vec<Attempt> {
    let token = outside.token().display().to_string();
    let root = outside.root().display().to_string();
    let mut all = reads(outside, &token, &root);
    all.extend(writes(&token, &root));
    all.extend(sockets(outside));
    all
}

fn reads(outside: &Outside, token: &str, root: &str) -> Vec<Attempt> {
    let name = outside.name();
    vec![
        shell("a file by its path", &format!("cat {token}")),
        shell("a file by a relative path", &format!("cat ../../../../..{token} /work/../{token}")),
        shell("the directory of another command", &format!("ls -R {root}; cat {root}/*/*")),
        shell("a link that leads to a file", "cat /work/link /work/relative-link"),
        shell(
            "a link that leads to a directory",
            "ls /work/directory-link/; cat /work/directory-link/*/*",
        ),
        shell("a link that the command makes", &format!("ln -s {token} made; cat made")),
        shell(
            "a hard link to a file",
            &format!("ln {token} hard; ln -L link hard2; cat hard hard2"),
        ),
        shell(
            "a hard link between directories",
            "ln /input/input /work/hard && echo ESCAPED; ln /usr/bin/env /work/env && echo \
             ESCAPED; \
             ln /etc/passwd /tmp/passwd && echo ESCAPED",
        ),
        shell("a chain of links", "ln -s directory-link a; ln -s a/data b; ln -s b/token c; cat c"),
        shell(
            "all files by their name",
            &format!(
                "find / -xdev -name '*{name}*' | grep . && echo ESCAPED; find / -name token \
                 2>/dev/null -exec cat {{}} +"
            ),
        ),
        shell(
            "passwords",
            "cat /etc/shadow /etc/gshadow /etc/shadow- /etc/security/opasswd && echo ESCAPED",
        ),
        shell("accounts", "grep -v -e ^root: -e ^sandbox: /etc/passwd /etc/group && echo ESCAPED"),
        shell("private keys", "ls /etc/ssl/private /etc/ssh /root/.ssh && echo ESCAPED"),
        shell("homes", "ls -A /root /home /home/* && echo ESCAPED"),
        shell("state of the machine", "ls -A /var /run /boot /srv /mnt /media && echo ESCAPED"),
        shell("hardware", "ls /sys /sys/class/net && echo ESCAPED"),
        shell(
            "control groups",
            "ls /sys/fs/cgroup && echo ESCAPED; mkdir /sys/fs/cgroup/x && echo ESCAPED",
        ),
        shell(
            "disks",
            "for d in /dev/vda /dev/sda /dev/nvme0n1 /dev/mem /dev/kmem /dev/port /dev/fuse \
             /dev/kvm; do head -c 1 $d > /dev/null && echo ESCAPED; done",
        ),
        shell(
            "device nodes",
            "for d in 'b 254 0' 'b 8 0' 'c 1 1' 'c 10 229'; do mknod /work/node $d && echo \
             ESCAPED; \
             mknod /tmp/node $d && echo ESCAPED; done",
        ),
        shell(
            "the kernel's log",
            "dmesg && echo ESCAPED; head -c 1 /dev/kmsg /proc/kmsg && echo ESCAPED",
        ),
        shell("a shared file in /dev/shm", &format!("cat {}", outside.shared_file().display())),
        python(
            "open files of the service",
            "for fd in range(3, 4096):\n\
             \x20 try: os.fstat(fd); print('ESCAPED', fd, os.readlink(f'/proc/self/fd/{fd}'))\n\
             \x20 except OSError: pass",
        ),
        python(
            "the parent of a directory",
            "fd = os.open('/work', os.O_PATH)\nfor n in range(20):\n\
             \x20 fd = os.open('..', os.O_PATH, dir_fd=fd)\n\
             show(lambda: os.listdir(f'/proc/self/fd/{fd}'))\n\
             show(lambda: open(os.readlink('/work/link')).read())",
        ),
        shell(
            "backups of the system",
            "cat /etc/hostname /etc/machine-id /etc/fstab /etc/resolv.conf && echo ESCAPED",
        ),
    ]
}

fn writes(token: &str, root: &str) -> Vec<Attempt> {
    vec![
        shell(
            "changes by links",
            "echo x > link; echo x >> relative-link; rm -rf directory-link/; truncate -s 0 link; \
             touch link; chmod 777 link",
        ),
        shell(
            "changes by paths",
            &format!(
                "echo x > {token}; rm -rf {root}; mkdir -p {root}; mv /work/link {root}/moved"
            ),
        ),
        shell(
            "changes of read-only files",
            "echo x > /input/input && echo ESCAPED; echo x > /input/new && echo ESCAPED; rm -f \
             /input/input && echo ESCAPED; chmod 777 /input/input && echo ESCAPED; touch \
             /input/input && echo ESCAPED; mv /input/input /work/ && echo ESCAPED",
        ),
        shell(
            "changes of the system",
            "for d in / /usr /usr/bin /bin /lib /etc /etc/ssl/certs /dev /proc; do (echo x > \
             $d/new) && echo ESCAPED $d; done; echo x > /etc/passwd && echo ESCAPED; rm \
             /usr/bin/env && echo ESCAPED",
        ),
        shell(
            "settings of the kernel",
            "for f in kernel/core_pattern kernel/hostname vm/drop_caches net/ipv4/ip_forward \
             user/max_user_namespaces; do (echo 1 > /proc/sys/$f) && echo ESCAPED $f; done; (echo \
             b > /proc/sysrq-trigger) && echo ESCAPED",
        ),
        shell(
            "priority for the kernel",
            "(echo -1000 > /proc/self/oom_score_adj) && echo ESCAPED; (echo 0 > \
             /proc/self/uid_map) && echo ESCAPED",
        ),
        shell(
            "set-user-id files",
            "cp /bin/sh s; for m in 4755 2755 6755 u+s g+s; do chmod $m s && echo ESCAPED; done; \
             mkdir -m 2755 d && chmod 2755 d && echo ESCAPED",
        ),
        python(
            "set-user-id files by their creation",
            "for mode in (0o4755, 0o2755):\n\
             \x20 attempt('open', lambda: os.open(f'/work/{mode}', os.O_CREAT | os.O_WRONLY, \
             mode))\n  attempt('mknod', lambda: os.mknod(f'/work/n{mode}', mode | 0o100000))\n\
             \x20 attempt('fchmod', lambda: os.fchmod(os.open('/work/plain', os.O_CREAT | \
             os.O_RDWR, 0o644), mode))\n\
             \x20 call('fchmodat2', 452, -100, ctypes.c_char_p(b'/work/plain'), mode, 0)\n\
             how = struct.pack('QQQ', os.O_CREAT | os.O_WRONLY, 0o4755, 0)\n\
             call('openat2', 437, -100, ctypes.c_char_p(b'/work/o2'), ctypes.c_char_p(how), 24)",
        ),
        python(
            "set-user-id files without a name",
            "for mode in (0o4755, 0o2755):\n\
             \x20 attempt('open', lambda: os.open('/work', os.O_TMPFILE | os.O_RDWR, mode))",
        ),
        shell(
            "a dump of memory",
            "cd /work; ulimit -c unlimited && echo ESCAPED; sh -c 'kill -ABRT $$'; ls | grep core \
             && echo ESCAPED",
        ),
    ]
}

fn sockets(outside: &Outside) -> Vec<Attempt> {
    let (socket, port) = (outside.socket().display().to_string(), outside.port());
    let connect = |path: &str| {
        format!("s = socket.socket(socket.AF_UNIX)\nshow(lambda: s.connect({path}) or s.recv(99))")
    };
    let tcp = |address: &str, port: u16| {
        format!(
            "show(lambda: socket.create_connection(('{address}', {port}), 2).recv(99).decode() + \
             ' ESCAPED')"
        )
    };
    let engines = "/var/run/docker.sock /run/docker.sock /run/dbus/system_bus_socket \
        /run/systemd/private \
         /run/containerd/containerd.sock /tmp/.X11-unix";
    vec![
        python("a server on this machine", &tcp("127.0.0.1", port)),
        python(
            "a server on the Internet",
            &[tcp("1.1.1.1", 53), tcp("2606:4700::1111", 53)].join("\n"),
        ),
        python("the metadata of a cloud", &tcp("169.254.169.254", 80)),
        python(
            "names of hosts",
            "show(lambda: socket.getaddrinfo('example.com', 80) and 'ESCAPED')",
        ),
        python(
            "a packet to the Internet",
            "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
             attempt('udp', lambda: s.sendto(b'x', ('1.1.1.1', 53)))",
        ),
        python(
            "raw sockets",
            "for f in (socket.AF_INET, socket.AF_INET6):\n\
             \x20 attempt('raw', lambda: socket.socket(f, socket.SOCK_RAW, 1))\n\
             attempt('packet', lambda: socket.socket(17, socket.SOCK_RAW, 3))",
        ),
        python(
            "other families of sockets",
            "for f in range(3, 64):\n  if f == 10: continue\n\
             \x20 for t in (1, 2, 3, 5): attempt(f, lambda: socket.socket(f, t))",
        ),
        python(
            "the host of a virtual machine",
            "attempt('vsock', lambda: socket.socket(40, socket.SOCK_STREAM))",
        ),
        python("a socket of the service", &connect(&format!("'{socket}'"))),
        python("a link to a socket", &connect("'/work/socket-link'")),
        python("an abstract socket", &connect(&format!("'\\0{}'", outside.name()))),
        shell(
            "sockets of engines",
            &format!("for s in {engines}; do test -e $s && echo ESCAPED $s; done"),
        ),
    ]
}
