//! Connection laws: how many TCP connections a flow keeps open.

mod delay;
pub mod delay_price;
pub mod fixed;
pub mod guarded;
pub mod iiad;
pub mod iimd;
pub mod overhead;
mod reason;
pub mod rtt_proportional;
pub mod utility;

pub use delay::RoundTripSamples;
pub use delay_price::{DelayPrice, DelayPriceParams, Price};
pub use fixed::{Fixed, FixedParams};
pub use guarded::{Guarded, GuardedParams};
pub use iiad::{Iiad, IiadParams};
pub use iimd::{Iimd, IimdParams};
pub use overhead::HostCosts;
pub use reason::Reason;
pub use rtt_proportional::{RttProportional, RttProportionalParams, Unsampled};
pub use utility::{Utility, UtilityParams, for_utility};

use crate::family::family;
use crate::flow::{FlowRole, FlowView, Signal};
use crate::{BadParameter, check};
use alloc::vec::Vec;
use evenair_units::Duration;

/// A draining flow keeps this many segments under way, as BBR does when it measures its least round trip, so
/// that delayed acknowledgements keep coming.
pub const DRAINED: u32 = 4;

/// A law of a flow's connections.
pub trait ConnectionLaw {
    /// The law of a user's own is put in its place; built-in laws are made for theirs.
    fn begin(&mut self, _flow: &FlowRole) {}
    /// How often the law runs.
    fn interval(&self) -> Duration;
    /// With how many connections a flow starts.
    fn at_start(&self) -> u32 {
        1
    }
    /// The signals that the law needs: a host without them refuses it
    /// ([`check_needs`](crate::flow::check_needs)). In an interval without a sample the law holds; a signal
    /// that it uses without needing it may be missing for ever.
    fn needs(&self) -> Vec<Signal> {
        [Signal::RoundTrip].into()
    }
    /// The number before rounding, if the law has one: the worth of a single connection.
    fn exact(&self) -> Option<f64> {
        None
    }
    /// Whether the flow's connections must drain until the law runs again: they keep some [`DRAINED`]
    /// segments under way in all and hold back new ones. The flow's backlog leaves, and its round trip is
    /// measured without it. A host that cannot drain does not offer [`Signal::LeastInInterval`].
    fn drains(&self) -> bool {
        false
    }
    /// The reason for the number.
    fn reason(&self) -> Reason {
        Reason::Untold
    }
    /// The flow after one more interval; gives how many connections there should be, at least one.
    fn on_interval(&mut self, flow: &FlowView) -> u32;
}

family! {
    /// Which connection law, with its parameters; a table that names none is of the first.
    parameters ConnectionParams,
    /// A connection law's state at one flow.
    state AnyConnections: ConnectionLaw,
    /// A connection law of a user's own.
    own OwnConnections: OwnConnectionLaw,
    place () => FlowRole,
    tape ConnectionTold => ConnectionAnswer,
    default Some("rtt-proportional"),
    told {
        OnInterval: on_interval(flow: &FlowView) -> u32;
    }
    asked {
        interval() -> Duration;
        at_start() -> u32;
        needs() -> Vec<Signal>;
        exact() -> Option<f64>;
        drains() -> bool;
        reason() -> Reason;
    }
    laws {
        /// Connections in proportion to the round-trip time: n = max(1, int(k·T)) ([Chen10]).
        RttProportional(RttProportionalParams => RttProportional),
        /// Inverse increase, multiplicative decrease ([CZ06]'s E-MULTCP).
        Iimd(IimdParams => Iimd),
        /// The number of connections that a utility of the rate wants ([Chen10] section 5.2).
        Utility(UtilityParams => Utility),
        /// The number of connections that brings the rate to its utility's optimum at the price that the
        /// queues' delay shows, for any loss of the channel (ours; [Chen10] section 7.2).
        DelayPrice(DelayPriceParams => DelayPrice),
        /// Always as many: n of them.
        Fixed(FixedParams => Fixed),
        /// Inverse increase, additive decrease ([CZ06]'s MULTFRC).
        Iiad(IiadParams => Iiad),
        /// E-MULTCP's, with a further connection on trial first: the default for paths that are not known.
        Guarded(GuardedParams => Guarded),
    }
}

