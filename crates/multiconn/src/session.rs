//! A session with a clock and sockets: [`Core`] behind a lock, a task for each connection, streams that are
//! `AsyncRead` and `AsyncWrite`.

mod stream;
mod subflow;

pub use stream::Stream;

use crate::bucket::Bucket;
use crate::budget::Budget;
use crate::core::{AHEAD_MOST, Core, Counts, Event, Limits, Measured, OpenError, Side, SubflowState};
use crate::frame::{Broken, Closed, StreamId};
use crate::send::SubflowId;
use evenair_linux::tcp::Info;
use evenair_units::{Bytes, Duration, Instant, Rate};
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::Waker;
use tokio::sync::Notify;

/// The time between two observations of the sockets while data is under way.
const LOOK: Duration = Duration::from_millis(50);
/// The time between two observations otherwise.
const LOOK_IDLE: Duration = Duration::from_secs(2);

/// Sessions of this program so far.
static SO_FAR: AtomicU64 = AtomicU64::new(0);

/// Returns the time since the first call in this program.
pub(crate) fn now() -> Instant {
    static BEGUN: OnceLock<std::time::Instant> = OnceLock::new();
    let begun = BEGUN.get_or_init(std::time::Instant::now);
    Instant::from_nanos(begun.elapsed().as_nanos() as u64 + 1)
}

/// A session: streams over several connections. Clones share it.
#[derive(Clone, Debug)]
pub struct Session(pub(crate) Arc<Shared>);

#[derive(Debug)]
pub(crate) struct Shared {
    inner: Mutex<Inner>,
    /// Wakes the clock's task to compute its next due time again.
    sooner: Notify,
    /// Notified of changes that concern the session's keeper.
    pub(crate) changed: Notify,
    opened: Notify,
    number: u64,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) core: Core,
    /// The wakers of readers and writers.
    wakers: BTreeMap<StreamId, [Option<Waker>; 2]>,
    subflows: BTreeMap<SubflowId, SubflowHandle>,
    opened: VecDeque<StreamId>,
    next_subflow: SubflowId,
    they_want: u32,
    /// The time of the next observation of the sockets.
    look_at: Instant,
    due: Option<Instant>,
}

/// A session's handle on a connection's task.
#[derive(Debug)]
pub(crate) struct SubflowHandle {
    /// Notified when there is data to send.
    work: Arc<Notify>,
    /// Notified when the task is to end.
    end: Arc<Notify>,
    served: bool,
    /// The socket, for its counters.
    socket: Option<OwnedFd>,
    /// The one at its start, which never changes.
    congestion_control: Option<String>,
    /// The most bytes that it takes beyond its congestion window.
    ahead: u64,
    peer: String,
}

/// The status of a connection.
#[derive(Clone, Debug)]
pub struct SubflowStatus {
    /// Its state in the session.
    pub state: SubflowState,
    /// Its kernel counters.
    pub info: Option<Info>,
    /// Its congestion control, by the kernel's name.
    pub congestion_control: Option<String>,
    /// The other end's address.
    pub peer: String,
}

impl Session {
    /// Begins a session; [`add`](Self::add) gives it connections.
    pub(crate) fn new(side: Side, limits: Limits, budget: Arc<Budget>) -> Self {
        let inner = Inner {
            core: Core::new(side, limits, budget, now()),
            wakers: BTreeMap::new(),
            subflows: BTreeMap::new(),
            opened: VecDeque::new(),
            next_subflow: 1,
            they_want: 1,
            look_at: now(),
            due: None,
        };
        let shared = Arc::new(Shared {
            inner: Mutex::new(inner),
            sooner: Notify::new(),
            changed: Notify::new(),
            opened: Notify::new(),
            number: SO_FAR.fetch_add(1, Ordering::Relaxed) + 1,
        });
        tokio::spawn(clock(Arc::downgrade(&shared)));
        Self(shared)
    }

    /// Returns its number, unique in this program.
    pub fn number(&self) -> u64 {
        self.0.number
    }

    /// Opens a stream.
    ///
    /// # Errors
    /// If the session is over, or its stream limit is reached.
    pub fn open(&self) -> Result<Stream, OpenError> {
        let id = self.0.with(|inner| {
            inner.look_soon();
            inner.core.open(now())
        })?;
        Ok(Stream::new(Arc::clone(&self.0), id))
    }

