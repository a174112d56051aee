//! Turns counters into the view of a gateway's law; the simulated gateway and a real one share this code.
//!
//! A host reads the counters; a [`Meter`] remembers the last readings and gives the difference. A counter of
//! 32 bits that fell has wrapped, if by less than half of its range; one of 64 bits does not live to wrap.
//! Any other fall is a restart, as after a queue is created again: then that epoch has no figures for its
//! class. No class has figures where the clock went back, or jumped. An unknown class is not an idle class:
//! laws wait for the next epoch's figures ([`GatewayView::classes`]).
//!
//! ```
//! use evenair_laws::gateway::{ClassCounters, Count, Counted, Meter};
//! use evenair_units::{Duration, Instant};
//! let at = |packets: u32, bytes: u64| ClassCounters {
//!     served: Counted { packets: Count::Narrow(packets), bytes: Count::Wide(bytes) },
//!     ..ClassCounters::default()
//! };
//! let time = |s| Instant::ZERO + Duration::from_secs(s);
//! let mut meter = Meter::new(time(0), vec![Some(at(u32::MAX - 9, 6_000_000))], Duration::from_secs(30));
//! // 20 packets of 1500 bytes: 10 before the counter wrapped.
//! let view = meter.look(time(10), &[Some(at(10, 6_030_000))]);
//! assert_eq!(view.classes[0].unwrap().served.packets, 20);
//! assert_eq!(view.rate(0), 24_000.0);
//! // The queue was made anew.
//! assert_eq!(meter.look(time(20), &[Some(at(5, 7_500))]).classes, [None]);
//! // The clock jumped.
//! assert_eq!(meter.look(time(3_600), &[Some(at(6, 9_000))]).classes, [None]);
//! ```

use super::{ClassView, GatewayView, NewClasses};
use alloc::vec::Vec;
use evenair_units::{Duration, Instant, Volume};

/// Where a counter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Count {
    /// One of 32 bits, which wraps.
    Narrow(u32),
    /// One of 64 bits, which does not live to wrap.
    Wide(u64),
}

impl Default for Count {
    fn default() -> Self {
        Self::Wide(0)
    }
}

impl Count {
    /// The count since it stood elsewhere; none, if it has begun again.
    pub fn since(self, then: Self) -> Option<u64> {
        match (self, then) {
            (Self::Narrow(now), Self::Narrow(then)) => {
                let more = now.wrapping_sub(then);
                (more <= u32::MAX / 2).then_some(more.into())
            }
            (Self::Wide(now), Self::Wide(then)) => now.checked_sub(then),
            // Another counter.
            _ => None,
        }
    }
}

/// Where a pair of counters stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Counted {
    /// \[packets\]
    pub packets: Count,
    /// Network-layer sizes \[bytes\].
    pub bytes: Count,
}

impl Counted {
    /// Counters of 64 bits.
    pub const fn wide(volume: Volume) -> Self {
        Self { packets: Count::Wide(volume.packets), bytes: Count::Wide(volume.bytes) }
    }

    fn since(self, then: Self) -> Option<Volume> {
        Some(Volume { packets: self.packets.since(then.packets)?, bytes: self.bytes.since(then.bytes)? })
    }
}

/// A host's reading of a class's queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ClassCounters {
    /// Packets that left it.
    pub served: Counted,
    /// Packets that it gave up.
    pub dropped: Count,
    /// The same in bytes, if counted; otherwise each lost packet counts as large as the mean of those served.
    pub dropped_bytes: Option<Count>,
    /// Packets that came, dropped or not, where they are counted; else their number follows from the others.
    pub arrived: Option<Counted>,
    /// Packets that wait now.
    pub backlog: Volume,
    /// How many packets had to wait for tokens, where that is counted.
    pub held: Option<Count>,
    /// How long data were outstanding beyond the gateway \[ns\], if measured.
    pub busy: Option<Count>,
    /// Round trips so far, if measured: their total time \[ns\], and their number.
    pub round_trips: Option<(Count, Count)>,
    /// How long data have gone without an answer, now, if measured.
    pub unanswered: Option<Duration>,
}

