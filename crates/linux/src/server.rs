//! Serves a listening socket from a thread of its own, so that the program's loop waits for no client.
//!
//! The thread has no capability, opens no file and starts no program. It waits for all its clients at
//! once; [`Limits`] bounds them.

mod places;

pub use places::{Limits, Owner};

use crate::confinement::Confinement;
use places::{Place, Places, Stage};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketFlags, accept_with, recv, send};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Connections that are accepted before the existing ones are served again.
const ACCEPTS: usize = 64;
/// Pause after the kernel refuses a connection, for example for lack of descriptors.
const PAUSE: Duration = Duration::from_millis(10);
/// Time for sending answers after the program's end.
const END_TIME: Duration = Duration::from_millis(200);
/// Longest wait for the thread's last answers.
const LAST_TIME: Duration = Duration::from_millis(500);

/// An answer, which any number of clients may share.
pub type Text = Arc<[u8]>;

/// The behaviour of a socket.
pub trait Service: Send + 'static {
    /// Returns the user at the other end.
    ///
    /// # Errors
    /// If the user may not connect, or the kernel does not report one: the connection is closed.
    fn owner(&self, stream: BorrowedFd<'_>) -> io::Result<Owner>;
    /// Returns whether a request is complete.
    fn is_whole(&self, text: &[u8]) -> bool;
    /// Returns the answer, or `None` if it comes later.
    fn answer(&mut self, id: u64, owner: Owner, text: &[u8]) -> Option<Text>;
    /// Returns the answer to a user above the limit of requests.
    fn too_often(&self) -> Text;
    /// Takes the answers that were not ready at first, by the numbers of their requests.
    fn take_answers(&mut self) -> Vec<(u64, Text)> {
        Vec::new()
    }
}

/// An event counter by which one thread wakes another (eventfd(2)).
#[derive(Clone, Debug)]
pub struct Bell(Arc<OwnedFd>);

