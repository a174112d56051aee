//! Laws by the names that users write, with the defaults of a live host.

use evenair_laws::Parameters;
use evenair_laws::connections::{
    ConnectionParams, DelayPriceParams, FixedParams, GuardedParams, IimdParams, RoundTripSamples,
    RttProportionalParams, UtilityParams,
};
use evenair_units::{Duration, plain_message};

/// The names and their descriptions, in the order of listing.
pub const WORDS: [(&str, &str); 6] = [
    ("guarded", "E-MULTCP with each further connection on trial: the default"),
    ("fair", "n = kT over Reno: what a flow gets does not depend on its round trip"),
    ("delay-price", "the rate that is worth the price of what waits"),
    ("e-multcp", "the paper's form, which takes delay for the only sign of congestion"),
    ("utility", "n for a utility of the rate, over Reno"),
    ("fixed", "always as many"),
];

/// The shortest interval of `guarded`, short enough that users do not wait for it. A law with exactly this
/// interval is stretched to [`ROUND_TRIPS`] once a round trip is known, so that the effect of another
/// connection is visible.
const INTERVAL: Duration = Duration::from_millis(500);
/// The round trips in an interval, if that is longer: a connection's slow start has ended by then.
const ROUND_TRIPS: u64 = 10;
/// The longest interval, the paper's.
const INTERVAL_MAX: Duration = Duration::from_secs(20);

/// Returns a law by its name here or in scenarios, with settings for a host that sends probes.
pub fn law(word: &str) -> Option<ConnectionParams> {
    let samples = RoundTripSamples::Probes;
    Some(match word {
        "guarded" => {
            let params = GuardedParams::default();
            GuardedParams { interval: INTERVAL, samples, doubling: true, ..params }.into()
        }
        "fair" | "rtt-proportional" => {
            RttProportionalParams { samples, ..RttProportionalParams::chen10() }.into()
        }
        "delay-price" => DelayPriceParams { samples, ..DelayPriceParams::chen10() }.into(),
        "e-multcp" | "iimd" => IimdParams { samples, ..IimdParams::cz06() }.into(),
        "utility" => UtilityParams { samples, ..UtilityParams::chen10() }.into(),
        "fixed" => FixedParams::default().into(),
        _ => return None,
    })
}

/// Returns a law by its name with some of its keys set, named as in `evenair list laws`.
///
/// # Errors
/// If there is no such law, or it does not accept a key or value, which the message names.
pub fn law_with(word: &str, settings: &toml::Table) -> Result<ConnectionParams, String> {
    let known = || WORDS.map(|(word, _)| word).join(", ");
    let mut params = law(word).ok_or_else(|| format!("there is no law \"{word}\"; there are {}", known()))?;
    let mut table = toml::Table::try_from(&params).map_err(|error| error.to_string())?;
    for (key, value) in settings {
        if key == "law" {
            return Err("law: it is named outside of its own table".into());
        }
        table.insert(key.clone(), value.clone());
        // Keys are set one by one, so that an error names its key.
        params = table
            .clone()
            .try_into()
            .map_err(|error| format!("law {word}: {key}: {}", plain_message(error.message())))?;
    }
    params.validated().map_err(|error| format!("law {word}: {error}"))
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

    fn table(text: &str) -> toml::Table {
        text.parse().unwrap()
    }

    #[test]
    fn every_word_is_a_law_whose_keys_can_be_set() {
        for (word, _) in WORDS {
            assert!(law_with(word, &toml::Table::new()).is_ok(), "{word}");
        }
        let set = law_with("guarded", &table("gamma = 0.3\nmax = 8\ninterval = '5 s'")).unwrap();
        let ConnectionParams::Guarded(params) = set else { panic!("{set:?}") };
        assert_eq!((params.connections_max, params.interval), (8, Duration::from_secs(5)));
        assert!((params.threshold - 0.3).abs() < 1e-12);
        assert_eq!(params.samples, RoundTripSamples::Probes, "the host's default stays");
    }

    #[test]
    fn mistakes_name_the_law_and_the_key() {
        let said = |word, text| law_with(word, &table(text)).unwrap_err();
        assert!(said("gaurded", "").contains("there are guarded, fair"));
        assert!(said("guarded", "gama = 0.3").contains("gama"));
        assert!(said("guarded", "gamma = -1").contains("gamma"));
        assert_eq!(
            said("guarded", "max = 8\ngamma = 'x'"),
            "law guarded: gamma: invalid type: string \"x\", expected a number"
        );
        assert!(said("fixed", "law = 'iimd'").contains("outside of its own table"));
    }

    #[test]
    fn laws_of_the_thesis_are_for_reno() {
        for (word, reno) in [("fair", Some("reno")), ("utility", Some("reno")), ("guarded", None)] {
            assert_eq!(congestion_control(&law(word).unwrap()), reno, "{word}");
        }
    }
}
