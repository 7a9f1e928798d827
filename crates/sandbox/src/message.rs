//! Messages between the service and the first process of a sandbox: four bytes of length, then the
//! content.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::limits::Limits;
use crate::outcome::{EndedBy, Status, Usage};

/// Maximum length of a message, in bytes.
pub const MAX_BYTES: usize = 4 << 20;

/// Messages of the service.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// Start the command.
    Start(Start),
    /// End the command: SIGTERM, then SIGKILL after the grace time.
    Stop,
}

/// A command, as the first process of the sandbox starts it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Start {
    /// Program and arguments.
    pub arguments: Vec<Text>,
    /// Environment, as names and values.
    pub environment: Vec<(Text, Text)>,
    /// Working directory.
    pub working_directory: Text,
    /// Directories in which the command may change files, in addition to `/tmp`.
    pub writable: Vec<Text>,
    /// Limits.
    pub limits: Limits,
}

/// Messages of the first process.
#[derive(Debug, Serialize, Deserialize)]
pub enum Event {
    /// The sandbox is set up, and the command starts. `landlock` is the version of Landlock's
    /// interface in force.
    Started { landlock: Option<i32> },
    /// The sandbox could not be set up.
    SetUpFailed(String),
    /// The program could not be executed.
    ProgramFailed(String),
    /// The command has ended. All its processes end now.
    Ended { status: Status, ended_by: EndedBy, usage: Usage },
}

/// A text of the system, which need not be UTF-8.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text(Vec<u8>);

impl Text {
    pub fn to_os(&self) -> OsString {
        OsString::from_vec(self.0.clone())
    }

    pub fn to_path(&self) -> PathBuf {
        self.to_os().into()
    }
}

/// It may be secret, so only its size is shown.
impl fmt::Debug for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Text({} bytes)", self.0.len())
    }
}

impl<T: AsRef<std::ffi::OsStr>> From<T> for Text {
    fn from(text: T) -> Self {
        Self(text.as_ref().as_bytes().to_owned())
    }
}

/// Writes a message.
pub fn write(stream: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let content = postcard::to_allocvec(message).map_err(io::Error::other)?;
    let length = u32::try_from(content.len()).ok().filter(|_| content.len() <= MAX_BYTES);
    let length = length.ok_or_else(|| io::Error::from(ErrorKind::FileTooLarge))?;
    stream.write_all(&[&length.to_le_bytes(), content.as_slice()].concat())
}

/// Reads a message; `None` at the end of the stream.
pub fn read<T: DeserializeOwned>(stream: &mut impl Read) -> io::Result<Option<T>> {
    let mut header = [0; 4];
    match stream.read_exact(&mut header) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let length = usize::try_from(u32::from_le_bytes(header)).unwrap_or(usize::MAX);
    if length > MAX_BYTES {
        return Err(io::Error::new(ErrorKind::InvalidData, "a message announces too many bytes"));
    }
    let mut content = vec![0; length];
    stream.read_exact(&mut content)?;
    postcard::from_bytes(&content).map(Some).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_is_read_as_it_was_written() {
        let mut bytes = Vec::new();
        let event = Event::Ended {
            status: Status::Signaled(9),
            ended_by: EndedBy::Cancelled,
            usage: Usage::default(),
        };
        write(&mut bytes, &event).expect("a message");
        let read_again = read::<Event>(&mut bytes.as_slice()).expect("a message");
        assert_eq!(format!("{read_again:?}"), format!("{:?}", Some(event)));
        assert!(read::<Event>(&mut [].as_slice()).expect("an end").is_none());
    }

    #[test]
    fn invalid_message_is_an_error() {
        read::<Event>(&mut [255, 255, 255, 255, 0].as_slice()).expect_err("too long");
        read::<Event>(&mut [2, 0, 0, 0, 0].as_slice()).expect_err("too short");
        read::<Event>(&mut [1, 0, 0, 0, 99].as_slice()).expect_err("no such event");
    }
}
