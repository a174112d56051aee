//! Laws by the words that users say, with the defaults of a live host.

use evenair_laws::Parameters;
use evenair_laws::connections::{
    ConnectionParams, DelayPriceParams, FixedParams, GuardedParams, IimdParams, RoundTripSamples,
    RttProportionalParams, UtilityParams,
};
use evenair_units::{Duration, plain_message};

/// The words, and what each is, in the order in which they are listed.
pub const WORDS: [(&str, &str); 6] = [
    ("guarded", "E-MULTCP with each further connection on trial: the default"),
    ("fair", "n = kT over Reno: what a flow gets does not depend on its round trip"),
    ("delay-price", "the rate that is worth the price of what waits"),
    ("e-multcp", "the paper's form, which takes delay for the only sign of congestion"),
    ("utility", "n for a utility of the rate, over Reno"),
    ("fixed", "always as many"),
];

/// How often `guarded` runs at least, which users do not wait for. A law that has exactly this is stretched to [`ROUND_TRIPS`] once the
/// first of them is known: what a further connection brings is to be seen then.
const INTERVAL: Duration = Duration::from_millis(500);
/// So many round trips make an interval, where that is longer: a connection's slow start is over.
const ROUND_TRIPS: u64 = 10;
/// The longest: the paper's.
const INTERVAL_MAX: Duration = Duration::from_secs(20);

/// A law by its word here, or by its name in scenarios; with what suits a host that sends probes.
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

/// A law by its word, with some of its keys set: names as in `evenair list laws`.
///
/// # Errors
/// If there is no such law, or a key or value that it does not take; says which.
pub fn law_with(word: &str, settings: &toml::Table) -> Result<ConnectionParams, String> {
    let known = || WORDS.map(|(word, _)| word).join(", ");
    let mut params = law(word).ok_or_else(|| format!("there is no law \"{word}\"; there are {}", known()))?;
    let mut table = toml::Table::try_from(&params).map_err(|error| error.to_string())?;
    for (key, value) in settings {
        if key == "law" {
            return Err("law: it is named outside of its own table".into());
        }
        table.insert(key.clone(), value.clone());
        // One after the other, so that an error is of the key that it names.
        params = table
            .clone()
            .try_into()
            .map_err(|error| format!("law {word}: {key}: {}", plain_message(error.message())))?;
    }
    params.validated().map_err(|error| format!("law {word}: {error}"))
}

/// The congestion control that a law's theorems are about: whoever hosts the law sets it on each connection, and reads it back. None, if
/// the law takes connections as they are.
pub const fn congestion_control(law: &ConnectionParams) -> Option<&'static str> {
    match law {
        // [Chen10] section 5.2: a connection's rate goes by 1/T, which only Reno's does.
        ConnectionParams::RttProportional(_) | ConnectionParams::Utility(_) => Some("reno"),
        _ => None,
    }
}

/// The law stretched to a path's round trip, if it may be and has to.
pub(super) fn stretched(law: &ConnectionParams, round_trip: Duration) -> Option<ConnectionParams> {
    let ConnectionParams::Guarded(params) = law else { return None };
    let interval = (round_trip * ROUND_TRIPS).min(INTERVAL_MAX);
    let stretches = params.interval == INTERVAL && interval > INTERVAL;
    stretches.then(|| GuardedParams { interval, ..*params }.into())
}

/// The law, beginning with so many connections as are remembered of the path, if it may begin with a guess, and nobody has said with how many.
pub fn with_start(law: ConnectionParams, start: u32) -> ConnectionParams {
    match law {
        ConnectionParams::Guarded(params) if params.start == 1 => GuardedParams { start, ..params }.into(),
        other => other,
    }
}

/// Whether the law of this name in scenarios looks for its number for so long that it is worth remembering.
pub fn remembers(name: &str) -> bool {
    name == "guarded"
}

/// The law with no more connections than its host allows: one that asked for more would judge what was never opened.
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

/// The round trips that a law asks for; none, if it asks for none.
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

/// The same law with other round trips.
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
