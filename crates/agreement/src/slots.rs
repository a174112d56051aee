//! An independent DCF for one cell: no events, no medium, just counters that are compared slot by slot.
//!
//! Written from IEEE 802.11-2016 clauses 10.3.2 to 10.3.4 without a look at the machine in `evenair-wifi`, for stations
//! at one place. Each busy period is settled in one step: who fires first, who fires within the sensing delay.

use crate::cell::Exchange;
use evenair_des::Stream;

struct Station {
    /// When its slots begin to count \[ns\].
    from: i64,
    counter: i64,
    window: u32,
    failures: u32,
}

/// Saturation throughput \[packets/s\] over `successes` packets.
pub fn throughput_pps(exchange: &Exchange, stations: u32, successes: u64, seed: u64) -> f64 {
    let ns = |d: evenair_units::Duration| d.as_nanos().cast_signed();
    let timing = &exchange.timing;
    let (slot, difs, eifs) = (ns(timing.slot), ns(timing.difs), ns(timing.eifs));
    // What collides, and what follows it when it does not.
    let first_frame = ns(exchange.first_frame());
    let rest = ns(exchange.success()) - first_frame - difs;
    let (narrow, wide) = (exchange.window_min, 1023);
    let mut stream = Stream::named(seed, "slots", "backoff");
    let mut cell: Vec<Station> = (0..stations)
        .map(|_| Station {
            from: difs,
            counter: i64::from(stream.up_to(narrow)),
            window: narrow,
            failures: 0,
        })
        .collect();
    let (mut done, mut now) = (0, 0);
    while done < successes {
        let fires = |s: &Station| s.from + s.counter * slot;
        let first = cell.iter().map(fires).min().expect("there is a station");
        let limit = first + ns(timing.sensing_delay);
        let senders: Vec<usize> = (0..cell.len()).filter(|&i| fires(&cell[i]) <= limit).collect();
        let last_end = senders.iter().map(|&i| fires(&cell[i]) + first_frame).max().expect("somebody fires");
        let success = senders.len() == 1;
        let idle_at = if success { last_end + rest } else { last_end };
        for (i, station) in cell.iter_mut().enumerate() {
            if senders.contains(&i) {
                let own_end = fires(station) + first_frame;
                if success {
                    (station.window, station.failures) = (narrow, 0);
                    station.from = idle_at + difs;
                } else {
                    station.failures += 1;
                    if station.failures == 7 {
                        (station.window, station.failures) = (narrow, 0);
                    } else {
                        station.window = (2 * station.window + 1).min(wide);
                    }
                    // It notices at the time-out; slots are counted from a DIFS after the last activity.
                    let noticed = own_end + ns(timing.answer_timeout);
                    let ready = idle_at + difs;
                    let boundary = (noticed - ready).max(0).div_euclid(slot)
                        + i64::from((noticed - ready).max(0).rem_euclid(slot) > 0);
                    station.from = ready + boundary * slot;
                }
                station.counter = i64::from(stream.up_to(station.window));
            } else {
                // A slot that ends before the frame can be sensed was idle for all that is known.
                station.counter -= ((limit - station.from).max(0) / slot).min(station.counter);
                station.from = idle_at + if success { difs } else { eifs };
            }
        }
        done += u64::from(success);
        now = idle_at;
    }
    successes as f64 / (now as f64 * 1e-9)
}
