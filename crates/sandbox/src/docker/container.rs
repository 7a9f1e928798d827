//! The container of a command, as the engine is asked to create it.

use std::collections::HashMap;

use bollard::models::{
    ContainerCreateBody, HostConfig, HostConfigCgroupnsModeEnum, HostConfigLogConfig, Mount,
    MountBindOptions, MountBindOptionsPropagationEnum, MountType, ResourcesUlimits,
};
use rustix::process::{getegid, geteuid};

use crate::Error;
use crate::command::{Access, Command, Directory};
use crate::settings::DockerSettings;

/// Label of all containers. Its value is the time in seconds since 1970 after which no service
/// needs the container.
pub(super) const LABEL: &str = "memory-copilot.sandbox.until";
/// Time between the longest run of a command and the removal of its container by another service,
/// in seconds.
const EXPIRY_MARGIN: u64 = 300;
/// Processor time that a container gets in a second, in nanoseconds.
const NANO_CPUS: i64 = 1_000_000_000;
/// Environment of a command that sets no other.
const ENVIRONMENT: &[(&str, &str)] = &[("HOME", "/tmp"), ("TMPDIR", "/tmp"), ("LANG", "C.UTF-8")];

/// Returns the container for a command. `now` is the time in seconds since 1970.
pub(super) fn configuration(
    command: &Command,
    settings: &DockerSettings,
    now: u64,
) -> Result<ContainerCreateBody, Error> {
    let text = |text: &std::ffi::OsStr| {
        text.to_str().map(ToOwned::to_owned).ok_or_else(|| {
            Error::InvalidCommand("Docker takes UTF-8 only; change its arguments".to_owned())
        })
    };
    let (program, arguments) = (&command.program, command.arguments.iter());
    let own = ENVIRONMENT.iter().map(|(name, value)| Ok(format!("{name}={value}")));
    let set = command.environment.iter();
    let set = set.map(|(name, value)| Ok(format!("{}={}", text(name)?, text(value)?)));
    let limits = &command.limits;
    let longest = limits.wall_time.as_secs().saturating_add(limits.grace_time.as_secs());
    let until = now.saturating_add(longest).saturating_add(EXPIRY_MARGIN);
    Ok(ContainerCreateBody {
        image: Some(settings.image.clone()),
        // In place of the image's own, so that no program of it runs.
        entrypoint: Some(vec![text(program)?]),
        cmd: Some(arguments.map(|argument| text(argument)).collect::<Result<_, _>>()?),
        env: Some(own.chain(set).collect::<Result<_, _>>()?),
        working_dir: Some(text(command.working_directory.as_os_str())?),
        user: Some(user(command)),
        labels: Some(HashMap::from([(LABEL.to_owned(), until.to_string())])),
        network_disabled: Some(true),
        attach_stdin: Some(false),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        open_stdin: Some(false),
        tty: Some(false),
        host_config: Some(host_config(command)?),
        ..ContainerCreateBody::default()
    })
}

fn host_config(command: &Command) -> Result<HostConfig, Error> {
    let limits = &command.limits;
    let (memory, temporary) = (signed(limits.memory_bytes), signed(limits.temporary_bytes));
    let mounts = command.directories.iter().map(mount).collect::<Result<_, _>>()?;
    Ok(HostConfig {
        network_mode: Some("none".to_owned()),
        cap_drop: Some(vec!["ALL".to_owned()]),
        privileged: Some(false),
        security_opt: Some(vec!["no-new-privileges:true".to_owned()]),
        readonly_rootfs: Some(true),
        tmpfs: Some(HashMap::from([(
            "/tmp".to_owned(),
            format!("rw,nosuid,nodev,exec,mode=1777,size={temporary}"),
        )])),
        shm_size: Some(temporary),
        ipc_mode: Some("private".to_owned()),
        cgroupns_mode: Some(HostConfigCgroupnsModeEnum::PRIVATE),
        pids_limit: Some(signed(limits.processes)),
        memory: Some(memory),
        // Together with the memory, so there is no swap.
        memory_swap: Some(memory),
        nano_cpus: Some(NANO_CPUS),
        oom_score_adj: Some(1000),
        ulimits: Some(vec![
            ulimit("nofile", limits.open_files),
            ulimit("fsize", limits.file_bytes),
            ulimit("cpu", limits.processor_time.as_secs()),
            ulimit("core", 0),
        ]),
        init: Some(true),
        // The service removes it, after it has read why the container ended.
        auto_remove: Some(false),
        // The output is read from the stream. A log would fill the engine's disk.
        log_config: Some(HostConfigLogConfig { typ: Some("none".to_owned()), config: None }),
        mounts: Some(mounts),
        ..HostConfig::default()
    })
}

/// Returns the user of the command: the service's own user, or an unprivileged one if the service
/// is root. It is never root.
fn user(command: &Command) -> String {
    command.runs_as().map_or_else(
        || format!("{}:{}", geteuid().as_raw(), getegid().as_raw()),
        |user| format!("{}:{}", user.uid, user.gid),
    )
}

fn mount(directory: &Directory) -> Result<Mount, Error> {
    let text = |path: &std::path::Path| {
        path.to_str().map(ToOwned::to_owned).ok_or_else(|| {
            Error::InvalidCommand("Docker takes UTF-8 only; rename the directory".to_owned())
        })
    };
    Ok(Mount {
        typ: Some(MountType::BIND),
        source: Some(text(&directory.path()?)?),
        target: Some(text(&directory.target)?),
        read_only: Some(directory.access == Access::ReadOnly),
        bind_options: Some(MountBindOptions {
            propagation: Some(MountBindOptionsPropagationEnum::RPRIVATE),
            // Otherwise the engine creates a directory that was deleted meanwhile.
            create_mountpoint: Some(false),
            ..MountBindOptions::default()
        }),
        ..Mount::default()
    })
}

fn ulimit(name: &str, value: u64) -> ResourcesUlimits {
    let value = Some(signed(value));
    ResourcesUlimits { name: Some(name.to_owned()), soft: value, hard: value }
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
