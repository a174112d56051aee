//! Drawing a back-off from the distribution that a law answered with.

use evenair_des::Stream;
use evenair_laws::backoff::Draw;
use evenair_units::Duration;

/// The airtimes of the packet that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Airtimes {
    /// Its DATA frame, preamble and headers included.
    pub(crate) frame: Duration,
    /// Its bits alone, at its rate.
    pub(crate) packet: Duration,
}

/// One back-off. `window` is the contention window in force, of [`Draw::Slots`] only.
pub(crate) fn backoff(
    draw: Draw,
    window: u32,
    slot: Duration,
    airtimes: Airtimes,
    stream: &mut Stream,
) -> Duration {
    match draw {
        Draw::Slots { end_included, .. } => slots(window, end_included, slot, stream),
        Draw::ExponentialOfFrame { factor, slotted } => {
            to_slots(stream.exponential(airtimes.frame.mul_f64(factor)), slot, slotted)
        }
        Draw::ExponentialOfPacket { factor, slotted } => {
            to_slots(stream.exponential(airtimes.packet.mul_f64(factor)), slot, slotted)
        }
        Draw::Exponential { mean, slotted } => to_slots(stream.exponential(mean), slot, slotted),
        Draw::Uniform { mean } => stream.uniform(mean),
        Draw::Fixed { mean } => mean,
    }
}

/// A whole number of slots from zero to the window, which is included or not.
#[inline]
pub(crate) fn slots(window: u32, end_included: bool, slot: Duration, stream: &mut Stream) -> Duration {
    slot * u64::from(stream.up_to(window.saturating_sub(u32::from(!end_included))))
}

/// Whether a packet that takes longer than the rest of a span goes with it: with the probability of the part that fits, so
/// that the span is met in the mean.
pub(crate) fn goes_on(left: Duration, takes: Duration, stream: &mut Stream) -> bool {
    debug_assert!(left < takes, "it fits");
    stream.unit() * takes.as_secs_f64() < left.as_secs_f64()
}

fn to_slots(drawn: Duration, slot: Duration, slotted: bool) -> Duration {
    if slotted { slot * (drawn + slot / 2).whole(slot) } else { drawn }
}

/// Whether countdowns of this distribution run in whole slots.
pub(crate) const fn slotted(draw: Draw) -> bool {
    match draw {
        Draw::Slots { .. } => true,
        Draw::ExponentialOfFrame { slotted, .. }
        | Draw::ExponentialOfPacket { slotted, .. }
        | Draw::Exponential { slotted, .. } => slotted,
        Draw::Uniform { .. } | Draw::Fixed { .. } => false,
    }
}

/// The window before the first attempt.
pub(crate) const fn first_window(draw: Draw) -> u32 {
    match draw {
        Draw::Slots { window, .. } => window,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IEEE 802.11-2016 clause 10.3.3: from 0 to the window, which is included; in ns-2 (`BackoffTimer::start`) it is not.
    #[test]
    fn slots_are_drawn_up_to_the_window() {
        let slot = Duration::from_micros(20);
        let airtimes = Airtimes { frame: slot, packet: slot };
        for (end_included, most) in [(true, 3), (false, 2)] {
            let (draw, mut stream) =
                (Draw::Slots { window: 3, end_included }, Stream::named(1, "node", "backoff"));
            let drawn: Vec<u64> =
                (0..100).map(|_| backoff(draw, 3, slot, airtimes, &mut stream).whole(slot)).collect();
            assert!((0..=most).all(|slots| drawn.contains(&slots)));
            assert_eq!(drawn.iter().max(), Some(&most));
        }
    }

    /// An exponential back-off in slots is a whole number of them, and its mean that of the distribution: rounded to the
    /// nearest, 1000 µs in slots of 20 µs are within 1 %.
    #[test]
    fn slotted_draws_are_whole_slots_of_same_mean() {
        let (mean, slot) = (Duration::from_micros(1000), Duration::from_micros(20));
        let airtimes = Airtimes { frame: mean, packet: Duration::from_micros(500) };
        for (draw, mean_us) in [
            (Draw::Exponential { mean, slotted: true }, 1000.0),
            (Draw::ExponentialOfFrame { factor: 2.0, slotted: true }, 2000.0),
            (Draw::ExponentialOfPacket { factor: 3.0, slotted: true }, 1500.0),
        ] {
            let mut stream = Stream::named(1, "node", "backoff");
            let drawn: Vec<u64> =
                (0..20_000).map(|_| backoff(draw, 0, slot, airtimes, &mut stream).as_nanos()).collect();
            assert!(drawn.iter().all(|ns| ns.is_multiple_of(20_000)));
            // Standard error 1/√20000 = 0.7 %.
            let ratio = drawn.iter().sum::<u64>() as f64 / 20_000.0 / 1000.0 / mean_us;
            assert!((ratio - 1.0).abs() < 0.03, "{draw:?}: {ratio}");
        }
    }
}