    /// Returns the next stream that the other side opens; none, once the session is over.
    pub async fn accept(&self) -> Option<Stream> {
        loop {
            let opened = self.0.opened.notified();
            let next = self.0.with(|inner| match inner.opened.pop_front() {
                Some(id) => Some(Some(id)),
                None if inner.core.closed().is_some() => Some(None),
                None => None,
            });
            match next {
                Some(id) => return id.map(|id| Stream::new(Arc::clone(&self.0), id)),
                None => opened.await,
            }
        }
    }

    /// Bounds the rate of its stream bytes by a bucket.
    pub(crate) fn bound(&self, bucket: Arc<Bucket>) {
        self.0.with(|inner| inner.core.bound(bucket));
    }

    /// Returns the rate bound of its stream bytes, if there is one.
    pub fn rate_most(&self) -> Option<Rate> {
        self.0.with(|inner| inner.core.rate_most())
    }

    /// Ends the session; open streams break.
    pub fn close(&self, why: Closed) {
        self.0.with(|inner| inner.core.close(why));
    }

    /// Returns the reason why it is over, if it is.
    pub fn closed(&self) -> Option<Closed> {
        self.0.with(|inner| inner.core.closed())
    }

    /// Waits until it is over; returns the reason.
    pub async fn ended(&self) -> Closed {
        loop {
            let changed = self.0.changed.notified();
            if let Some(why) = self.closed() {
                return why;
            }
            changed.await;
        }
    }

    /// Returns the byte counters.
    pub fn counts(&self) -> Counts {
        self.0.with(|inner| inner.core.counts())
    }

    /// Returns the number of open streams.
    pub fn open_streams(&self) -> u32 {
        self.0.with(|inner| inner.core.open_streams())
    }

    /// Returns the number of connections that the other side wants to send on.
    pub fn they_want(&self) -> u32 {
        self.0.with(|inner| inner.they_want)
    }

    /// Returns the time since its last use.
    pub fn unused_for(&self) -> Duration {
        self.0.with(|inner| now().since(inner.core.used_at()))
    }

    /// Returns the own addresses of its connections.
    pub(crate) fn own_addresses(&self) -> Vec<IpAddr> {
        let of = |subflow: &SubflowHandle| {
            let own: SocketAddr = rustix::net::getsockname(subflow.socket.as_ref()?).ok()?.try_into().ok()?;
            Some(own.ip())
        };
        self.0.with(|inner| inner.subflows.values().filter_map(of).collect())
    }

    /// Returns the status of its connections.
    pub fn subflows(&self) -> Vec<SubflowStatus> {
        self.0.with(|inner| {
            let of = |state: SubflowState| {
                let handle = inner.subflows.get(&state.id);
                let socket = handle.and_then(|handle| handle.socket.as_ref());
                SubflowStatus {
                    state,
                    info: socket.and_then(|socket| evenair_linux::tcp::info(socket).ok()),
                    congestion_control: handle.and_then(|handle| handle.congestion_control.clone()),
                    peer: handle.map(|handle| handle.peer.clone()).unwrap_or_default(),
                }
            };
            inner.core.subflows().into_iter().map(of).collect()
        })
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic under the lock leaves no inconsistent state other than its own bug.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a function on the state machine, then wakes the tasks concerned.
    pub(crate) fn with<T>(&self, what: impl FnOnce(&mut Inner) -> T) -> T {
        let mut inner = self.lock();
        let was_closed = inner.core.closed().is_some();
        let given = what(&mut inner);
        self.tell(&mut inner);
        if !was_closed && inner.core.closed().is_some() {
            self.opened.notify_waiters();
            self.changed.notify_waiters();
            inner.subflows.values().for_each(|subflow| subflow.work.notify_one());
        }
        let due = inner.core.timeout().map_or(inner.look_at, |due| due.min(inner.look_at));
        if inner.due.is_none_or(|was| due < was) {
            inner.due = Some(due);
            self.sooner.notify_one();
        }
        given
    }

    fn tell(&self, inner: &mut Inner) {
        while let Some(event) = inner.core.event() {
            match event {
                Event::Opened(id) => {
                    inner.opened.push_back(id);
                    inner.look_soon();
                    self.opened.notify_waiters();
                }
                Event::Readable(id) => inner.wake(id, 0),
                Event::Writable(id) => inner.wake(id, 1),
                Event::Wake(subflow) => {
                    if let Some(subflow) = inner.subflows.get(&subflow) {
                        subflow.work.notify_one();
                    }
                }
                Event::Served(subflow) => {
                    if let Some(subflow) = inner.subflows.get_mut(&subflow) {
                        subflow.served = true;
                        subflow.work.notify_one();
                    }
                }
                Event::GiveUp(subflow) => {
                    if let Some(subflow) = inner.subflows.get(&subflow) {
                        subflow.end.notify_one();
                    }
                }
                Event::TheyWant(connections) => {
                    inner.they_want = connections;
                    self.changed.notify_waiters();
                }
            }
        }
    }
}

impl Inner {
    fn wake(&mut self, id: StreamId, which: usize) {
        if let Some(waker) = self.wakers.get_mut(&id).and_then(|wakers| wakers[which].take()) {
            waker.wake();
        }
    }

