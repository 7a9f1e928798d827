//! Output streams of git.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Maximum bytes of git's output that are kept.
pub(super) const MAX_OUTPUT: u64 = 64 * 1024;

/// Maximum bytes of one field of git's output, such as a commit message.
pub(super) const MAX_FIELD: usize = 64 * 1024;

/// Reads a stream to its end, and passes what was read to `on_chunk`.
pub(super) async fn chunks(
    stream: Option<impl AsyncRead + Unpin>,
    mut on_chunk: impl FnMut(&[u8]),
) -> io::Result<()> {
    let Some(mut stream) = stream else { return Ok(()) };
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match stream.read(&mut buffer).await? {
            0 => return Ok(()),
            read => on_chunk(&buffer[..read]),
        }
    }
}

/// Returns a function that splits chunks into fields, each of which ends with NUL.
pub(super) fn split(mut on_field: impl FnMut(&[u8])) -> impl FnMut(&[u8]) {
    let mut field = Vec::new();
    move |chunk| {
        let mut rest = chunk;
        while let Some(end) = rest.iter().position(|byte| *byte == 0) {
            append(&mut field, &rest[..end]);
            on_field(&field);
            field.clear();
            rest = &rest[end + 1..];
        }
        append(&mut field, rest);
    }
}

/// Appends bytes up to the maximum length of a field.
fn append(field: &mut Vec<u8>, bytes: &[u8]) {
    let capacity = MAX_FIELD.saturating_sub(field.len());
    field.extend_from_slice(&bytes[..bytes.len().min(capacity)]);
}

/// Reads a stream to its end, so that the process never blocks, and returns its start.
pub(super) async fn read(stream: Option<impl AsyncRead + Unpin>) -> io::Result<String> {
    let Some(mut stream) = stream else { return Ok(String::new()) };
    let mut start = Vec::new();
    (&mut stream).take(MAX_OUTPUT).read_to_end(&mut start).await?;
    tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
    Ok(String::from_utf8_lossy(&start).into_owned())
}
