//! Connections on which nothing moves are closed, whatever protocol they speak.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A stream that fails when no byte came or went for a while.
pub struct IdleTimeout<S> {
    stream: S,
    limit: Duration,
    moved: Instant,
    alarm: Pin<Box<Sleep>>,
}

impl<S> IdleTimeout<S> {
    /// Watches `stream`, from now on.
    pub fn new(stream: S, limit: Duration) -> Self {
        Self { stream, limit, moved: Instant::now(), alarm: Box::pin(sleep(limit)) }
    }

    /// What became of a read or a write: where it waits, so does the alarm. The alarm is set anew
    /// when it goes off and not with every byte.
    fn judge<T>(
        &mut self,
        cx: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.moved = Instant::now();
            return outcome;
        }
        loop {
            ready!(self.alarm.as_mut().poll(cx));
            let end = self.moved + self.limit;
            if end <= Instant::now() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            self.alarm.as_mut().reset(end);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for IdleTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.judge(cx, outcome)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for IdleTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.judge(cx, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.judge(cx, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn silence_ends_a_read_and_a_write() {
        let (near, _far) = duplex(1);
        let mut watched = IdleTimeout::new(near, LIMIT);
        let began = Instant::now();
        let read = watched.read(&mut [0]).await.expect_err("nothing comes");
        assert_eq!((read.kind(), began.elapsed()), (io::ErrorKind::TimedOut, LIMIT));
        watched.write_all(b"x").await.expect("there is room for one");
        let written = watched.write_all(b"x").await.expect_err("nobody reads");
        assert_eq!(written.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn what_moves_one_way_keeps_the_other_alive() {
        let (near, mut far) = duplex(1);
        let (mut reading, mut writing) = tokio::io::split(IdleTimeout::new(near, LIMIT));
        let read = tokio::spawn(async move { reading.read(&mut [0]).await });
        for _ in 0..5 {
            tokio::time::sleep(LIMIT / 2).await;
            writing.write_all(b"x").await.expect("a reader");
            far.read_exact(&mut [0]).await.expect("a byte");
        }
        far.write_all(b"y").await.expect("a reader");
        assert_eq!(read.await.expect("a task").expect("still open"), 1);
    }
}