impl ClassCounters {
    /// The counts since they stood elsewhere; none, if they began again.
    pub fn since(&self, then: &Self) -> Option<ClassView> {
        let served = self.served.since(then.served)?;
        let packets = self.dropped.since(then.dropped)?;
        let bytes = if let Some((now, then)) = self.dropped_bytes.zip(then.dropped_bytes) {
            now.since(then)?
        } else {
            packets.saturating_mul(served.bytes.checked_div(served.packets).unwrap_or(0))
        };
        let dropped = Volume { packets, bytes };
        let arrived = if let Some((now, then)) = self.arrived.zip(then.arrived) {
            now.since(then)?
        } else {
            let came = |served: u64, dropped: u64, waits: u64, waited: u64| {
                served.saturating_add(dropped).saturating_add(waits).saturating_sub(waited)
            };
            let (waits, waited) = (self.backlog, then.backlog);
            Volume {
                packets: came(served.packets, packets, waits.packets, waited.packets),
                bytes: came(served.bytes, bytes, waits.bytes, waited.bytes),
            }
        };
        let counted = |now: Option<Count>, then: Option<Count>| match now.zip(then) {
            Some((now, then)) => now.since(then).map(Some),
            None => Some(None),
        };
        let held = counted(self.held, then.held)?;
        let busy = counted(self.busy, then.busy)?.map(Duration::from_nanos);
        let trips = |(now, then): ((Count, Count), (Count, Count))| {
            Some((now.0.since(then.0)?, now.1.since(then.1)?))
        };
        let trips = self.round_trips.zip(then.round_trips).and_then(trips);
        let delay = trips.and_then(|(sum, count)| sum.checked_div(count)).map(Duration::from_nanos);
        let (backlog, unanswered) = (self.backlog, self.unanswered);
        Some(ClassView { arrived, served, dropped, backlog, held, busy, delay, unanswered })
    }
}

/// The counters of all classes at the host's last reading.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Meter {
    looked: Instant,
    /// None, where they could not be read.
    then: Vec<Option<ClassCounters>>,
    /// A longer interval is a jump of the clock.
    interval_max: Duration,
}

impl Meter {
    /// Counters as they stand now, by class, and how long an interval can be at most.
    pub const fn new(now: Instant, counters: Vec<Option<ClassCounters>>, interval_max: Duration) -> Self {
        Self { looked: now, then: counters, interval_max }
    }

    /// Takes the host's readings and returns the view of the law. There is a reading for each class, or none
    /// where reading failed.
    pub fn look(&mut self, now: Instant, counters: &[Option<ClassCounters>]) -> GatewayView {
        let interval = now.since(self.looked);
        let jumped = now < self.looked || interval > self.interval_max;
        self.looked = now;
        let since = |(now, then): (&Option<ClassCounters>, &mut Option<ClassCounters>)| {
            let before = core::mem::replace(then, *now);
            now.as_ref()?.since(&before?).filter(|_| !jumped)
        };
        let classes = counters.iter().zip(&mut self.then).map(since).collect();
        GatewayView { now, interval, classes }
    }

