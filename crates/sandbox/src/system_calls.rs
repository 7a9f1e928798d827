//! System calls that a command can't make.
//!
//! The filter denies what reaches the kernel's less tested parts, other processes, or another
//! namespace. It allows the rest: compilers, interpreters and test runners use most of it. The
//! namespaces, not the filter, keep files and the network away.

mod lists;

use std::collections::BTreeMap;
use std::io;

use rustix::fd::OwnedFd;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

use lists::{
    DENIED, DENIED_HERE, FIRST_UNKNOWN, MISSING, NEW_NAMESPACES, ONE_PROCESS, PROCESS_ARGUMENTS,
    SET_ID_MODES, SOCKET_FAMILIES, TERMINAL_INPUT, UNCOUNTED_MEMORY, UNNAMED_FILE, creating_calls,
    mode_arguments,
};

/// Returns the filter as the file that bubblewrap's `--seccomp` reads.
pub(crate) fn filter_file() -> io::Result<OwnedFd> {
    let program = filter().map_err(io::Error::other)?;
    let instruction = |each: &sock_filter| {
        let mut bytes = each.code.to_ne_bytes().to_vec();
        bytes.extend([each.jt, each.jf]);
        bytes.extend(each.k.to_ne_bytes());
        bytes
    };
    let bytes: Vec<u8> = program.iter().flat_map(instruction).collect();
    content_file(&bytes)
}

/// Returns a pipe from which `content` can be read. It must fit into the pipe.
pub(crate) fn content_file(content: &[u8]) -> io::Result<OwnedFd> {
    let flags = rustix::pipe::PipeFlags::CLOEXEC | rustix::pipe::PipeFlags::NONBLOCK;
    let (reader, writer) = rustix::pipe::pipe_with(flags)?;
    let written = rustix::io::write(&writer, content)?;
    // The reader blocks only if the pipe is empty, and its writer is closed by then.
    rustix::io::ioctl_fionbio(&reader, false)?;
    if written == content.len() { Ok(reader) } else { Err(io::ErrorKind::FileTooLarge.into()) }
}

fn filter() -> Result<BpfProgram, BackendError> {
    let denied = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let rest: BpfProgram =
        SeccompFilter::new(rules()?, SeccompAction::Allow, denied, arch)?.try_into()?;
    Ok(missing_calls().into_iter().chain(rest).collect())
}

fn rules() -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        DENIED.iter().chain(DENIED_HERE).map(|call| (*call, Vec::new())).collect();
    let mut add = |call: i64, conditions: Vec<SeccompCondition>| -> Result<(), BackendError> {
        rules.entry(call).or_default().push(SeccompRule::new(conditions)?);
        Ok(())
    };
    for flag in NEW_NAMESPACES {
        add(libc::SYS_clone, vec![has_bits(0, flag.unsigned_abs())?])?;
    }
    add(libc::SYS_mmap, vec![has_bits(3, UNCOUNTED_MEMORY.unsigned_abs())?])?;
    for request in TERMINAL_INPUT {
        add(libc::SYS_ioctl, vec![compare(1, SeccompCmpOp::Eq, *request)?])?;
    }
    let other_families = SOCKET_FAMILIES
        .iter()
        .map(|family| compare(0, SeccompCmpOp::Ne, family.unsigned_abs().into()))
        .collect::<Result<_, _>>()?;
    add(libc::SYS_socket, other_families)?;
    for (call, argument) in PROCESS_ARGUMENTS {
        add(*call, vec![compare(*argument, SeccompCmpOp::Ne, 0)?])?;
    }
    for (call, argument, value) in ONE_PROCESS {
        add(*call, vec![compare(*argument, SeccompCmpOp::Ne, *value)?])?;
    }
    for mode in SET_ID_MODES {
        for (call, argument) in mode_arguments() {
            add(call, vec![has_bits(argument, *mode)?])?;
        }
        for (call, flags, argument) in creating_calls() {
            // Without one of these flags, the argument is not a mode.
            for flag in [libc::O_CREAT, UNNAMED_FILE] {
                let creates = has_bits(flags, flag.unsigned_abs())?;
                add(call, vec![creates, has_bits(argument, *mode)?])?;
            }
        }
    }
    Ok(rules)
}

fn has_bits(argument: u8, bits: u32) -> Result<SeccompCondition, BackendError> {
    compare(argument, SeccompCmpOp::MaskedEq(bits.into()), bits.into())
}

fn compare(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

/// Returns the instructions that make calls fail as missing. They come before the filter of
/// `seccompiler`, which has a single result for all calls that it denies.
fn missing_calls() -> Vec<sock_filter> {
    const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
    const JUMP_IF_EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
    const JUMP_IF_AT_LEAST: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
    const RETURN: u16 = 0x06; // BPF_RET | BPF_K
    const ERRNO: u32 = 0x0005_0000; // SECCOMP_RET_ERRNO
    let instruction = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    // The number of the call is the first field that a filter sees.
    let mut all = vec![instruction(LOAD, 0, 0, 0)];
    let numbers = MISSING.iter().map(|call| (JUMP_IF_EQUAL, u32::try_from(*call).unwrap_or(0)));
    let tests: Vec<_> = numbers.chain([(JUMP_IF_AT_LEAST, FIRST_UNKNOWN)]).collect();
    for (index, (code, number)) in tests.iter().enumerate() {
        // If a test holds, skip the others; if the last one does not, skip the result.
        let left = tests.len() - 1 - index;
        let skipped = u8::from(left == 0);
        all.push(instruction(*code, u8::try_from(left).unwrap_or(0), skipped, *number));
    }
    all.push(instruction(RETURN, 0, 0, ERRNO | libc::ENOSYS.unsigned_abs()));
    all
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read as _;

    use super::*;

    #[test]
    fn filter_has_the_size_of_its_instructions() {
        let mut bytes = Vec::new();
        File::from(filter_file().expect("a filter")).read_to_end(&mut bytes).expect("its bytes");
        let instructions = filter().expect("a filter").len();
        assert_eq!(bytes.len(), instructions * 8);
        assert!(instructions > DENIED.len() && instructions < 4096, "{instructions}");
    }

    #[test]
    fn missing_calls_are_tested_one_after_the_other() {
        let all = missing_calls();
        let [load, tests @ .., result] = all.as_slice() else { panic!("instructions") };
        assert_eq!((load.k, tests.len(), result.k), (0, 3, 0x0005_0000 + 38));
        for (index, test) in tests.iter().enumerate() {
            assert_eq!(index + 1 + usize::from(test.jt), tests.len(), "it leads to the result");
        }
        assert!(tests.iter().map(|test| test.jf).eq([0, 0, 1]));
    }

    #[test]
    fn content_that_no_pipe_holds_is_an_error() {
        content_file(&vec![0; 1 << 20]).expect_err("too long");
    }
}
