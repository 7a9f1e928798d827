//! Attempts to use parts of the kernel that a command does not need. They call the kernel itself.

use super::{Attempt, python};

/// Calls that must fail because they are not permitted, or not there. Other errors could come from
/// their arguments.
const CALLS: &[(&str, i64)] = &[
    ("bpf", libc::SYS_bpf),
    ("io_uring_setup", libc::SYS_io_uring_setup),
    ("io_uring_enter", libc::SYS_io_uring_enter),
    ("io_uring_register", libc::SYS_io_uring_register),
    ("userfaultfd", libc::SYS_userfaultfd),
    ("perf_event_open", libc::SYS_perf_event_open),
    ("add_key", libc::SYS_add_key),
    ("keyctl", libc::SYS_keyctl),
    ("request_key", libc::SYS_request_key),
    ("memfd_create", libc::SYS_memfd_create),
    ("memfd_secret", libc::SYS_memfd_secret),
    ("shmget", libc::SYS_shmget),
    ("msgget", libc::SYS_msgget),
    ("semget", libc::SYS_semget),
    ("mq_open", libc::SYS_mq_open),
    ("fanotify_init", libc::SYS_fanotify_init),
    ("name_to_handle_at", libc::SYS_name_to_handle_at),
    ("open_by_handle_at", libc::SYS_open_by_handle_at),
    ("mount", libc::SYS_mount),
    ("umount2", libc::SYS_umount2),
    ("pivot_root", libc::SYS_pivot_root),
    ("chroot", libc::SYS_chroot),
    ("fsopen", libc::SYS_fsopen),
    ("fsmount", libc::SYS_fsmount),
    ("fsconfig", libc::SYS_fsconfig),
    ("fspick", libc::SYS_fspick),
    ("open_tree", libc::SYS_open_tree),
    ("move_mount", libc::SYS_move_mount),
    ("mount_setattr", libc::SYS_mount_setattr),
    ("unshare", libc::SYS_unshare),
    ("setns", libc::SYS_setns),
    ("init_module", libc::SYS_init_module),
    ("finit_module", libc::SYS_finit_module),
    ("delete_module", libc::SYS_delete_module),
    ("kexec_load", libc::SYS_kexec_load),
    ("kexec_file_load", libc::SYS_kexec_file_load),
    ("reboot", libc::SYS_reboot),
    ("swapon", libc::SYS_swapon),
    ("swapoff", libc::SYS_swapoff),
    ("sethostname", libc::SYS_sethostname),
    ("setdomainname", libc::SYS_setdomainname),
    ("settimeofday", libc::SYS_settimeofday),
    ("clock_settime", libc::SYS_clock_settime),
    ("adjtimex", libc::SYS_adjtimex),
    ("clock_adjtime", libc::SYS_clock_adjtime),
    ("syslog", libc::SYS_syslog),
    ("acct", libc::SYS_acct),
    ("quotactl", libc::SYS_quotactl),
    ("quotactl_fd", libc::SYS_quotactl_fd),
    ("personality", libc::SYS_personality),
    ("vhangup", libc::SYS_vhangup),
    ("process_madvise", libc::SYS_process_madvise),
    ("process_mrelease", libc::SYS_process_mrelease),
    ("move_pages", libc::SYS_move_pages),
    ("migrate_pages", libc::SYS_migrate_pages),
    ("clone3", libc::SYS_clone3),
    ("openat2", libc::SYS_openat2),
];

pub fn attempts() -> Vec<Attempt> {
    let mut all: Vec<Attempt> = CALLS.iter().map(|(name, number)| denied(name, *number)).collect();
    all.extend(namespaces());
    all.extend([python(
        "calls that were not reviewed",
        "for number in list(range(467, 520)) + [1000, 2**30 - 1]: expect(number, number)",
    )]);
    if cfg!(target_arch = "x86_64") {
        all.extend(other_interfaces());
    }
    all.iter_mut().for_each(add_expectation);
    all
}

/// A call with arguments that would be valid or harmless, so that only the filter denies it.
fn denied(name: &'static str, number: i64) -> Attempt {
    python(name, &format!("expect('{name}', {number})"))
}

/// Adds a function that accepts the errors of the filter only.
fn add_expectation(attempt: &mut Attempt) {
    let function = "def expect(name, number, *arguments):\n\
        \x20 ctypes.set_errno(0)\n\
        \x20 arguments = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]\n\
        \x20 result = libc.syscall(ctypes.c_long(number), *(arguments or [ctypes.c_long(0)] * 6))\n\
        \x20 error = ctypes.get_errno()\n\
        \x20 print(name, 'ESCAPED' if result >= 0 or error not in (1, 38) else 'denied', error)\n";
    // After the imports.
    attempt.script = attempt.script.replacen("def call(", &format!("{function}def call("), 1);
}

/// New namespaces by `clone`. As root outside, these calls succeed.
fn namespaces() -> Vec<Attempt> {
    let clone = libc::SYS_clone;
    let script = format!(
        "for bit in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, \
         0x40000000):\n\
         \x20 for flags in (bit | 17, 0x7E020000 | 17): expect(hex(flags), {clone}, flags, 0, 0, \
         0, 0)"
    );
    vec![python("namespaces of a child", &script)]
}

/// The 32-bit interfaces of the kernel, whose calls have other numbers.
fn other_interfaces() -> Vec<Attempt> {
    // `getpid` and `mount` of x32.
    let x32 = "for number in (39, 165, 512, 545): expect(number, 0x40000000 | number)";
    // mov eax, 20 (getpid); int 0x80; ret
    let x86 = "import mmap, signal\n\
               code = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)\n\
               code.write(bytes.fromhex('b814000000cd80c3'))\n\
               address = ctypes.addressof(ctypes.c_char.from_buffer(code))\n\
               sys.stdout.flush()\n\
               child = os.fork()\n\
               if child == 0:\n\
               \x20 result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()\n\
               \x20 os._exit(0 if result > 0 else 1)\n\
               status = os.waitpid(child, 0)[1]\n\
               print('ESCAPED' if os.WIFEXITED(status) and status == 0 else status)";
    vec![python("calls of x32", x32), python("calls of 32-bit programs", x86)]
}
