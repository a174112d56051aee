//! Compares two implementations of each law. The C of `bpf/`, compiled for this machine, gets the same events
//! as the laws of `evenair-laws`, and must give the same windows. Without a C compiler (`cc`) the test is
//! skipped with a message.
#![cfg(target_os = "linux")]

mod path;
mod text;

use evenair_kernel::law::{Law, encode, with};
use evenair_laws::Parameters as _;
use evenair_laws::tape::RecordOf;
use evenair_laws::window::{WindowLaw as _, WindowParams, WindowTold};
use path::Path;
use text::Text;

/// The acknowledgements of all random tapes of a law together.
const ACKNOWLEDGEMENTS: usize = 1_000_000;
/// The acknowledgements of one tape.
const TAPE: usize = 20_000;

/// The differences of a law's windows, and the number of events.
#[derive(Debug, Default)]
struct Apart {
    events: usize,
    /// The largest difference \[packets\], and the window there.
    most: (f64, f64),
    /// The mean difference \[packets\].
    mean: f64,
    /// Tapes that ended because the law's least window is one packet, and the kernel's two.
    small: usize,
}

/// Runs random tapes over paths of many kinds.
fn apart(law: Law, settings: &[String], seed: u64) -> Option<Apart> {
    let params = with(&law.defaults(), settings).unwrap();
    let text = Text::compiled(law)?;
    let mut apart = Apart::default();
    for number in 0..ACKNOWLEDGEMENTS / TAPE {
        let mut path = Path::random(seed.wrapping_add(number as u64));
        let tape = path.tape(&params, TAPE);
        compare(&text.windows(&params, &tape), &tape, &mut apart);
    }
    apart.mean /= apart.events as f64;
    eprintln!("{} {settings:?}: {apart:?}", law.name());
    Some(apart)
}

/// Compares the C implementation's windows with those of a tape.
fn compare(windows: &[f64], tape: &[RecordOf<WindowParams>], apart: &mut Apart) {
    assert_eq!(windows.len(), tape.len());
    for (place, (ours, record)) in windows.iter().zip(tape).enumerate() {
        let theirs = record.answer.congestion_window;
        if theirs < 2.0 && *ours >= 2.0 {
            apart.small += 1;
            return;
        }
        let distance = (ours - theirs).abs();
        apart.events += 1;
        apart.mean += distance;
        if distance > apart.most.0 {
            apart.most = (distance, theirs);
        }
        assert!(distance <= 1.0, "event {place}, {record:?}: the C has {ours}");
    }
}

#[test]
fn a_million_random_acknowledgements_of_quic_tcp() {
    // Gains with which no window oscillates for good: roundings would then grow, in either implementation.
    for (rho, kappa) in [("0", "0.0005"), ("0.5", "0.5"), ("1", "50")] {
        let settings = ["p=20".into(), format!("kappa={kappa}"), format!("rho={rho}")];
        let Some(apart) = apart(Law::QuicTcp, &settings, 1) else { return };
        assert!(apart.events > ACKNOWLEDGEMENTS / 2 && apart.mean < 0.1, "{apart:?}");
    }
    let settings = ["p=20".into(), "kappa=0.5".into(), "round_trip_holds=2 s".into()];
    let Some(apart) = apart(Law::QuicTcp, &settings, 2) else { return };
    assert!(apart.events > ACKNOWLEDGEMENTS / 2 && apart.mean < 0.1, "{apart:?}");
}

#[test]
fn a_million_random_acknowledgements_of_fast() {
    for settings in [vec![], vec!["alpha=20".into(), "rounds=1".into(), "gamma=0.8".into()]] {
        let Some(apart) = apart(Law::Fast, &settings, 3) else { return };
        assert!(apart.events > ACKNOWLEDGEMENTS / 2 && apart.mean < 0.1, "{apart:?}");
    }
}

#[test]
fn a_million_random_acknowledgements_of_vegas() {
    for settings in [vec![], vec!["alpha=20".into(), "beta=23".into()], vec!["measure=linux".into()]] {
        let Some(apart) = apart(Law::Vegas, &settings, 4) else { return };
        assert!(apart.events > ACKNOWLEDGEMENTS / 2 && apart.mean < 0.1, "{apart:?}");
    }
}

/// Any window and share: one step of [QCSMA] eq. (17) each, from the state after a tape of two samples and
/// one loss.
#[test]
fn a_step_from_any_window() {
    let Some(text) = Text::compiled(Law::QuicTcp) else { return };
    let mut random = path::Random(7);
    for (rho, kappa) in [("0", "0.001"), ("0.5", "1.5"), ("1", "100")] {
        let settings = ["p=200".into(), format!("kappa={kappa}"), format!("rho={rho}")];
        let params = with(&Law::QuicTcp.defaults(), &settings).unwrap();
        let WindowParams::QuicTcp(own) = &params else { unreachable!() };
        let (mut steps, mut expected) = (Vec::new(), Vec::new());
        for _ in 0..100_000 {
            // From 2 packets to a million, each order of magnitude equally likely.
            let window = libm_pow10(0.3 + 5.7 * random.unit());
            let (base, average) = (1 + random.below(1_000_000), 1 + random.below(4));
            let round_trip = base * average + random.below(1000);
            let whole = window as u64;
            let share = (base as f64 / average_of(base, round_trip)).min(1.0);
            expected.push((whole, own.next(whole as f64, share)));
            steps.push((whole, base, round_trip));
        }
        for ((whole, expected), ours) in expected.iter().zip(text.steps(&params, &steps)) {
            let rounding = 1.0 + 1e-4 * expected;
            let same = (ours - expected.max(2.0)).abs() <= rounding;
            assert!(same, "rho {rho}: from {whole} to {ours}, by the law to {expected}");
        }
    }
}

/// Returns the law's average after two samples.
fn average_of(first: u64, second: u64) -> f64 {
    31.0 / 32.0 * first as f64 + second as f64 / 32.0
}

fn libm_pow10(power: f64) -> f64 {
    10f64.powf(power)
}

/// `evenair cc status` reads the state's fields by their offsets.
#[test]
fn the_places_of_the_state() {
    for (law, places) in [(Law::QuicTcp, "24 48 56"), (Law::Fast, "24 32 44"), (Law::Vegas, "28 24 40")] {
        let Some(text) = Text::compiled(law) else { return };
        let told = text.places();
        assert!(told.starts_with(places), "{}: {told}", law.name());
        let size: usize = told.split_whitespace().last().unwrap().parse().unwrap();
        assert!(size <= 104, "{told}");
    }
}

#[test]
fn c_text_gets_parameters() {
    let params = Law::QuicTcp.defaults();
    let tape = Path::random(1).tape(&params, 10);
    assert!(matches!(tape[0].told, WindowTold::Begin(_)) && tape.len() > 10);
    assert_eq!(encode(&params).unwrap().len(), 4);
    let law = params.begin(&evenair_laws::window::WindowStart::default());
    assert!((law.congestion_window() - 10.0).abs() < 1e-12);
}
