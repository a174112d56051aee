//! A connection of a session: sends the frames that its socket has room for, and processes received ones.

use super::{Session, Shared, SubflowHandle, now};
use crate::core::AHEAD_MOST;
use crate::frame::{Closed, FRAME_MAX, Frame};
use crate::send::SubflowId;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadHalf, WriteHalf};
use tokio::sync::Notify;

/// Bytes fetched at a time \[bytes\].
const BATCH: usize = 4 * FRAME_MAX;
/// After its last frame, a connection waits this long for the other side's.
const LAST_WORD: Duration = Duration::from_secs(5);

/// Connections stay open for this time after their session has ended.
const FAREWELL: Duration = Duration::from_millis(700);

/// The transport of a connection.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin + 'static {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Io for T {}

/// A value that is kept for as long as the connection exists.
pub(crate) type Kept = Box<dyn Send>;

/// The way in which a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Served {
    /// Both sides had confirmed that they send no more on it.
    Yes,
    /// It broke, or was given up.
    No,
}

impl Session {
    /// Adds a connection to the session, in a task of its own.
    pub(crate) fn add(&self, io: impl Io, socket: Option<OwnedFd>, peer: String, kept: Kept) -> SubflowId {
        let (work, end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let congestion_control =
            socket.as_ref().and_then(|socket| evenair_linux::tcp::congestion_control(socket).ok());
        let handle = SubflowHandle {
            work: Arc::clone(&work),
            end: Arc::clone(&end),
            served: false,
            socket,
            congestion_control,
            ahead: AHEAD_MOST,
            peer,
        };
        let subflow = self.0.with(|inner| {
            let subflow = inner.next_subflow;
            inner.next_subflow += 1;
            inner.subflows.insert(subflow, handle);
            inner.core.add_subflow(subflow, now());
            inner.look(subflow, now());
            subflow
        });
        let shared = Arc::clone(&self.0);
        tokio::spawn(async move {
            let _kept = kept;
            let (mut read, mut write) = tokio::io::split(io);
            tokio::select! {
                _ = serve(&shared, subflow, &mut read, &mut write, &work) => {}
                () = end.notified() => {}
                () = after_the_end(&shared) => {}
            }
            shared.with(|inner| {
                inner.subflows.remove(&subflow);
                inner.core.lost(subflow, now());
            });
            shared.changed.notify_waiters();
        });
        subflow
    }

    /// Stops sending on a connection; it ends when the other side stops, too.
    pub(crate) fn retire(&self, subflow: SubflowId) {
        self.0.with(|inner| inner.core.retire(subflow));
    }
}

/// Waits until the session is over, and then for the connections' last frames.
async fn after_the_end(shared: &Arc<Shared>) {
    Session(Arc::clone(shared)).ended().await;
    tokio::time::sleep(FAREWELL).await;
}

async fn serve(
    shared: &Arc<Shared>,
    subflow: SubflowId,
    read: &mut ReadHalf<impl Io>,
    write: &mut WriteHalf<impl Io>,
    work: &Notify,
) -> io::Result<Served> {
    let writes = async {
        let served = write_all(shared, subflow, write, work).await?;
        tokio::time::sleep(LAST_WORD).await;
        Ok(served)
    };
    let reads = read_all(shared, subflow, read);
    tokio::select! {
        served = writes => served,
        ended = reads => ended.map(|()| Served::No),
    }
}

/// Writes until the connection is finished, or the session is over.
async fn write_all(
    shared: &Arc<Shared>,
    subflow: SubflowId,
    write: &mut WriteHalf<impl Io>,
    work: &Notify,
) -> io::Result<Served> {
    let mut out = Vec::with_capacity(BATCH);
    loop {
        out.clear();
        let (closed, served) = shared.with(|inner| {
            inner.core.pull(subflow, now(), BATCH, &mut out);
            let served = inner.subflows.get(&subflow).is_none_or(|subflow| subflow.served);
            (inner.core.closed().is_some(), served)
        });
        if !out.is_empty() {
            write.write_all(&out).await?;
            write.flush().await?;
        }
        if closed || served {
            write.shutdown().await?;
            return Ok(if served { Served::Yes } else { Served::No });
        }
        if out.is_empty() {
            work.notified().await;
        }
    }
}

/// Reads until the other side ends the connection, or breaks the protocol.
async fn read_all(shared: &Arc<Shared>, subflow: SubflowId, read: &mut ReadHalf<impl Io>) -> io::Result<()> {
    let mut held = vec![0; BATCH];
    let mut until = 0;
    loop {
        let count = read.read(&mut held[until..]).await?;
        if count == 0 {
            return Ok(());
        }
        until += count;
        let used = shared.with(|inner| {
            let at = now();
            inner.core.heard(subflow, at);
            let mut used = 0;
            loop {
                match Frame::decode(&held[used..until]) {
                    Ok(Some((frame, length))) => {
                        inner.core.frame(subflow, frame, at)?;
                        used += length;
                    }
                    Ok(None) => return Ok(used),
                    Err(_) => {
                        inner.core.close(Closed::Protocol);
                        return Err(Closed::Protocol);
                    }
                }
            }
        });
        match used {
            Ok(used) => {
                held.copy_within(used..until, 0);
                until -= used;
            }
            // The writing half sends the last frame.
            Err(_) => std::future::pending().await,
        }
    }
}
