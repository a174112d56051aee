//! A connection of a session as TLS sees it: what comes is acknowledged as soon as it is read.
//!
//! Linux takes whoever sends now and then for half of a conversation, and keeps his acknowledgements back, 40 ms and more, for an
//! answer to go with. Who receives a stream here says now and then what he has received, and is in no conversation: where a window is
//! of a few segments, as over a lossy link, the sender would wait for each odd one (docs/validation.md has what that cost).
//! `TCP_QUICKACK` holds until the kernel changes its mind, so that it is set again with each read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A socket that acknowledges what was read.
#[derive(Debug)]
pub(crate) struct Prompt(pub(crate) TcpStream);

impl AsyncRead for Prompt {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let done = Pin::new(&mut self.0).poll_read(context, buffer);
        // Where there is more, acknowledgements go out anyway: every second segment has one.
        let is_all = buffer.filled().len() > before && buffer.remaining() > 0;
        if is_all && matches!(done, Poll::Ready(Ok(()))) {
            // Without it the connection is slower, and that is all.
            let _ = evenair_linux::tcp::acknowledge_at_once(&self.0);
        }
        done
    }
}

impl AsyncWrite for Prompt {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
