//! This machine's kernel under runs: real time, where the build and the machine have it.

#[cfg(all(feature = "live", target_os = "linux"))]
pub(crate) use with::{Emulator, enter};
#[cfg(not(all(feature = "live", target_os = "linux")))]
pub(crate) use without::enter;

use crate::terminal;
use anyhow::Result;
use evenair_study::Sweep;
use std::sync::Arc;

/// Makes ready for those of the sweeps' runs that are in real time, before any thread is started.
pub(crate) fn prepare<'a>(sweeps: impl IntoIterator<Item = &'a mut Sweep>) -> Result<()> {
    let mut live: Vec<&mut Sweep> = sweeps.into_iter().filter(|sweep| !sweep.real_time().is_zero()).collect();
    if live.is_empty() {
        return Ok(());
    }
    let seconds: f64 = live.iter().map(|sweep| sweep.real_time().as_secs_f64()).sum();
    terminal::warn(format_args!(
        "runs over real sockets take {:.1} minutes, in which the machine should do nothing else",
        seconds / 60.0
    ));
    let engine = enter()?;
    live.iter_mut().for_each(|sweep| sweep.set_live(Arc::clone(&engine)));
    Ok(())
}

#[cfg(all(feature = "live", target_os = "linux"))]
mod with {
    use anyhow::Result;
    use evenair_emulator::{Options, Problem, Program};
    use evenair_linux::sandbox;
    use evenair_linux::uplink::Uplink;
    use evenair_netsim::{NetworkSpec, RunResult, RunSpec, Watchers};
    use evenair_results::LiveRecord;
    use evenair_study::Live;
    use evenair_units::Duration;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU8, Ordering};

    /// Makes the runner in real time where the machine allows it: before any thread is started.
    pub(crate) fn enter() -> Result<Arc<dyn Live>> {
        sandbox::enter()?;
        Ok(Arc::new(Emulator::default()))
    }

    /// Makes runs in real time; in a sandbox.
    #[derive(Debug, Default)]
    pub(crate) struct Emulator {
        /// Programs at nodes, the one in the foreground last; there are none by default.
        pub(crate) programs: Vec<Program>,
        /// Nodes with a kernel that forwards packets.
        pub(crate) routers: Vec<u32>,
        /// The node through which the machine's own network is reached.
        pub(crate) uplink: Option<(u32, Uplink)>,
        /// Beside programs the scenario's flows are silent.
        pub(crate) without_flows: bool,
        /// A run ends where a packet is later than this.
        pub(crate) abort_late: Option<Duration>,
        /// Nodes without room hold their kernels' packets back.
        pub(crate) backpressure: bool,
        /// The exit status of the program in the foreground, or of the failure to start it.
        pub(crate) status: AtomicU8,
    }

    impl Live for Emulator {
        fn run(
            &self,
            network: &NetworkSpec,
            run: RunSpec,
            watchers: &mut Watchers<'_>,
        ) -> Result<Option<(RunResult, LiveRecord)>, String> {
            let has_programs = !self.programs.is_empty();
            let warmup = if has_programs { Duration::ZERO } else { run.warmup };
            let options = Options {
                programs: &self.programs,
                routers: &self.routers,
                uplink: self.uplink.as_ref().map(|(node, uplink)| (*node, uplink)),
                with_flows: !self.without_flows,
                abort_late: self.abort_late,
                backpressure: self.backpressure,
            };
            match evenair_emulator::emulate(network, RunSpec { warmup, ..run }, &options, watchers) {
                Ok(Some(emulated)) => {
                    self.status.store(emulated.status.unwrap_or(0), Ordering::Relaxed);
                    Ok(Some((emulated.result, emulated.live)))
                }
                Ok(None) => Ok(None),
                Err(problem) => {
                    if let Problem::Program(program) = &problem {
                        self.status.store(program.status(), Ordering::Relaxed);
                    }
                    Err(problem.to_string())
                }
            }
        }

        fn kernel(&self) -> String {
            evenair_linux::kernel()
        }
    }
}

#[cfg(not(all(feature = "live", target_os = "linux")))]
mod without {
    use anyhow::{Result, bail};
    use evenair_study::Live;
    use std::sync::Arc;

    /// There is none in this build.
    pub(crate) fn enter() -> Result<Arc<dyn Live>> {
        bail!(
            "this build is without the live commands, which need Linux: cargo install --path crates/cli --features live"
        )
    }
}
