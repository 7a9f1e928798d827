//! Attempts with programs of the system that change privileges, namespaces or mounts. Not every
//! system has all of them.

use super::{Attempt, shell_with};

/// Programs, what they would gain, and commands that must fail.
const PROGRAMS: &[(&str, &str, &[&str])] = &[
    ("setpriv", "the id of root by setpriv", &["setpriv --reuid 0 id", "setpriv --regid 0 id"]),
    (
        "setcap",
        "capabilities by setcap",
        &["setcap cap_sys_admin+ep /work/own", "setcap cap_sys_admin+ep /work/link"],
    ),
    (
        "nsenter",
        "namespaces by nsenter",
        &[
            "nsenter --target 1 --all true",
            "nsenter --target 1 --mount cat /work/link",
            "nsenter --target 1 --user true",
        ],
    ),
    (
        "bwrap",
        "a sandbox in the sandbox",
        &["bwrap --ro-bind / / true", "bwrap --unshare-all --dev-bind / / cat /work/link"],
    ),
    (
        "mount",
        "mounts",
        &[
            "mount --bind /work /usr",
            "mount -t tmpfs x /tmp",
            "mount -t proc x /tmp",
            "mount -o remount,rw /usr",
            "mount -o remount,bind,rw /input",
        ],
    ),
    ("umount", "the end of mounts", &["umount -l /proc", "umount /input"]),
    ("chroot", "another root", &["chroot /usr true", "chroot / true"]),
    ("runuser", "the id of root by runuser", &["runuser -u root -- id"]),
];

/// Programs that run as root outside. They print this if they do so here.
const SET_USER_ID: &[(&str, &str, &str)] = &[
    ("su", "root by su", "su -c id"),
    ("sudo", "root by sudo", "sudo -n id"),
    ("passwd", "root by passwd", "passwd -d root"),
    ("newgrp", "root by newgrp", "echo id | newgrp root"),
    ("chsh", "root by chsh", "chsh -s /bin/sh root"),
    ("pkexec", "root by pkexec", "pkexec id"),
];

pub fn attempts() -> Vec<Attempt> {
    let programs = PROGRAMS.iter().map(|(tool, name, commands)| {
        let commands = commands.iter().map(|each| format!("{each} && echo ESCAPED"));
        let script: Vec<String> = commands.collect();
        shell_with(tool, name, &format!("cp /bin/sh /work/own\n{}", script.join("\n")))
    });
    let set_user_id = SET_USER_ID.iter().map(|(tool, name, command)| {
        let script = format!(
            "{{ timeout 5 sh -c '{command}' || echo failed; }} < /dev/null > /tmp/out; \
             cat /tmp/out; grep uid=0 /tmp/out && echo ESCAPED; \
             [ {tool} = passwd ] && ! grep -q failed /tmp/out && echo ESCAPED"
        );
        shell_with(tool, name, &script)
    });
    let namespaces = "for n in user mount net pid ipc uts cgroup time; do \
                      unshare --$n true && echo ESCAPED $n; \
                      unshare --user --map-root-user --$n true && echo ESCAPED $n; done";
    let namespaces = shell_with("unshare", "new namespaces", namespaces);
    programs.chain(set_user_id).chain([namespaces]).collect()
}
