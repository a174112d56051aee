//! Who runs when: the drive before everything, then the flows' sockets, and users' programs after all others.

use evenair_linux::scheduling;
use evenair_results::Scheduling;

/// The drive's priority among what is real-time: far beneath the kernel's own threads for interrupts (50), which bring it packets.
const DRIVE: u8 = scheduling::REAL_TIME_MAX;
/// That of the flows' sockets: a packet that is late costs more than one that is sent late.
const SOCKETS: u8 = DRIVE - 1;

/// Real-time scheduling of the calling thread, until this is dropped.
#[derive(Debug)]
pub(crate) struct DrivesThread;

impl DrivesThread {
    /// The calling thread is the drive's.
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

/// The calling thread is that of the flows' sockets; the drive's has made it.
pub(crate) fn sockets() {
    let _ = scheduling::real_time(SOCKETS);
}

/// Starts programs, which give way to everything else that runs. Not idle scheduling: beside two busy processes of others that cost a
/// TCP 12 % of its rate where this costs 4 %, and packets were as late.
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
