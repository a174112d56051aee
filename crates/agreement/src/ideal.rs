//! Ideal CSMA driven to saturation, for comparison with the product form.

use evenair_des::Stream;
use evenair_laws::backoff::{Access, Draw, Holding, OnFailure, When};
use evenair_topology::ConflictGraph;
use evenair_units::{Bytes, Duration, Instant, Rate};
use evenair_wifi::{Air, Head, IdealAir, Mode, PacketId, Timeline, Up};

/// A distribution by its name; its mean is given separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Exponential.
    Exponential,
    /// Uniform from zero to twice the mean.
    Uniform,
    /// Always the mean.
    Fixed,
    /// Of holding times only: packets back to back, with this mean number.
    Span,
}

/// The mean holding time; the mean back-off, where it is the holding time that the exponent makes longer.
const HOLDING: Duration = Duration::from_micros(1000);

/// A packet's airtime: two and a half of them are a holding time.
const PACKET: Duration = Duration::from_micros(400);

/// Share of time in which each link transmits, link `l` backing off for `exp(−exponents[l])` of a holding time on
/// average; measured in `batches` equal parts of `batch` each, after one more that is thrown away. With holding times that span
/// packets it is they that the exponent makes longer.
pub fn shares(
    graph: &ConflictGraph,
    exponents: &[f64],
    backoff: Shape,
    holding: Shape,
    batches: usize,
    batch: Duration,
    seed: u64,
) -> Vec<Vec<f64>> {
    let links = exponents.iter().enumerate().map(|(l, &exponent)| {
        let shorter = HOLDING.mul_f64(libm::exp(-exponent));
        let (holding, mean) = match holding {
            Shape::Exponential => (Holding::Exponential(HOLDING), shorter),
            Shape::Uniform => (Holding::Uniform(HOLDING), shorter),
            Shape::Fixed => (Holding::Fixed(HOLDING), shorter),
            Shape::Span => (Holding::Span(HOLDING.mul_f64(libm::exp(exponent))), HOLDING),
        };
        let draw = match backoff {
            Shape::Exponential => Draw::Exponential { mean, slotted: false },
            Shape::Uniform => Draw::Uniform { mean },
            Shape::Fixed | Shape::Span => Draw::Fixed { mean },
        };
        let access = Access { draw, on_failure: OnFailure::Redraw, when: When::BeforeFrame, holding };
        (l as u32, access, Stream::named(seed, &format!("link {l}"), "backoff"))
    });
    let mut air = Air::Ideal(Box::new(IdealAir::new(graph.clone(), links.collect())));
    air.record(Timeline::new(Instant::ZERO, Instant::NEVER));
    let mut out = Vec::new();
    let mode = Mode::at(Rate::from_kbps(8_000));
    let size = Bytes::new((PACKET.as_nanos() / 1000) as u32); // a byte a microsecond
    let head = Head { to: 0, size, mode, packet: PacketId::NONE };
    for l in 0..exponents.len() as u32 {
        air.offer(Instant::ZERO, l, head);
    }
    // Time on the air, booked to the batch in which a transmission ends.
    let mut time = vec![vec![0.0; exponents.len()]; batches + 1];
    let end = Instant::ZERO + batch * (batches as u64 + 1);
    while let Some(now) = air.advance(end, &mut out).filter(|now| *now < end) {
        for frame in air.take_frames().expect("they are recorded") {
            let index = (frame.end.since(Instant::ZERO).as_nanos() / batch.as_nanos()) as usize;
            time[index][frame.by as usize] += frame.end.since(frame.start).as_secs_f64();
        }
        for up in std::mem::take(&mut out) {
            if let Up::Done { by, .. } = up {
                air.offer(now, by, head);
            }
        }
    }
    let share = |row: &Vec<f64>| row.iter().map(|t| t / batch.as_secs_f64()).collect();
    time.iter().skip(1).map(share).collect()
}
