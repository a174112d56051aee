//! A stream as its user handles it.

use super::{Shared, broken, now};
use crate::core::Read;
use crate::frame::{Broken, StreamId};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream: bytes in order, each once, both ways, or an error with the reason. Dropped before both
/// directions have ended, it is broken off.
#[derive(Debug)]
pub struct Stream {
    session: Arc<Shared>,
    id: StreamId,
}

impl Stream {
    pub(super) fn new(session: Arc<Shared>, id: StreamId) -> Self {
        session.with(|inner| inner.wakers.insert(id, [None, None]));
        Self { session, id }
    }

    /// Returns its number within its session.
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// Breaks it off, both ways.
    pub fn reset(&self, why: Broken) {
        self.session.with(|inner| inner.core.reset(self.id, why, now()));
    }

    /// Ends this direction; the other continues.
    pub(crate) fn end(&self) {
        self.session.with(|inner| inner.core.end(self.id, now()));
    }

    /// Reserves room for up to `most` bytes, at least one. It stays the caller's until
    /// [`write_reserved`](Self::write_reserved) uses it or gives it back.
    pub(crate) fn poll_reserve(&self, context: &mut Context<'_>, most: usize) -> Poll<io::Result<usize>> {
        self.session.with(|inner| match inner.core.reserve(self.id, most, now()) {
            Ok(0) => {
                inner.wait(self.id, 1, context);
                Poll::Pending
            }
            Ok(room) => Poll::Ready(Ok(room)),
            Err(why) => Poll::Ready(Err(broken(why))),
        })
    }

    /// Writes bytes, no more than the reserved room; the rest of the room becomes free.
    pub(crate) fn write_reserved(&self, bytes: &[u8], reserved: usize) -> io::Result<()> {
        let written = self.session.with(|inner| inner.core.write_reserved(self.id, bytes, reserved, now()));
        written.map_err(broken)
    }

    /// Copies readable bytes without consuming them; none at the end.
    pub(crate) fn poll_peek(&self, context: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        self.session.with(|inner| match inner.core.peek(self.id, into) {
            Ok(Read::Bytes(count)) => Poll::Ready(Ok(count)),
            Ok(Read::End) => Poll::Ready(Ok(0)),
            Ok(Read::Wait) => {
                inner.wait(self.id, 0, context);
                Poll::Pending
            }
            Err(why) => Poll::Ready(Err(broken(why))),
        })
    }

    /// Consumes bytes that were copied.
    pub(crate) fn consume(&self, count: usize) -> io::Result<()> {
        let taken = self.session.with(|inner| inner.core.consume(self.id, count, now()));
        taken.map_err(broken)
    }

    /// Waits until the stream is broken off; no other task reads it then.
    pub(crate) async fn broken(&self) {
        let is_broken = |context: &mut Context<'_>| {
            self.session.with(|inner| {
                if inner.core.peek(self.id, &mut [0]).is_err() {
                    return Poll::Ready(());
                }
                inner.wait(self.id, 0, context);
                Poll::Pending
            })
        };
        std::future::poll_fn(is_broken).await;
    }

    /// Reads to the end, or until the stream breaks, and discards the bytes.
    pub(crate) async fn discard(&self) {
        let discards = |context: &mut Context<'_>| {
            self.session.with(|inner| {
                loop {
                    match inner.core.discard(self.id, now()) {
                        Ok(Read::Bytes(_)) => {}
                        Ok(Read::Wait) => {
                            inner.wait(self.id, 0, context);
                            return Poll::Pending;
                        }
                        Ok(Read::End) | Err(_) => return Poll::Ready(()),
                    }
                }
            })
        };
        std::future::poll_fn(discards).await;
    }

    /// Returns whether everything written, and the end after it, has reached the other side.
    pub fn is_delivered(&self) -> bool {
        self.session.with(|inner| inner.core.is_delivered(self.id))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.session.with(|inner| {
            inner.wakers.remove(&self.id);
            inner.core.release(self.id, now());
        });
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let id = self.id;
        self.session.with(|inner| match inner.core.read(id, into.initialize_unfilled(), now()) {
            Ok(Read::Bytes(count)) => {
                into.advance(count);
                Poll::Ready(Ok(()))
            }
            Ok(Read::End) => Poll::Ready(Ok(())),
            Ok(Read::Wait) => {
                inner.wait(id, 0, context);
                Poll::Pending
            }
            Err(why) => Poll::Ready(Err(broken(why))),
        })
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let id = self.id;
        self.session.with(|inner| match inner.core.write(id, bytes, now()) {
            Ok(0) if !bytes.is_empty() => {
                inner.wait(id, 1, context);
                Poll::Pending
            }
            Ok(count) => Poll::Ready(Ok(count)),
            Err(why) => Poll::Ready(Err(broken(why))),
        })
    }

    /// Written bytes are under way already.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Ends this direction; the other continues.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.end();
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::core::{Limits, Side};
    use crate::session::Session;
    use std::time::Duration;
    use tokio::io::AsyncWriteExt as _;

    #[tokio::test]
    async fn break_is_told_and_bytes_and_end_are_none() {
        let (here, there) = tokio::io::duplex(1 << 16);
        let session = |side, io| {
            let session = Session::new(side, Limits::default(), Budget::new(1 << 30));
            session.add(io, None, String::new(), Box::new(()));
            session
        };
        let (near, far) = (session(Side::Client, here), session(Side::Relay, there));
        let mut own = near.open().unwrap();
        own.write_all(b"bytes").await.unwrap();
        let theirs = far.accept().await.unwrap();
        own.shutdown().await.unwrap();
        let waits = tokio::time::timeout(Duration::from_millis(100), theirs.broken()).await;
        assert!(waits.is_err(), "bytes and the end have come, and no break");
        own.reset(Broken::Aborted);
        tokio::time::timeout(Duration::from_secs(10), theirs.broken()).await.expect("it is broken");
    }
}
