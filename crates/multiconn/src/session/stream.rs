//! A stream, for who uses it.

use super::{Shared, broken, now};
use crate::core::Read;
use crate::frame::{Broken, StreamId};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream: bytes in order, each once, both ways, or an error that says why not. Dropped before both directions have ended, it is broken off.
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

    /// Its number within its session.
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// Breaks it off, both ways.
    pub fn reset(&self, why: Broken) {
        self.session.with(|inner| inner.core.reset(self.id, why, now()));
    }

    /// Whether all that was written, and the end after it, has reached the other side.
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
                if let Some(wakers) = inner.wakers.get_mut(&id) {
                    wakers[0] = Some(context.waker().clone());
                }
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
                if let Some(wakers) = inner.wakers.get_mut(&id) {
                    wakers[1] = Some(context.waker().clone());
                }
                Poll::Pending
            }
            Ok(count) => Poll::Ready(Ok(count)),
            Err(why) => Poll::Ready(Err(broken(why))),
        })
    }

    /// What is written is on its way already.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Ends this direction; the other goes on.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.session.with(|inner| inner.core.end(self.id, now()));
        Poll::Ready(Ok(()))
    }
}
