//! Timeout of idle connections, independent of their protocol.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A stream that fails when it was idle for too long.
pub struct IdleTimeout<S> {
    stream: S,
    limit: Duration,
    active_at: Instant,
    timer: Pin<Box<Sleep>>,
}

impl<S> IdleTimeout<S> {
    /// Starts the timeout of `stream`.
    pub fn new(stream: S, limit: Duration) -> Self {
        Self { stream, limit, active_at: Instant::now(), timer: Box::pin(sleep(limit)) }
    }

    /// Returns the outcome of a read or write, or a timeout if the stream is idle. The timer is
    /// reset when it fires, not with every byte.
    fn check<T>(
        &mut self,
        cx: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.active_at = Instant::now();
            return outcome;
        }
        loop {
            ready!(self.timer.as_mut().poll(cx));
            let end = self.active_at + self.limit;
            if end <= Instant::now() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            self.timer.as_mut().reset(end);
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
        self.check(cx, outcome)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for IdleTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.check(cx, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.check(cx, outcome)
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
    async fn an_idle_read_and_an_idle_write_time_out() {
        let (near, _far) = duplex(1);
        let mut stream = IdleTimeout::new(near, LIMIT);
        let began = Instant::now();
        let read = stream.read(&mut [0]).await.expect_err("nothing comes");
        assert_eq!((read.kind(), began.elapsed()), (io::ErrorKind::TimedOut, LIMIT));
        stream.write_all(b"x").await.expect("there is room for one");
        let written = stream.write_all(b"x").await.expect_err("nobody reads");
        assert_eq!(written.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn traffic_in_one_direction_keeps_the_other_alive() {
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
