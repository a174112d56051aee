//! The scheduling of a thread, and of the programs that it starts.
//!
//! All settings are the calling thread's, and are inherited by the threads and processes that it creates
//! afterwards.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;
use std::num::NonZeroU64;

/// The kernel's own timer slack, which programs expect (prctl(2)).
const USUAL_SLACK_NS: NonZeroU64 = NonZeroU64::new(50_000).unwrap();

/// The highest real-time priority that a process keeps beyond [`crate::sandbox::enter`].
pub const REAL_TIME_MAX: u8 = 10;

/// Keeps the right to real-time scheduling on the way into a user namespace, in which root has none. A limit
/// stays a process's own, and so does the scheduling of a thread. The thread is then real-time from here on.
pub(crate) fn keep_real_time() {
    let most = Some(u64::from(REAL_TIME_MAX));
    let allowed = getrlimit(Resource::Rtprio).maximum;
    let maximum = allowed.map(|allowed| allowed.max(REAL_TIME_MAX.into()));
    let raised = setrlimit(Resource::Rtprio, Rlimit { current: most, maximum });
    if raised.is_err() {
        let _ = real_time(REAL_TIME_MAX);
    }
}

/// Returns whether a thread that has dropped real-time scheduling could get it again.
fn may_return() -> bool {
    getrlimit(Resource::Rtprio).current.is_none_or(|limit| limit >= REAL_TIME_MAX.into())
}

/// Lets the calling thread run before all that is not real-time, from its wake-up until it sleeps
/// (`SCHED_FIFO`).
///
/// # Errors
/// If the process may not: `RLIMIT_RTPRIO` is below the priority, and it is not root's outside of any user
/// namespace.
pub fn real_time(priority: u8) -> io::Result<()> {
    schedule(libc::SCHED_FIFO, priority)
}

/// Makes the calling thread an ordinary one, if it could become real-time again.
pub fn pause_real_time() {
    if may_return() {
        let _ = schedule(libc::SCHED_OTHER, 0);
    }
}

/// Makes the calling thread an ordinary one for good. It is for a process in a sandbox that computes more
/// than it waits, which would otherwise keep all others from its processor.
pub fn stay_ordinary() {
    let _ = schedule(libc::SCHED_OTHER, 0);
}

/// Makes the calling thread's sleeps end on time, not up to 50 µs later.
pub fn wake_in_time() {
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// Makes the calling thread an ordinary one with low priority (nice 19), and the kernel's default timers.
///
/// # Errors
/// None on known kernels.
pub fn give_way() -> io::Result<()> {
    rustix::thread::set_current_timer_slack(Some(USUAL_SLACK_NS))?;
    schedule(libc::SCHED_OTHER, 0)?;
    Ok(rustix::process::setpriority_process(None, 19)?)
}

/// Checks whether the kernel would let a thread of this process be real-time; the process stays unchanged.
///
/// # Errors
/// As [`real_time`].
pub fn probe() -> io::Result<()> {
    let tried = std::thread::spawn(|| real_time(REAL_TIME_MAX)).join();
    tried.unwrap_or_else(|_| Err(io::Error::other("a thread that tried it panicked")))
}

fn schedule(policy: libc::c_int, priority: u8) -> io::Result<()> {
    // SAFETY: zero is a value of each of the numbers that the structure has.
    let mut how: libc::sched_param = unsafe { std::mem::zeroed() };
    how.sched_priority = priority.into();
    // SAFETY: the thread is the calling one, and the structure is only read.
    match unsafe { libc::pthread_setschedparam(libc::pthread_self(), policy, &raw const how) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}
