//! Energy detection: signals that none senses alone, and their sum.

use super::*;

/// Three senders at 700 m are sensed by none, up to 550 m. Their frames reach node 0 one after another, each 100 µs later. Node 0
/// has a packet at 350 µs. Gives the start of its frame \[ns\].
fn start(senders: u32, signals_to_be_busy: f32) -> u64 {
    let at = [(0.0, 0.0), (700.0, 0.0), (-700.0, 0.0), (0.0, 700.0)];
    let at: Vec<Position> = at.iter().map(|&(x, y)| Position::new(x, y)).collect();
    let radio = ThresholdRadio {
        transmission_range_m: 250.0,
        carrier_sense_range_m: 550.0,
        interference_range_m: 900.0,
        propagation: Propagation::default(),
    };
    let rules = Rules { energy: Some(radio.propagation.received(600.0)), ..Rules::standard() };
    let mut bench = Bench::over(&Medium::from_positions(&at, &radio), |_| exactly(0), timing(), rules);
    let ear = bench.air.ears_of(1, 0).find(|&i| bench.air.ears[i].node == 0).unwrap();
    assert!(!bench.air.ears[ear].sensed);
    bench.air.energy_mw = signals_to_be_busy * bench.air.ears[ear].power_mw;
    for sender in 1..=senders {
        bench.run_to(us(100 * u64::from(sender)));
        bench.offer(sender, BROADCAST);
    }
    bench.run_to(us(350));
    bench.offer(0, BROADCAST);
    bench.run_to(us(5_000));
    bench.data_starts(0)[0]
}

/// The medium is busy while the sum is at the threshold or above (`Rules::energy`); then a DIFS of 50 µs follows. The frames
/// last 946 µs, from 100, 200 and 300 µs on.
#[test]
fn medium_is_busy_while_powers_add_up() {
    let after = |end_us: u64| (end_us + 50) * 1_000 + flight_ns(700.0);
    for (senders, threshold, expected) in [
        (1, 2.0, 350_000),
        (2, 2.0, after(100 + 946)),
        (2, 2.01, 350_000),
        (3, 2.0, after(200 + 946)),
        (3, 3.0, after(100 + 946)),
        (3, 3.01, 350_000),
    ] {
        assert_eq!(start(senders, threshold), expected, "{senders} signals, {threshold} needed");
    }
}
