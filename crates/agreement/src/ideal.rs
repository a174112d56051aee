//! Ideal CSMA driven to saturation, for comparison with the product form.

use evenair_des::{Queue, Stream};
use evenair_laws::backoff::{Access, Draw, Holding, OnFailure, When};
use evenair_topology::ConflictGraph;
use evenair_units::{Bytes, Duration, Instant, Rate};
use evenair_wifi::{Effects, Head, IdealAir, Mode, PacketId, Up, Wake};

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
    let mut air = IdealAir::new(graph.clone(), links.collect());
    let (mut queue, mut out) = (Queue::<Wake>::new(), Effects::default());
    let mode = Mode::at(Rate::from_kbps(8_000));
    let size = Bytes::new((PACKET.as_nanos() / 1000) as u32); // a byte a microsecond
    let head = Head { to: 0, size, mode, packet: PacketId::NONE };
    for l in 0..exponents.len() as u32 {
        air.offer(Instant::ZERO, l, head, &mut out);
    }
    // Time on the air, booked to the batch in which a transmission ends.
    let mut since = vec![Instant::ZERO; exponents.len()];
    let mut time = vec![vec![0.0; exponents.len()]; batches + 1];
    let end = Instant::ZERO + batch * (batches as u64 + 1);
    let mut begun = Instant::ZERO;
    loop {
        while let Some((at, wake)) = out.wakes.pop() {
            if let Wake::IdealEnd(l) = wake {
                since[l as usize] = begun; // it began to transmit at this call
            }
            queue.push(at, wake.phase(), wake);
        }
        let Some((now, wake)) = queue.pop().filter(|(now, _)| *now < end) else { break };
        if let Wake::IdealEnd(l) = wake {
            let index = (now.since(Instant::ZERO).as_nanos() / batch.as_nanos()) as usize;
            time[index][l as usize] += now.since(since[l as usize]).as_secs_f64();
        }
        air.wake(now, wake, &mut out);
        for up in std::mem::take(&mut out.up) {
            if let Up::Done { by, .. } = up {
                air.offer(now, by, head, &mut out);
            }
        }
        begun = now;
    }
    let share = |row: &Vec<f64>| row.iter().map(|t| t / batch.as_secs_f64()).collect();
    time.iter().skip(1).map(share).collect()
}
