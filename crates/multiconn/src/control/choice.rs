//! Laws by their names, with the settings of a live host.

use evenair_laws::connections::{ConnectionParams, GuardedParams, RoundTripSamples};
use evenair_service::law;
use evenair_units::Duration;

/// The shortest interval of `guarded`, short enough that users do not wait for it. A law with exactly this
/// interval is stretched to [`ROUND_TRIPS`] once a round trip is known, so that the effect of another
/// connection is visible.
const INTERVAL: Duration = Duration::from_millis(500);
/// The round trips in an interval, if that is longer: a connection's slow start has ended by then.
const ROUND_TRIPS: u64 = 10;
/// The longest interval, the paper's.
const INTERVAL_MAX: Duration = Duration::from_secs(20);

/// Returns a law by its name, as a host that sends probes begins with it. `guarded` differs from its
/// defaults elsewhere in two keys: its interval, and `doubling`.
///
/// # Errors
/// If there is no such law; the message has the likely name.
pub fn law(name: &str) -> Result<ConnectionParams, String> {
    let params = match law::named(name)? {
        ConnectionParams::Guarded(params) => {
            GuardedParams { interval: INTERVAL, doubling: true, ..params }.into()
        }
        params => params,
    };
    Ok(with_samples(params, RoundTripSamples::Probes))
}

/// Returns a law by its name with some of its keys set, named as in `evenair list laws`.
///
/// # Errors
/// If there is no such law, or it does not accept a key or value, which the message names.
pub fn law_with(name: &str, keys: &toml::Table) -> Result<ConnectionParams, String> {
    law::with_keys(law(name)?, keys)
}

/// Returns the congestion control that a law's theorems assume, or none. The law's host sets it on each
/// connection and reads it back.
pub const fn congestion_control(law: &ConnectionParams) -> Option<&'static str> {
    match law {
        // [Chen10] section 5.2: a connection's rate goes by 1/T, which only Reno's does.
        ConnectionParams::RttProportional(_) | ConnectionParams::Utility(_) => Some("reno"),
        _ => None,
    }
}

/// Returns the law stretched to a path's round trip, if it may and must be.
pub(super) fn stretched(law: &ConnectionParams, round_trip: Duration) -> Option<ConnectionParams> {
    let ConnectionParams::Guarded(params) = law else { return None };
    let interval = (round_trip * ROUND_TRIPS).min(INTERVAL_MAX);
    let stretches = params.interval == INTERVAL && interval > INTERVAL;
    stretches.then(|| GuardedParams { interval, ..*params }.into())
}

/// Returns the law with a remembered starting number of connections, if the law accepts one and the user set
/// none.
pub fn with_start(law: ConnectionParams, start: u32) -> ConnectionParams {
    match law {
        ConnectionParams::Guarded(params) if params.start == 1 => GuardedParams { start, ..params }.into(),
        other => other,
    }
}

/// Returns whether the law of this name in scenarios takes so long to find its number that remembering it
/// pays.
pub fn remembers(name: &str) -> bool {
    name == "guarded"
}

/// Returns the law with no more connections than its host allows: otherwise it would judge connections that
/// were never opened.
pub(super) fn with_most(mut law: ConnectionParams, host: u32) -> ConnectionParams {
    let most = match &mut law {
        ConnectionParams::RttProportional(params) => &mut params.connections_max,
        ConnectionParams::Iimd(params) => &mut params.connections_max,
        ConnectionParams::Utility(params) => &mut params.connections_max,
        ConnectionParams::DelayPrice(params) => &mut params.connections_max,
        ConnectionParams::Iiad(params) => &mut params.connections_max,
        ConnectionParams::Guarded(params) => &mut params.connections_max,
        _ => return law,
    };
    *most = host.min(*most);
    law
}

/// Returns the kind of round trips that a law requires, if any.
pub(super) const fn samples(law: &ConnectionParams) -> Option<RoundTripSamples> {
    match law {
        ConnectionParams::RttProportional(params) => Some(params.samples),
        ConnectionParams::Iimd(params) => Some(params.samples),
        ConnectionParams::Utility(params) => Some(params.samples),
        ConnectionParams::DelayPrice(params) => Some(params.samples),
        ConnectionParams::Iiad(params) => Some(params.samples),
        ConnectionParams::Guarded(params) => Some(params.samples),
        _ => None,
    }
}

/// Returns the same law with another kind of round trips.
pub(super) fn with_samples(mut law: ConnectionParams, samples: RoundTripSamples) -> ConnectionParams {
    match &mut law {
        ConnectionParams::RttProportional(params) => params.samples = samples,
        ConnectionParams::Iimd(params) => params.samples = samples,
        ConnectionParams::Utility(params) => params.samples = samples,
        ConnectionParams::DelayPrice(params) => params.samples = samples,
        ConnectionParams::Iiad(params) => params.samples = samples,
        ConnectionParams::Guarded(params) => params.samples = samples,
        _ => (),
    }
    law
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_settings_stay_beside_the_users_keys() {
        for name in law::names::<ConnectionParams>() {
            assert!(law_with(&name, &toml::Table::new()).is_ok(), "{name}");
        }
        let keys = "gamma = 0.3\nmax = 8\ninterval = '5 s'".parse().unwrap();
        let set = law_with("guarded", &keys).unwrap();
        let ConnectionParams::Guarded(params) = set else { panic!("{set:?}") };
        assert_eq!((params.connections_max, params.interval), (8, Duration::from_secs(5)));
        assert!((params.threshold - 0.3).abs() < 1e-12);
        assert_eq!(params.samples, RoundTripSamples::Probes, "the host's default stays");
    }

    #[test]
    fn laws_of_the_thesis_are_for_reno() {
        for (word, reno) in [("rtt-proportional", Some("reno")), ("utility", Some("reno")), ("guarded", None)]
        {
            assert_eq!(congestion_control(&law(word).unwrap()), reno, "{word}");
        }
    }
}
