//! The order of execution: the drive before everything, then the flows' sockets, and users' programs after
//! all others.

use evenair_linux::scheduling;
use evenair_results::Scheduling;

/// The drive's real-time priority: far below the kernel's own threads for interrupts (50), which deliver its
/// packets.
const DRIVE: u8 = scheduling::REAL_TIME_MAX;
/// The priority of the flows' sockets: a late packet costs more than one that is sent late.
const SOCKETS: u8 = DRIVE - 1;

/// Real-time scheduling of the calling thread, until this is dropped.
#[derive(Debug)]
pub(crate) struct DrivesThread;

impl DrivesThread {
    /// Makes the calling thread the drive's.
    pub(crate) fn begin() -> (Self, Scheduling) {
        scheduling::wake_in_time();
        let granted = scheduling::real_time(DRIVE);
        let refused = granted
            .as_ref()
            .err()
            .map(|error| format!("{error}: the limit of real-time priorities (ulimit -r) is below {DRIVE}"));
        (Self, Scheduling { real_time: granted.is_ok().then_some(DRIVE), refused })
    }
}

impl Drop for DrivesThread {
    fn drop(&mut self) {
        scheduling::pause_real_time();
    }
}

/// Makes the calling thread, created by the drive's, that of the flows' sockets.
pub(crate) fn sockets() {
    let _ = scheduling::real_time(SOCKETS);
}

/// Starts programs with a low priority. Idle scheduling is not used: beside two busy processes it cost a TCP
/// 12 % of its rate where this costs 4 %, and packets were as late.
pub(crate) fn behind<T: Send>(start: impl FnOnce() -> T + Send) -> T {
    // Programs inherit the scheduling of the thread that starts them.
    std::thread::scope(|scope| {
        let starter = scope.spawn(|| {
            let _ = scheduling::give_way();
            start()
        });
        starter.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
