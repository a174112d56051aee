//! Drawing a back-off from the distribution that a law answered with.

use evenair_des::Stream;
use evenair_laws::backoff::Draw;
use evenair_units::Duration;

/// One back-off. `window` is the contention window in force, of [`Draw::Slots`] only.
pub(crate) fn backoff(draw: Draw, window: u32, slot: Duration, frame: Duration, stream: &mut Stream) -> Duration {
    match draw {
        Draw::Slots { end_included, .. } => {
            slot * u64::from(stream.up_to(window.saturating_sub(u32::from(!end_included))))
        }
        Draw::ExponentialOfFrame { factor } => stream.exponential(frame.mul_f64(factor)),
        Draw::SlottedExponentialOfFrame { factor } => {
            let drawn = stream.exponential(frame.mul_f64(factor));
            slot * (drawn + slot / 2).whole(slot)
        }
        Draw::Exponential { mean } => stream.exponential(mean),
        Draw::Uniform { mean } => stream.uniform(mean),
        Draw::Fixed { mean } => mean,
    }
}

/// Whether countdowns of this distribution run in whole slots.
pub(crate) const fn slotted(draw: Draw) -> bool {
    matches!(draw, Draw::Slots { .. } | Draw::SlottedExponentialOfFrame { .. })
}

/// The window before the first attempt.
pub(crate) const fn first_window(draw: Draw) -> u32 {
    match draw {
        Draw::Slots { window, .. } => window,
        _ => 0,
    }
}