impl Bell {
    /// Returns a new counter.
    ///
    /// # Errors
    /// If no descriptor is free.
    pub fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    /// Wakes the other thread.
    pub fn ring(&self) {
        // A full counter wakes the thread, too.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Resets the counter.
    pub fn quiet(&self) {
        let _ = rustix::io::read(&self.0, &mut [0_u8; 8]);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A thread that serves a socket. It ends with the process, or by [`end`](Self::end).
#[derive(Debug)]
pub struct Thread {
    bell: Bell,
    ends: Arc<AtomicBool>,
    ended: mpsc::Receiver<()>,
}

impl Thread {
    /// Starts a thread.
    ///
    /// # Errors
    /// If the thread cannot drop its privileges.
    pub fn start(listener: OwnedFd, limits: Limits, service: impl Service) -> io::Result<Self> {
        let (tell, told) = mpsc::sync_channel(1);
        let (lives, ended) = mpsc::sync_channel(1);
        let (bell, ends) = (Bell::new()?, Arc::new(AtomicBool::new(false)));
        let (rung, is_over) = (bell.clone(), Arc::clone(&ends));
        thread::Builder::new().spawn(move || {
            let _lives: mpsc::SyncSender<()> = lives;
            // All threads lack the same kernel features; a program's own confinement reports them.
            let confined = Confinement::default().enter().map(|_| ());
            let goes_on = confined.is_ok();
            let _ = tell.send(confined);
            if goes_on {
                let places = Places::new(limits);
                Server { listener, bell: rung, places, service, is_over, ends: None }.run();
            }
        })?;
        told.recv().unwrap_or_else(|_| Err(io::Error::other("its thread ended")))?;
        Ok(Self { bell, ends, ended })
    }

    /// Makes the thread call [`Service::take_answers`].
    pub fn wake(&self) {
        self.bell.ring();
    }

    /// Ends the thread, after the answers that it has so far.
    pub fn end(&self) {
        self.ends.store(true, Ordering::Release);
        self.bell.ring();
        let _ = self.ended.recv_timeout(LAST_TIME);
    }
}

struct Server<V> {
    listener: OwnedFd,
    bell: Bell,
    places: Places<OwnedFd>,
    service: V,
    /// Whether the program ends.
    is_over: Arc<AtomicBool>,
    /// The time at which the thread ends, once the program does.
    ends: Option<Instant>,
}

impl<V: Service> Server<V> {
    fn run(mut self) {
        loop {
            let ready = self.wait();
            let now = Instant::now();
            self.places.expire(now);
            self.take_answers(now);
            if self.ends.is_some_and(|ends| now >= ends || !self.writes()) {
                return;
            }
            for id in ready {
                self.step(now, id);
            }
            if self.ends.is_none() {
                self.accept(now);
            }
        }
    }

    /// Returns whether an answer is still being sent.
    fn writes(&self) -> bool {
        self.places.all.iter().any(|place| matches!(place.stage, Stage::Writes(..)))
    }

    /// Waits until something is due; returns the connections that are ready.
    fn wait(&self) -> Vec<u64> {
        let next = self.places.next_end().into_iter().chain(self.ends).min();
        let left = next.map(|next| next.saturating_duration_since(Instant::now()));
        let timeout = left.map(|left| Timespec {
            tv_sec: left.as_secs().cast_signed(),
            tv_nsec: left.subsec_nanos().into(),
        });
        let listens = if self.ends.is_none() { PollFlags::IN } else { PollFlags::empty() };
        let mut fds = vec![PollFd::new(&self.listener, listens), PollFd::new(&self.bell, PollFlags::IN)];
        fds.extend(self.places.all.iter().map(|place| {
            let flags = match place.stage {
                Stage::Reads(_) => PollFlags::IN,
                // The kernel reports a client that has gone all the same.
                Stage::Waits => PollFlags::empty(),
                Stage::Writes(..) => PollFlags::OUT,
            };
            PollFd::new(&place.stream, flags)
        }));
        let _ = poll(&mut fds, timeout.as_ref());
        let ready = fds[2..].iter().zip(&self.places.all).filter(|(fd, _)| !fd.revents().is_empty());
        ready.map(|(_, place)| place.id).collect()
    }

    fn take_answers(&mut self, now: Instant) {
        self.bell.quiet();
        // The flag first: answers that were given before the end are then there.
        let is_over = self.is_over.load(Ordering::Acquire);
        for (id, text) in self.service.take_answers() {
            if let Some(index) = self.places.of(id) {
                self.places.set(now, index, Stage::Writes(text, 0));
                self.step(now, id);
            }
        }
        self.ends = self.ends.or(is_over.then_some(now + END_TIME));
    }

    fn accept(&mut self, now: Instant) {
        for _ in 0..ACCEPTS {
            match accept_with(&self.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok(stream) => {
                    let Ok(owner) = self.service.owner(stream.as_fd()) else { continue };
                    // The request gets the present state.
                    self.take_answers(now);
                    self.places.admit(now, stream, owner);
                    // Most requests have arrived already.
                    let id = self.places.all.last().expect("it was admitted").id;
                    self.step(now, id);
                }
                Err(Errno::AGAIN) => return,
                Err(Errno::CONNABORTED | Errno::INTR) => (),
                Err(_) => return thread::sleep(PAUSE),
            }
        }
    }

    /// Advances a connection as far as possible now, and closes it at its end.
    fn step(&mut self, now: Instant, id: u64) {
        let Some(index) = self.places.of(id) else { return };
        let goes_on = match &self.places.all[index].stage {
            Stage::Reads(_) => self.read(now, index),
            Stage::Waits => false,
            Stage::Writes(..) => write(&mut self.places.all[index]),
        };
        if !goes_on {
            self.places.all.remove(index);
        }
    }

    fn read(&mut self, now: Instant, index: usize) -> bool {
        let Place { id, owner, ref stream, ref mut stage, .. } = self.places.all[index];
        let Stage::Reads(text) = stage else { return false };
        let mut piece = [0; 1024];
        let read = match recv(stream, &mut piece, RecvFlags::DONTWAIT) {
            Ok((_, length)) => length,
            Err(Errno::AGAIN | Errno::INTR) => return true,
            Err(_) => return false,
        };
        text.extend_from_slice(&piece[..read]);
        let is_over = read == 0 || text.len() > self.places.limits.request_bytes;
        if read == 0 && text.is_empty() {
            return false;
        }
        if !is_over && !self.service.is_whole(text) {
            return true;
        }
        let text = std::mem::take(text);
        let answer = if self.places.may_ask(now, owner) {
            self.service.answer(id, owner, &text)
        } else {
            Some(self.service.too_often())
        };
        self.places.set(now, index, answer.map_or(Stage::Waits, |text| Stage::Writes(text, 0)));
        matches!(self.places.all[index].stage, Stage::Waits) || write(&mut self.places.all[index])
    }
}

/// Sends as much as the client takes now; returns whether more remains.
fn write(place: &mut Place<OwnedFd>) -> bool {
    let Stage::Writes(text, done) = &mut place.stage else { return false };
    while *done < text.len() {
        match send(&place.stream, &text[*done..], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(length) => *done += length,
            Err(Errno::INTR) => (),
            Err(Errno::AGAIN) => return true,
            Err(_) => return false,
        }
    }
    false
}
