//! A connection of a session as TLS sees it: what comes of a stream is acknowledged as soon as it is read.
//!
//! Linux takes whoever sends now and then for half of a conversation, and keeps his acknowledgements back, 40 ms and more, for an
//! answer to go with. Who receives a stream here says now and then what he has received, and is in no conversation: where a window is
//! of a few segments, as over a lossy link, the sender would wait for each odd one (docs/notes/transport.md has what that cost).
//! `TCP_QUICKACK` holds until the kernel changes its mind, so that it is set again with each read.
//!
//! What is said of a stream, a credit now and then, may wait for a segment to go with: acknowledged at once, each would be a packet more
//! among the stream's own, one for nine of them, and what counts packets (a policer, a queue, the air) counts it like a full one.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// What says something of a stream is shorter, what is of one is longer, but for its end \[bytes\].
const OF_A_STREAM: usize = 512;

/// A socket that acknowledges at once what it reads of streams.
#[derive(Debug)]
pub(crate) struct Prompt {
    socket: TcpStream,
    /// Read since there was nothing more \[bytes\].
    came: usize,
}

impl Prompt {
    pub(crate) const fn new(socket: TcpStream) -> Self {
        Self { socket, came: 0 }
    }

    pub(crate) const fn socket(&self) -> &TcpStream {
        &self.socket
    }

    pub(crate) fn into_inner(self) -> TcpStream {
        self.socket
    }
}

impl AsyncRead for Prompt {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let done = Pin::new(&mut self.socket).poll_read(context, buffer);
        self.came += buffer.filled().len() - before;
        // Where there may be more, acknowledgements go out anyway: every second segment has one.
        if buffer.remaining() > 0 && std::mem::take(&mut self.came) >= OF_A_STREAM {
            // Without it the connection is slower, and that is all.
            let _ = evenair_linux::tcp::acknowledge_at_once(&self.socket);
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
        Pin::new(&mut self.socket).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