    /// Registers a reader (0) or a writer (1) of a stream as waiting.
    fn wait(&mut self, id: StreamId, which: usize, context: &std::task::Context<'_>) {
        if let Some(wakers) = self.wakers.get_mut(&id) {
            wakers[which] = Some(context.waker().clone());
        }
    }

    /// Schedules an observation soon, since data is under way or will be.
    fn look_soon(&mut self) {
        self.look_at = self.look_at.min(now() + LOOK);
    }

    /// Observes a connection's socket and sets the amount it takes ahead; returns whether it holds data.
    fn look(&mut self, subflow: SubflowId, at: Instant) -> bool {
        let Some(handle) = self.subflows.get_mut(&subflow) else { return false };
        let Some(socket) = &handle.socket else { return false };
        let waiting = evenair_linux::tcp::waiting(socket).unwrap_or(0);
        let Ok(info) = evenair_linux::tcp::info(socket) else { return waiting > 0 };
        let measured = Measured {
            round_trip: info.smoothed_round_trip,
            waiting: waiting.into(),
            acknowledged: info.acknowledged_bytes,
            window: Some(u64::from(info.congestion_window) * u64::from(info.segment.count())),
        };
        self.core.measured(subflow, measured, at);
        let ahead = self.core.ahead(subflow).unwrap_or(AHEAD_MOST);
        // If this fails, more data waits in the socket; nothing else is lost.
        if handle.ahead != ahead && evenair_linux::tcp::set_unsent(socket, Bytes::new(ahead as u32)).is_ok() {
            handle.ahead = ahead;
        }
        waiting > 0
    }
}

/// Runs the timers: late acknowledgements, pings after silence, and the observations of the sockets.
async fn clock(session: Weak<Shared>) {
    loop {
        let Some(shared) = session.upgrade() else { return };
        let at = now();
        let due = shared.with(|inner| {
            if inner.look_at <= at {
                inner.look_at = at + look(inner, at);
            }
            if inner.core.timeout().is_some_and(|due| due <= at) {
                inner.core.on_timeout(at);
            }
            let due = inner.core.timeout().map_or(inner.look_at, |due| due.min(inner.look_at));
            inner.due = Some(due);
            (inner.core.closed().is_none() || !inner.subflows.is_empty()).then_some(due)
        });
        let Some(due) = due else { return };
        // The session may be dropped while nothing is due.
        let wait = std::time::Duration::from_nanos(due.since(now()).as_nanos().max(500_000));
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = shared.sooner.notified() => {}
        }
    }
}

/// Observes the sockets; returns the time until the next observation.
fn look(inner: &mut Inner, at: Instant) -> Duration {
    let subflows: Vec<SubflowId> = inner.subflows.keys().copied().collect();
    let waiting = subflows.into_iter().filter(|subflow| inner.look(*subflow, at)).count();
    if waiting > 0 || inner.core.open_streams() > 0 { LOOK } else { LOOK_IDLE }
}

/// Returns the error of a broken stream, for its reader and its writer.
pub(crate) fn broken(why: Broken) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::ConnectionReset, why)
}
