//! Lists of system calls, and of arguments, that are denied.

/// First number of a system call that was not reviewed for this list. Numbers above, and those of
/// the 32-bit interface x32, fail as on an older kernel.
pub(super) const FIRST_UNKNOWN: u32 = 467;

/// Calls that fail as if the kernel did not have them, so that programs use an older call. Their
/// arguments are in memory, which the filter can't read.
pub(super) const MISSING: &[i64] = &[libc::SYS_clone3, libc::SYS_openat2];

/// Calls that are denied with any arguments.
pub(super) const DENIED: &[i64] = &[
    // Namespaces and mounts.
    libc::SYS_chroot,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_pivot_root,
    libc::SYS_setns,
    libc::SYS_umount2,
    libc::SYS_unshare,
    // Other processes, also the first process of the sandbox.
    libc::SYS_kcmp,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    // Keys of the user, which outlive the sandbox.
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    // Parts of the kernel that had many faults.
    libc::SYS_bpf,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_userfaultfd,
    // Memory that is not counted, because it belongs to no process.
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    libc::SYS_mq_open,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_shmget,
    // Files by other ways than their path.
    libc::SYS_fanotify_init,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    // The machine.
    libc::SYS_acct,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    libc::SYS_personality,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_vhangup,
];

/// Calls of the processor that are denied.
#[cfg(target_arch = "x86_64")]
pub(super) const DENIED_HERE: &[i64] = &[
    libc::SYS_ioperm,
    libc::SYS_iopl,
    libc::SYS_modify_ldt,
    libc::SYS_sysfs,
    libc::SYS_uselib,
    libc::SYS_ustat,
];
#[cfg(not(target_arch = "x86_64"))]
pub(super) const DENIED_HERE: &[i64] = &[];

/// Flags of `clone` for new namespaces.
pub(super) const NEW_NAMESPACES: &[i32] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Flags of `mmap` for memory that processes share and that has no file. A process that has written
/// it can remove it from its own memory, while it stays allocated; then it is not counted.
pub(super) const UNCOUNTED_MEMORY: i32 = libc::MAP_SHARED | libc::MAP_ANONYMOUS;

/// Requests of `ioctl` that put input into a terminal, or have it pasted there.
pub(super) const TERMINAL_INPUT: &[u64] = &[libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCCONS];

/// Families of sockets that a command may use. The others reach the kernel's configuration, its
/// cryptography, or the host of a virtual machine, which the network namespace does not cover.
pub(super) const SOCKET_FAMILIES: &[i32] = &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6];

/// Bits of a file's mode with which a program runs as the owner or the group of its file.
pub(super) const SET_ID_MODES: &[u32] = &[libc::S_ISUID, libc::S_ISGID];
/// Flag of a file without a name (`O_TMPFILE`), without that of a directory.
pub(super) const UNNAMED_FILE: i32 = libc::O_TMPFILE & !libc::O_DIRECTORY;

/// Index and type of an argument that selects another process; 0 is the calling one.
pub(super) const PROCESS_ARGUMENTS: &[(i64, u8)] = &[
    (libc::SYS_prlimit64, 0),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
];
/// Index and value of an argument that says that a number is one process, not a group or a user.
pub(super) const ONE_PROCESS: &[(i64, u8, u64)] = &[
    (libc::SYS_setpriority, 0, libc::PRIO_PROCESS as u64),
    // IOPRIO_WHO_PROCESS
    (libc::SYS_ioprio_set, 0, 1),
];

/// Returns the calls that set a file's mode, and the index of that argument.
pub(super) fn mode_arguments() -> Vec<(i64, u8)> {
    /// `fchmodat2`, for which `libc` has no name on all processors.
    const FCHMODAT2: i64 = 452;
    let mut calls = vec![
        (libc::SYS_fchmod, 1),
        (libc::SYS_fchmodat, 2),
        (FCHMODAT2, 2),
        (libc::SYS_mknodat, 2),
    ];
    #[cfg(target_arch = "x86_64")]
    calls.extend([(libc::SYS_chmod, 1), (libc::SYS_creat, 1), (libc::SYS_mknod, 1)]);
    calls.sort_unstable();
    calls
}

/// Returns the calls that may create a file, and the indexes of their flags and of the mode.
pub(super) fn creating_calls() -> Vec<(i64, u8, u8)> {
    let mut calls = vec![(libc::SYS_openat, 2, 3)];
    #[cfg(target_arch = "x86_64")]
    calls.push((libc::SYS_open, 1, 2));
    calls.sort_unstable();
    calls
}
