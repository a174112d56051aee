//! The daemon's end of the control socket.

use super::{Answer, Request};
use crate::kernel::Failure;
use crate::status::Status;
use evenair_linux::server::{Bell, Limits, Owner, Service, Text};
use evenair_linux::socket::{Access, Socket, Trusted};
use evenair_units::plain_message;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::time::{Duration, Instant};

/// Bounds of the clients. `status --watch` sends one request a second.
const LIMITS: Limits = Limits {
    trusted: 16,
    others: 32,
    per_user: 4,
    requests: 10,
    request_bytes: 4096,
    time: Duration::from_secs(5),
};
/// Requests that may wait for the loop.
const REQUESTS: usize = 16;
/// Longest time for which one rendering of the status is served.
const RENDERED: Duration = Duration::from_secs(1);
/// The number of a request that the loop has not answered yet.
#[derive(Clone, Copy, Debug)]
pub struct Ticket(u64);

/// A message of the loop to the thread.
#[derive(Debug)]
enum News {
    Status(Box<Status>),
    Answer(u64, Answer),
}

/// The loop's end of the socket. Dropping it ends the thread and removes the socket.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    lack: Option<String>,
    requests: Receiver<(u64, Request)>,
    /// Wakes the loop for requests.
    bell: Bell,
    news: Sender<News>,
    alive_ms: Arc<AtomicU64>,
}

impl Listener {
    /// Opens the socket for a group or for everyone, and starts the thread that answers there. It
    /// replaces a socket that an earlier daemon left. The lock of the state folder ensures that no
    /// other daemon runs.
    ///
    /// # Errors
    /// If another kind of file is there, or the folder is not writable.
    pub fn new(path: &Path, group: Option<u32>, is_for_everyone: bool) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::new(path.display().to_string(), error);
        let bell = Bell::new().map_err(failed)?;
        let (asks, requests) = sync_channel(REQUESTS);
        let (news, told) = channel();
        let alive_ms = Arc::new(AtomicU64::new(0));
        let desk = Desk {
            group,
            trusted: Trusted::new(group),
            asks,
            bell: bell.clone(),
            news: told,
            alive_ms: Arc::clone(&alive_ms),
            status: None,
            rendered: None,
        };
        let access = if is_for_everyone { Access::Everyone(group) } else { Access::Group(group) };
        let socket = Socket::serve(path, access, LIMITS, desk).map_err(failed)?;
        let remedy = |why: &str| {
            let group = group.unwrap_or_default();
            format!(
                "{why}; run the daemon as a member (SupplementaryGroups={group} in the service), or write asked_by = \"everyone\""
            )
        };
        let lack = socket.lack().map(remedy);
        Ok(Self { socket, lack, requests, bell, news, alive_ms })
    }

    /// Returns a description of the permissions that could not be set on the socket.
    pub fn lack(&self) -> Option<&str> {
        self.lack.as_deref()
    }

    /// Returns the next request that changes something.
    pub fn take(&self) -> Option<(Ticket, Request)> {
        let next = || self.requests.try_recv().ok();
        // The bell stays rung while there may be more requests; a request after `quiet` rings it again.
        let taken = next().or_else(|| {
            self.bell.quiet();
            next()
        });
        taken.map(|(id, request)| (Ticket(id), request))
    }

    /// Answers a request.
    pub fn reply(&self, ticket: Ticket, answer: Answer) {
        self.tell(News::Answer(ticket.0, answer));
    }

    /// Publishes this status for all later requests.
    pub fn show(&self, status: Status) {
        self.tell(News::Status(Box::new(status)));
    }

    /// Records that the loop runs at this time \[ms since 1970\]: the status is current.
    pub fn is_alive(&self, at_ms: u64) {
        self.alive_ms.store(at_ms, Ordering::Relaxed);
    }

    fn tell(&self, news: News) {
        // If the thread has ended, no client gets an answer, but the limits still hold.
        let _ = self.news.send(news);
        self.socket.wake();
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

/// The thread's end of the socket.
struct Desk {
    group: Option<u32>,
    trusted: Trusted,
    asks: SyncSender<(u64, Request)>,
    bell: Bell,
    news: Receiver<News>,
    alive_ms: Arc<AtomicU64>,
    status: Option<Box<Status>>,
    rendered: Option<(Instant, Text)>,
}

impl Desk {
    /// Returns the status, rendered once a second at most.
    fn status(&mut self) -> Text {
        let is_fresh = |(at, _): &&(Instant, Text)| at.elapsed() < RENDERED;
        if let Some((_, text)) = self.rendered.as_ref().filter(is_fresh) {
            return Arc::clone(text);
        }
        let Some(mut status) = self.status.take() else {
            return text(&Answer::Refused("the gateway begins; ask again in a moment".into()));
        };
        status.at_ms = status.at_ms.max(self.alive_ms.load(Ordering::Relaxed));
        let answer = Answer::Status(status);
        let rendered = text(&answer);
        if let Answer::Status(status) = answer {
            self.status = Some(status);
        }
        self.rendered = Some((Instant::now(), Arc::clone(&rendered)));
        rendered
    }
}

fn text(answer: &Answer) -> Text {
    // Numbers that JSON cannot express become null; nothing else can fail.
    let mut text = serde_json::to_vec(answer).unwrap_or_default();
    text.push(b'\n');
    text.into()
}

impl Service for Desk {
    fn owner(&self, stream: BorrowedFd<'_>) -> io::Result<Owner> {
        self.trusted.owner(stream)
    }

    fn is_whole(&self, text: &[u8]) -> bool {
        text.contains(&b'\n')
    }

    fn answer(&mut self, id: u64, owner: Owner, request: &[u8]) -> Option<Text> {
        let refused = |why: String| Some(text(&Answer::Refused(why)));
        let line = request.split(|byte| *byte == b'\n').next().unwrap_or_default();
        match serde_json::from_slice::<Request>(line) {
            Err(error) => refused(format!("not a request: {}", plain_message(&error.to_string()))),
            Ok(Request::Status) => Some(self.status()),
            Ok(_) if !owner.is_trusted => {
                let group =
                    self.group.map(|group| format!(", or members of group {group}")).unwrap_or_default();
                refused(format!("only root and the daemon's own user may do that{group}"))
            }
            Ok(request) => match self.asks.try_send((id, request)) {
                Ok(()) => {
                    self.bell.ring();
                    None
                }
                Err(TrySendError::Full(_)) => refused("too many requests wait; ask again in a moment".into()),
                Err(TrySendError::Disconnected(_)) => refused("the gateway ends".into()),
            },
        }
    }

    fn too_often(&self) -> Text {
        let most = LIMITS.requests;
        text(&Answer::Refused(format!("more than {most} requests of one user in a second; ask again later")))
    }

    fn take_answers(&mut self) -> Vec<(u64, Text)> {
        let mut answers = Vec::new();
        while let Ok(news) = self.news.try_recv() {
            match news {
                News::Status(status) => (self.status, self.rendered) = (Some(status), None),
                News::Answer(id, answer) => answers.push((id, text(&answer))),
            }
        }
        answers
    }
}

#[cfg(test)]
mod tests;
