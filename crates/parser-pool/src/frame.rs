//! Messages between the service and a child process: four bytes of length, then the content.

use std::io::{self, ErrorKind, Read, Write};

/// Maximum length of a message, in bytes. Texts and results of parsers are much shorter.
pub const MAX_BYTES: usize = 256 << 20;
/// Bytes of the length.
pub const HEADER_BYTES: usize = 4;

/// Returns the message with its length in front.
pub fn encode(content: &[u8]) -> io::Result<Vec<u8>> {
    let length = u32::try_from(content.len()).ok().filter(|_| content.len() <= MAX_BYTES);
    let too_large = || io::Error::new(ErrorKind::FileTooLarge, "a message exceeds 256 MiB");
    let length = length.ok_or_else(too_large)?;
    let mut message = Vec::with_capacity(HEADER_BYTES + content.len());
    message.extend_from_slice(&length.to_le_bytes());
    message.extend_from_slice(content);
    Ok(message)
}

/// Returns the length of the content; an error if it exceeds `max`.
pub fn length(header: [u8; HEADER_BYTES], max: usize) -> io::Result<usize> {
    let length = usize::try_from(u32::from_le_bytes(header)).unwrap_or(usize::MAX);
    if length > max {
        return Err(io::Error::new(ErrorKind::InvalidData, "a message announces too many bytes"));
    }
    Ok(length)
}

/// Reads a message; `None` at the end of the stream.
pub fn read(stream: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut header = [0; HEADER_BYTES];
    match stream.read_exact(&mut header) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let mut content = vec![0; length(header, MAX_BYTES)?];
    stream.read_exact(&mut content)?;
    Ok(Some(content))
}

/// Writes a message.
pub fn write(stream: &mut impl Write, content: &[u8]) -> io::Result<()> {
    stream.write_all(&encode(content)?)
}