    /// Replaces the classes; new ones have figures from their second reading on.
    pub fn on_classes(&mut self, classes: &NewClasses) {
        self.then = classes.carry(&self.then, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A queue that counts as Linux does, of which all is known here.
    #[derive(Clone, Copy, Default)]
    struct Queue {
        served: Volume,
        dropped: u64,
        backlog: Volume,
    }

    impl Queue {
        fn read(self, offset: u32) -> ClassCounters {
            ClassCounters {
                served: Counted {
                    packets: Count::Narrow(offset.wrapping_add(self.served.packets as u32)),
                    bytes: Count::Wide(self.served.bytes),
                },
                dropped: Count::Narrow(offset.wrapping_add(self.dropped as u32)),
                backlog: self.backlog,
                ..ClassCounters::default()
            }
        }
    }

    proptest! {
        /// From any start of the counters, through wraps, failed readings, recreated queues and clocks that
        /// go back: figures are right, and unknown ones are marked unknown.
        #[test]
        fn known_figures_are_right(
            offset in any::<u32>(),
            steps in prop::collection::vec((0u64..1 << 30, 0u64..1000, 0u64..100, 0u32..20), 1..60),
        ) {
            let mut queue = Queue { served: Volume { packets: 1, bytes: 1500 }, ..Queue::default() };
            let (mut now, step) = (Instant::from_nanos(1_000_000), Duration::from_secs(10));
            let mut meter = Meter::new(now, alloc::vec![Some(queue.read(offset))], step * 2);
            let mut was_read = true;
            for (packets, dropped, waits, event) in steps {
                let (before, looked) = (queue, now);
                now += step;
                queue.served = Volume {
                    packets: queue.served.packets + packets,
                    bytes: queue.served.bytes + packets * 1500,
                };
                queue.dropped += dropped;
                queue.backlog = Volume { packets: waits, bytes: waits * 1500 };
                let (mut reading, mut jumped, mut anew) = (Some(queue.read(offset)), false, false);
                match event {
                    0 => reading = None,
                    1 => {
                        // A recreated queue has served fewer bytes than before.
                        anew = before.served.bytes > 0;
                        queue = Queue::default();
                        reading = Some(queue.read(offset));
                    }
                    2 => (now, jumped) = (now + step * 5, true),
                    3 => (now, jumped) = (Instant::ZERO, looked > Instant::ZERO),
                    _ => (),
                }
                let view = meter.look(now, &[reading]);
                let is_known = was_read && reading.is_some() && !jumped && !anew;
                was_read = reading.is_some();
                prop_assert_eq!(view.classes[0].is_some(), is_known, "event {}", event);
                if let Some(seen) = view.classes[0] {
                    prop_assert_eq!(view.interval, if event == 3 { Duration::ZERO } else { step });
                    if event != 1 {
                        prop_assert_eq!(seen.served, Volume { packets, bytes: packets * 1500 });
                        prop_assert_eq!((seen.dropped.packets, seen.held), (dropped, None));
                        let left = before.backlog.packets;
                        prop_assert_eq!(seen.arrived.packets, (packets + dropped + waits).saturating_sub(left));
                    }
                }
                if jumped && now == Instant::ZERO {
                    prop_assert_eq!(view.interval, Duration::ZERO);
                }
            }
        }

        /// A counter gives the amount added to it, if that is at most half of its range.
        #[test]
        fn wraps_are_no_new_beginnings(then in any::<u32>(), more in 0u32..=u32::MAX / 2, wide in any::<u64>()) {
            prop_assert_eq!(Count::Narrow(then.wrapping_add(more)).since(Count::Narrow(then)), Some(more.into()));
            if more > 0 {
                prop_assert_eq!(Count::Narrow(then).since(Count::Narrow(then.wrapping_add(more))), None);
            }
            let later = wide.saturating_add(more.into());
            prop_assert_eq!(Count::Wide(later).since(Count::Wide(wide)), Some(later - wide));
        }
    }

    #[test]
    fn new_class_is_known_at_the_second_reading() {
        let at = |packets: u64| {
            let served = Counted::wide(Volume { packets, bytes: packets * 100 });
            Some(ClassCounters { served, ..ClassCounters::default() })
        };
        let time = |s| Instant::ZERO + Duration::from_secs(s);
        let mut meter = Meter::new(time(0), alloc::vec![at(0), at(7)], Duration::MAX);
        let role = super::super::GatewayRole { classes: alloc::vec![super::super::ClassRole::default(); 2] };
        meter.on_classes(&NewClasses { role, was: alloc::vec![Some(1), None] });
        let served = |view: GatewayView| {
            let packets = |class: &Option<ClassView>| class.map(|seen| seen.served.packets);
            view.classes.iter().map(packets).collect::<Vec<_>>()
        };
        assert_eq!(served(meter.look(time(10), &[at(9), at(1000)])), [Some(2), None]);
        assert_eq!(served(meter.look(time(20), &[at(9), at(1001)])), [Some(0), Some(1)]);
        assert_eq!(served(meter.look(time(30), &[None, at(1001)])), [None, Some(0)], "it could not be read");
    }

    #[test]
    fn interval_is_a_jump_only_beyond_the_longest() {
        for (beyond, is_known) in [(0, true), (1, false)] {
            let counters = [Some(Queue::default().read(0))];
            let longest = Duration::from_secs(20);
            let mut meter = Meter::new(Instant::ZERO, counters.into(), longest);
            let now = Instant::ZERO + longest + Duration::from_nanos(beyond);
            assert_eq!(meter.look(now, &counters).classes[0].is_some(), is_known);
        }
    }
}
