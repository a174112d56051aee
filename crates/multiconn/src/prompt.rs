//! A session's connection below TLS: received stream data is acknowledged as soon as it is read.
//!
//! Linux treats a socket that also sends now and then as interactive. It delays acknowledgements, by 40 ms
//! and more, to send them with an answer. A stream's receiver here sends credits now and then, but no
//! answers. With a window of a few segments, as over a lossy link, the sender would wait for each odd segment
//! (docs/notes/transport.md has the cost). The kernel may revoke `TCP_QUICKACK` at any time, so it is set again
//! with each read.
//!
//! A credit may wait for a segment to travel with. Acknowledged at once, it would cost one packet more for
//! nine of the stream's. A policer, a queue or the air, which count packets, count it like a full one.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The length that separates frames about streams, which are shorter, from stream data, which is longer
/// except at its end \[bytes\].
const OF_A_STREAM: usize = 512;

/// A socket that acknowledges stream data as soon as it is read.
#[derive(Debug)]
pub(crate) struct Prompt {
    socket: TcpStream,
    /// Bytes read since the socket was last empty \[bytes\].
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
        // While there may be more data, acknowledgements go out anyway: one for every second segment.
        if buffer.remaining() > 0 && std::mem::take(&mut self.came) >= OF_A_STREAM {
            // If this fails, the connection is slower; nothing else is lost.
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
