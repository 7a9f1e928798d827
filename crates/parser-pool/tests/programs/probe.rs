//! The program of `tests/pool.rs`: parsers that misbehave.

use std::net::TcpStream;
use std::process::{Command, ExitCode};
use std::time::Duration;

use mc_parser_pool::{Parser, ParserEntry, serve};
use mc_processor_time::thread_time;

/// Defines a parser of a text.
macro_rules! probe {
    ($name:ident, $text:ident => $result:expr) => {
        struct $name;
        impl Parser for $name {
            const NAME: &'static str = stringify!($name);
            type Input<'a> = &'a str;
            type Output = String;
            fn max_output_bytes(_input_bytes: usize) -> usize {
                8 << 20
            }
            fn time_limit(_input_bytes: usize) -> Duration {
                Duration::from_millis(500)
            }
            fn parse($text: &str) -> String {
                $result
            }
        }
    };
}

probe!(Reverse, text => text.chars().rev().collect());
probe!(Loop, text => loop {
    std::hint::black_box(text);
});
probe!(Compute, _text => {
    let end = thread_time() + Duration::from_millis(300);
    while thread_time() < end {}
    String::new()
});
probe!(Allocate, text => {
    let bytes = text.parse().expect("a number");
    std::hint::black_box(vec![1_u8; bytes]).len().to_string()
});
probe!(Hold, text => {
    let bytes = text.trim().parse().expect("a number");
    std::mem::forget(std::hint::black_box(vec![1_u8; bytes]));
    String::new()
});
probe!(Park, _text => loop {
    std::thread::park();
});
probe!(Abort, _text => std::process::abort());
probe!(Panic, text => panic!("{text}"));
probe!(ReadFile, text => outcome(std::fs::read_to_string(text)));
probe!(ListFiles, text => outcome(std::fs::read_dir(text).map(|_| "listed")));
probe!(WriteFile, text => outcome(std::fs::write(text, "written").map(|()| "written")));
probe!(Connect, text => outcome(TcpStream::connect(text).map(|_| "connected")));
probe!(Run, text => outcome(Command::new(text).output().map(|_| "run")));
probe!(Executable, _text => {
    let mapped = memmap2::MmapMut::map_anon(1).expect("memory that is not executable");
    outcome(mapped.make_exec().map(|_| "executable"))
});
probe!(CloseFile, text => {
    let file: std::os::fd::RawFd = text.parse().expect("a file descriptor");
    match nix::unistd::close(file) {
        Ok(()) => "closed".to_owned(),
        Err(error) => error.to_string(),
    }
});
probe!(User, _text => nix::unistd::geteuid().to_string());
probe!(Signal, text => {
    let process = nix::unistd::Pid::from_raw(text.parse().expect("a process"));
    outcome(nix::sys::signal::kill(process, None).map(|()| "sent").map_err(Into::into))
});
probe!(RaiseLimit, _text => {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let all = Rlimit { current: None, maximum: None };
    outcome(setrlimit(Resource::As, all).map(|()| "raised").map_err(Into::into))
});

fn outcome(result: std::io::Result<impl ToString>) -> String {
    match result {
        Ok(done) => done.to_string(),
        Err(error) => format!("{:?}", error.kind()),
    }
}

fn main() -> ExitCode {
    let parsers = [
        ParserEntry::of::<Reverse>(),
        ParserEntry::of::<Loop>(),
        ParserEntry::of::<Compute>(),
        ParserEntry::of::<Park>(),
        ParserEntry::of::<Allocate>(),
        ParserEntry::of::<Hold>(),
        ParserEntry::of::<Abort>(),
        ParserEntry::of::<Panic>(),
        ParserEntry::of::<ReadFile>(),
        ParserEntry::of::<ListFiles>(),
        ParserEntry::of::<WriteFile>(),
        ParserEntry::of::<Connect>(),
        ParserEntry::of::<Run>(),
        ParserEntry::of::<Executable>(),
        ParserEntry::of::<CloseFile>(),
        ParserEntry::of::<User>(),
        ParserEntry::of::<Signal>(),
        ParserEntry::of::<RaiseLimit>(),
    ];
    serve(&parsers)
}
