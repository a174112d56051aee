//! An independent DCF, and EDCA, for one cell: no events, no medium, just counters that are compared slot by slot.
//!
//! Written from IEEE 802.11-2016 clauses 10.3.2 to 10.3.4 and 10.22.2.4, independently of the machine in
//! `evenair-wifi`, for stations at one place. Each busy period is settled in one step: the first station to
//! fire, and those that fire within the sensing delay.

use crate::cell::Exchange;
use evenair_des::Stream;

/// How a station contends.
#[derive(Clone, Copy)]
pub struct Kind<'a> {
    /// Its frames.
    pub exchange: &'a Exchange,
    /// Slots of its AIFS, by EDCA; a DIFS and DCF, if there are none.
    pub aifsn: Option<u32>,
}

struct Station<'a> {
    kind: Kind<'a>,
    /// When its slots begin to count \[ns\].
    from: i64,
    counter: i64,
    window: u32,
    failures: u32,
    successes: u64,
}

const fn ns(d: evenair_units::Duration) -> i64 {
    d.as_nanos().cast_signed()
}

impl Station<'_> {
    /// The space before its slots.
    fn space(&self) -> i64 {
        let timing = &self.kind.exchange.timing;
        match self.kind.aifsn {
            Some(slots) => ns(timing.sifs) + i64::from(slots) * ns(timing.slot),
            None => ns(timing.difs),
        }
    }

    /// When it transmits, if nothing comes before.
    fn fires(&self) -> i64 {
        self.from + self.counter * ns(self.kind.exchange.timing.slot)
    }

    /// Takes off the slots that were idle until the medium was sensed busy: those that have ended (DCF), or begun (EDCA, clause
    /// 10.22.2.4).
    fn count_down(&mut self, limit: i64) {
        if limit >= self.from {
            let ended = (limit - self.from) / ns(self.kind.exchange.timing.slot);
            self.counter -= (ended + i64::from(self.kind.aifsn.is_some())).min(self.counter);
        }
    }

    /// A failed exchange, noticed at the time-out; slots are counted from a space after the last activity.
    fn fail(&mut self, own_end: i64, idle_at: i64) {
        let timing = &self.kind.exchange.timing;
        self.failures += 1;
        if self.failures == 7 {
            (self.window, self.failures) = (self.kind.exchange.window_min, 0);
        } else {
            self.window = (2 * self.window + 1).min(1023);
        }
        let (ready, slot) = (idle_at + self.space(), ns(timing.slot));
        let late = (own_end + ns(timing.answer_timeout) - ready).max(0);
        self.from = ready + (late.div_euclid(slot) + i64::from(late.rem_euclid(slot) > 0)) * slot;
    }
}

/// Saturation throughput of all \[packets/s\] over `successes` packets.
pub fn throughput_pps(exchange: &Exchange, stations: u32, successes: u64, seed: u64) -> f64 {
    let kinds = vec![Kind { exchange, aifsn: None }; stations as usize];
    rates_pps(&kinds, successes, seed).iter().sum()
}

/// Saturation throughput of each station of one cell \[packets/s\] over `successes` packets of all.
pub fn rates_pps(kinds: &[Kind<'_>], successes: u64, seed: u64) -> Vec<f64> {
    let mut stream = Stream::named(seed, "slots", "backoff");
    let mut cell: Vec<Station<'_>> = Vec::new();
    for &kind in kinds {
        let window = kind.exchange.window_min;
        let counter = i64::from(stream.up_to(window));
        let mut station = Station { kind, from: 0, counter, window, failures: 0, successes: 0 };
        station.from = station.space();
        cell.push(station);
    }
    let (mut done, mut now) = (0, 0);
    while done < successes {
        let first = cell.iter().map(Station::fires).min().expect("there is a station");
        let limit = first + ns(kinds[0].exchange.timing.sensing_delay);
        let senders: Vec<usize> = (0..cell.len()).filter(|&i| cell[i].fires() <= limit).collect();
        let success = senders.len() == 1;
        let ends = |station: &Station<'_>| {
            let (exchange, begins) = (station.kind.exchange, station.fires());
            // The DIFS before it is counted in an exchange that succeeds.
            let whole = ns(exchange.success()) - ns(exchange.timing.difs);
            begins + if success { whole } else { ns(exchange.first_frame()) }
        };
        let idle_at = senders.iter().map(|&i| ends(&cell[i])).max().expect("a station fires");
        for (i, station) in cell.iter_mut().enumerate() {
            let timing = &station.kind.exchange.timing;
            if !senders.contains(&i) {
                station.count_down(limit);
                let longer = if success { 0 } else { ns(timing.eifs) - ns(timing.difs) };
                station.from = idle_at + longer + station.space();
                continue;
            }
            if success {
                (station.window, station.failures) = (station.kind.exchange.window_min, 0);
                station.from = idle_at + station.space();
                station.successes += 1;
            } else {
                let own_end = station.fires() + ns(station.kind.exchange.first_frame());
                station.fail(own_end, idle_at);
            }
            station.counter = i64::from(stream.up_to(station.window));
        }
        done += u64::from(success);
        now = idle_at;
    }
    cell.iter().map(|station| station.successes as f64 / (now as f64 * 1e-9)).collect()
}
