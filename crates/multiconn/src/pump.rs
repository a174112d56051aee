//! Copies bytes between a local socket and a stream, both ways, with ends and breaks.
//!
//! A pump holds no bytes while it waits. It reads from the socket only the bytes that the stream has room
//! for, within its session's budget. Bytes of the stream stay there until the socket has accepted them. So a
//! thousand streams without readers cost only the memory that the session counts.

use crate::frame::Broken;
use crate::session::Stream;
use std::cell::RefCell;
use std::io;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

/// Bytes copied at a time \[bytes\].
const BATCH: usize = 64 << 10;
/// A direction without data for this time breaks the stream: a peer has disappeared without closing.
const SILENCE: Duration = Duration::from_secs(2 * 3600);

thread_local! {
    /// The buffer between a stream and a socket; empty whenever another pump runs.
    static BETWEEN: RefCell<Box<[u8]>> = RefCell::new(vec![0; BATCH].into());
}

/// The side that broke.
enum Broke {
    Socket,
    Stream,
}

/// Copies until both directions have ended, or one side breaks; the other is broken off then. `first` goes to
/// the socket before all else.
pub(crate) async fn pump(mut socket: TcpStream, stream: Stream, first: &[u8]) {
    let broke = {
        let (from_socket, mut to_socket) = socket.split();
        let out = to_stream(&from_socket, &stream);
        let back = async {
            to_socket.write_all(first).await.map_err(|_| Broke::Socket)?;
            to_socket_from(&stream, &mut to_socket).await
        };
        tokio::try_join!(out, back).err()
    };
    match broke {
        None => {}
        Some(Broke::Socket) => stream.reset(Broken::Aborted),
        // The program at the socket also gets a break, and not an end.
        Some(Broke::Stream) => {
            let _ = socket.set_zero_linger();
        }
    }
}

/// Makes one step of a direction, within the time limit; `from` is the silent side if the limit passes.
async fn step(
    from: Broke,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<Result<usize, Broke>>,
) -> Result<usize, Broke> {
    let step = std::future::poll_fn(&mut poll);
    tokio::time::timeout(SILENCE, step).await.unwrap_or(Err(from))
}

/// Copies the program's bytes, its end included.
async fn to_stream(socket: &ReadHalf<'_>, stream: &Stream) -> Result<(), Broke> {
    while step(Broke::Socket, |context| poll_to_stream(context, socket, stream)).await? > 0 {}
    stream.end();
    Ok(())
}

/// Returns the number of bytes copied; none at the end.
fn poll_to_stream(
    context: &mut Context<'_>,
    socket: &ReadHalf<'_>,
    stream: &Stream,
) -> Poll<Result<usize, Broke>> {
    loop {
        ready!(socket.as_ref().poll_read_ready(context)).map_err(|_| Broke::Socket)?;
        let room = ready!(stream.poll_reserve(context, BATCH)).map_err(|_| Broke::Stream)?;
        let done = BETWEEN.with_borrow_mut(|between| match socket.try_read(&mut between[..room]) {
            Ok(count) => Ok((count, stream.write_reserved(&between[..count], room))),
            Err(error) => {
                let _ = stream.write_reserved(&[], room);
                Err(error)
            }
        });
        return Poll::Ready(match done {
            Ok((count, Ok(()))) => Ok(count),
            Ok((_, Err(_))) => Err(Broke::Stream),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(_) => Err(Broke::Socket),
        });
    }
}

/// Copies the stream's bytes, its end included.
async fn to_socket_from(stream: &Stream, socket: &mut WriteHalf<'_>) -> Result<(), Broke> {
    while step(Broke::Stream, |context| poll_to_socket(context, stream, socket)).await? > 0 {}
    socket.shutdown().await.map_err(|_| Broke::Socket)
}

/// Returns the number of bytes copied; none at the end.
fn poll_to_socket(
    context: &mut Context<'_>,
    stream: &Stream,
    socket: &WriteHalf<'_>,
) -> Poll<Result<usize, Broke>> {
    loop {
        ready!(socket.as_ref().poll_write_ready(context)).map_err(|_| Broke::Socket)?;
        let done = BETWEEN.with_borrow_mut(|between| {
            let count = match stream.poll_peek(context, between) {
                Poll::Ready(Ok(count)) => count,
                Poll::Ready(Err(_)) => return Poll::Ready(Err(Broke::Stream)),
                Poll::Pending => return Poll::Pending,
            };
            if count == 0 {
                return Poll::Ready(Ok(Some(0)));
            }
            Poll::Ready(match socket.try_write(&between[..count]) {
                Ok(taken) => stream.consume(taken).map(|()| Some(taken)).map_err(|_| Broke::Stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                Err(_) => Err(Broke::Socket),
            })
        });
        if let Some(taken) = ready!(done)? {
            return Poll::Ready(Ok(taken));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::core::{Limits, Side};
    use crate::session::Session;
    use std::sync::Arc;
    use tokio::net::TcpListener;

    fn session(side: Side, io: tokio::io::DuplexStream) -> (Session, Arc<Budget>) {
        let budget = Budget::new(1 << 30);
        let session = Session::new(side, Limits::default(), Arc::clone(&budget));
        session.add(io, None, String::new(), Box::new(()));
        (session, budget)
    }

    /// Writes until no byte has been accepted for a while; returns the number accepted.
    async fn talk(socket: &mut TcpStream) -> u64 {
        let (words, mut taken) = (vec![7; BATCH], 0);
        while let Ok(Ok(count)) = tokio::time::timeout(Duration::from_millis(500), socket.write(&words)).await
        {
            taken += count as u64;
        }
        taken
    }

    #[tokio::test]
    async fn unread_stream_counts_in_budget() {
        let (here, there) = tokio::io::duplex(BATCH);
        let ((near, budget), (far, _)) = (session(Side::Client, here), session(Side::Relay, there));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut program = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let socket = listener.accept().await.unwrap().0.into_std().unwrap();
        let same = socket.try_clone().unwrap();
        let pumps = tokio::spawn(pump(TcpStream::from_std(socket).unwrap(), near.open().unwrap(), &[]));
        let written = talk(&mut program).await;
        let unread = rustix::io::ioctl_fionread(&same).unwrap();
        let read = written - unread - u64::from(evenair_linux::tcp::waiting(&program).unwrap());
        // All sent bytes are acknowledged: they fill the window, which takes memory at either end.
        let (sent, window) = (near.counts().sent, Limits::default().window + crate::core::STREAM_COST);
        assert_eq!((far.counts().received, near.counts().again), (sent, 0));
        assert_eq!(budget.taken() - window, read - sent, "{read} bytes were read, {sent} sent");
        assert!(read - sent >= Limits::default().held_most, "it was enough to fill it: {read}");
        pumps.abort();
    }
}