/// Checks the laws' key `min`: the least worth of one connection.
fn check_worth(least: f64) -> Result<(), BadParameter> {
    check("min", least, (0.01..=1.0).contains(&least), "from 0.01 to 1")
}

/// A number of connections within its bound; at least one.
fn whole(connections: f64, most: u32) -> u32 {
    // The cast truncates and saturates, and maps NaN to zero.
    (connections as u32).clamp(1, most.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OwnLaw, Parameters};
    use alloc::string::String;
    use evenair_units::Bytes;

    const ROLE: FlowRole = FlowRole { payload: Bytes::new(1000) };

    /// A law with the required answers alone.
    #[derive(Clone, Debug)]
    struct Taciturn;

    impl ConnectionLaw for Taciturn {
        fn interval(&self) -> Duration {
            Duration::from_secs(1)
        }
        fn on_interval(&mut self, _: &FlowView) -> u32 {
            1
        }
    }

    impl OwnLaw for Taciturn {
        fn identity(&self) -> String {
            "taciturn".into()
        }
    }

    #[test]
    fn own_law_needs_few_answers() {
        let params = ConnectionParams::from(OwnConnections::new(Taciturn));
        assert_eq!(params.identity().as_deref(), Some("taciturn"));
        let law = params.begin(&ROLE);
        assert_eq!((law.at_start(), law.exact(), law.drains()), (1, None, false));
        assert_eq!((law.needs(), law.reason()), ([Signal::RoundTrip].into(), Reason::Untold));
        assert_eq!(ConnectionParams::from(FixedParams { connections: 2 }).identity(), None);
    }

    #[test]
    fn law_runs_at_its_interval() {
        let interval = Duration::from_secs(7);
        let laws: [ConnectionParams; 6] = [
            RttProportionalParams { interval, ..RttProportionalParams::default() }.into(),
            IimdParams { interval, ..IimdParams::default() }.into(),
            UtilityParams { interval, ..UtilityParams::default() }.into(),
            DelayPriceParams { interval, ..DelayPriceParams::default() }.into(),
            IiadParams { interval, ..IiadParams::default() }.into(),
            GuardedParams { interval, ..GuardedParams::default() }.into(),
        ];
        for law in laws {
            assert_eq!(law.begin(&ROLE).interval(), interval, "{law:?}");
        }
        let fixed = ConnectionParams::from(FixedParams { connections: 2 }).begin(&ROLE);
        assert!(!fixed.interval().is_zero());
    }

    #[test]
    fn law_gives_its_reason() {
        let reason = |params: ConnectionParams| params.begin(&ROLE).reason();
        assert_eq!(reason(RttProportionalParams::default().into()), Reason::Followed);
        assert_eq!(reason(UtilityParams::default().into()), Reason::Followed);
        assert_eq!(reason(DelayPriceParams::default().into()), Reason::Priced);
        assert_eq!(reason(FixedParams { connections: 2 }.into()), Reason::Configured);
        assert_eq!(reason(GuardedParams::default().into()), Reason::Begins);
    }

    /// [CZ06] eq. (20) and its bit: the first average is the least, and one connection and α/1 are 1.25; E-MULTCP keeps β of
    /// it, and MULTFRC takes β off, to 1 at least.
    #[test]
    fn inverse_increase_gives_number_and_reason() {
        let laws: [(ConnectionParams, f64); 2] =
            [(IimdParams::default().into(), 0.75 * 1.25 + 0.25 / 1.25), (IiadParams::default().into(), 1.0)];
        for (params, left) in laws {
            let mut law = params.begin(&ROLE);
            let mut seen = |ms: Option<u64>| {
                let round_trip_of_probes = ms.map(Duration::from_millis);
                law.on_interval(&FlowView { round_trip_of_probes, ..FlowView::default() });
                (law.exact().unwrap(), law.reason())
            };
            assert_eq!(seen(None), (1.0, Reason::Unsampled));
            assert_eq!(seen(Some(100)), (1.25, Reason::Uncongested));
            let (exact, reason) = seen(Some(200));
            assert!((exact - left).abs() < 1e-12 && reason == Reason::Delayed, "{exact} {reason}");
        }
    }
}
