//! Bytes between a socket of this machine's and a stream, both ways, ends and breaks as they come.

use crate::frame::Broken;
use crate::session::Stream;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Read at a time \[bytes\].
const BATCH: usize = 64 << 10;
/// A direction in which nothing comes for so long breaks the stream: somebody went away without a word.
const SILENCE: Duration = Duration::from_secs(2 * 3600);

/// Which side broke.
enum Broke {
    Socket,
    Stream,
}

/// Passes everything on until both directions have ended, or one side breaks; the other is broken off then. `first` goes to the
/// socket before all else.
pub(crate) async fn pump(mut socket: TcpStream, stream: Stream, first: &[u8]) {
    let (mut from_stream, mut to_stream) = tokio::io::split(stream);
    let broke = {
        let (mut from_socket, mut to_socket) = socket.split();
        let out = copy(&mut from_socket, &mut to_stream, Broke::Socket, Broke::Stream);
        let back = async {
            to_socket.write_all(first).await.map_err(|_| Broke::Socket)?;
            copy(&mut from_stream, &mut to_socket, Broke::Stream, Broke::Socket).await
        };
        tokio::try_join!(out, back).err()
    };
    let stream = from_stream.unsplit(to_stream);
    match broke {
        None => {}
        Some(Broke::Socket) => stream.reset(Broken::Aborted),
        // The program at the socket is to see a break, too, and not an end.
        Some(Broke::Stream) => {
            let _ = socket.set_zero_linger();
        }
    }
}

/// One direction, its end included.
async fn copy<R, W>(from: &mut R, to: &mut W, read: Broke, write: Broke) -> Result<(), Broke>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut held = vec![0; BATCH];
    loop {
        let Ok(Ok(count)) = tokio::time::timeout(SILENCE, from.read(&mut held)).await else {
            return Err(read);
        };
        let done: io::Result<()> =
            if count == 0 { to.shutdown().await } else { to.write_all(&held[..count]).await };
        if done.is_err() {
            return Err(write);
        }
        if count == 0 {
            return Ok(());
        }
    }
}
