//! A network stepped from outside: packets go in, come out or are lost, a capture is written, and there is a result.
//!
//! An emulator is this loop with a clock and devices: it reads packets, injects each at the instant of its reading, writes
//! arrivals at their instants, and frees the bytes of lost packets.
//!
//! Two stations that do not hear each other send more than one that hears both can receive: their frames collide until some are given
//! up, and their queues overflow.
#![allow(clippy::print_stdout, reason = "an example tells what it finds")]

use evenair_laws::backoff::Category;
use evenair_netsim::pcap::PcapWriter;
use evenair_netsim::{
    Codepoint, Emerged, Fate, Foreign, LossCause, MacSpec, Network, NetworkSpec, RunResult, RunSpec,
    Watchers, Whose,
};
use evenair_topology::{Medium, Position, Propagation, ThresholdRadio};
use evenair_units::{Bytes, Duration, Instant, Rate};
use evenair_wifi::{MacTiming, Preamble, Rules};
use std::collections::BTreeMap;
use std::io;

/// A host's packets while the network has their sizes alone.
type Kept = BTreeMap<u64, Vec<u8>>;

/// The fates of the packets so far.
#[derive(Debug, Default)]
struct Tally {
    arrived: u64,
    lost: BTreeMap<&'static str, u64>,
}

/// Left, middle and right, 200 m apart; 802.11b at 11 Mb/s.
fn hidden_stations(timing: MacTiming) -> NetworkSpec {
    let radio = ThresholdRadio {
        transmission_range_m: 250.0,
        carrier_sense_range_m: 250.0,
        interference_range_m: 250.0,
        propagation: Propagation::default(),
    };
    let places = [-200.0, 0.0, 200.0].map(|x| Position::new(x, 0.0));
    let names = ["left", "middle", "right"].map(String::from).to_vec();
    let mac = MacSpec::Dcf { timing, rules: Rules::standard() };
    let medium = Medium::from_positions(&places, &radio);
    NetworkSpec {
        routes: vec![vec![0, 1], vec![2, 1]],
        ..NetworkSpec::new(names, medium, mac, Rate::from_kbps(11_000))
    }
}

/// Frees the bytes of a packet, and counts its outcome.
fn let_go(kept: &mut Kept, tally: &mut Tally, emerged: &Emerged) {
    let cause = match emerged.fate {
        Fate::Heard { .. } => return, // others may hear it
        Fate::Arrived | Fate::Over => "",
        Fate::Lost { cause: LossCause::Overflow, .. } => "overflow",
        Fate::Lost { cause: LossCause::Law, .. } => "law",
        Fate::Lost { cause: LossCause::Retries, .. } => "retries",
        Fate::Lost { cause: LossCause::Wire, .. } => "wire",
        Fate::Lost { cause: LossCause::NoRoute, .. } => "no route",
    };
    kept.remove(&emerged.packet.content).expect("each packet ends once");
    if cause.is_empty() {
        tally.arrived += 1;
    } else {
        *tally.lost.entry(cause).or_default() += 1;
    }
}

/// Sends a third of a second of packets from both sides, and collects their outcomes.
fn run() -> io::Result<(RunResult, Tally, Kept, Vec<u8>)> {
    let timing = MacTiming::b(Preamble::Long, Rate::from_kbps(1_000));
    let planned = RunSpec {
        seed: 1,
        warmup: Duration::ZERO,
        duration: Duration::from_secs(3600), // nobody knows how long it will be
        sample_every: None,
        times: true,
        ledger: false,
        timeline: None,
    };
    let mut network = Network::new(&hidden_stations(timing), planned);
    network.see_all_frames();
    let mut capture = PcapWriter::new(Vec::new(), 3, timing)?;
    let mut watchers = Watchers { frames: Some(&mut capture), ..Watchers::default() };
    let (mut kept, mut tally) = (Kept::new(), Tally::default());
    let start = Instant::ZERO;
    for number in 0..400 {
        let at = start + Duration::from_micros(800) * number;
        while let Some(emerged) = network.advance_watched(at, &mut watchers) {
            let_go(&mut kept, &mut tally, &emerged);
        }
        let from = if number % 2 == 0 { 0 } else { 2 };
        kept.insert(number, vec![0; 1000]);
        let packet = Foreign {
            from,
            to: 1,
            size: Bytes::new(1000),
            whose: Whose::Nobody(from),
            since: None,
            category: Category::BestEffort,
            ecn: Codepoint::NotCapable,
            content: number,
        };
        network.inject(at, packet).expect("there is a route");
    }
    let end = start + Duration::from_secs(2);
    while let Some(emerged) = network.advance_watched(end, &mut watchers) {
        let_go(&mut kept, &mut tally, &emerged);
    }
    let result = network.finish_at(end);
    let capture = capture.finish()?.remove(0);
    Ok((result, tally, kept, capture))
}

fn main() -> io::Result<()> {
    let (result, tally, kept, capture) = run()?;
    println!("{tally:?}; {} packets are still kept; a capture of {} bytes", kept.len(), capture.len());
    for pair in &result.outside {
        let mean_ms = pair.delay.as_ref().map_or(0.0, |delay| delay.mean_s * 1e3);
        println!(
            "{} to {}: {} entered, {} arrived after {mean_ms:.2} ms, {} lost",
            pair.from, pair.to, pair.entered_packets, pair.arrived_packets, pair.lost_packets
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_packet_is_let_go_and_the_result_agrees() {
        let (result, tally, kept, capture) = run().unwrap();
        assert!(kept.is_empty(), "{} packets were forgotten", kept.len());
        let lost: u64 = tally.lost.values().sum();
        assert_eq!(tally.arrived + lost, 400);
        assert_eq!(result.packets.delivered, tally.arrived);
        assert_eq!(result.outside.iter().map(|pair| pair.arrived_packets).sum::<u64>(), tally.arrived);
        assert!(tally.lost["retries"] > 0 && tally.lost["overflow"] > 0, "hidden stations: {tally:?}");
        assert!((result.measured_s - 2.0).abs() < 1e-9, "not the hour that was planned");
        // Every exchange is two frames of the capture at least, of which it keeps the headers.
        assert!(capture.len() as u64 > tally.arrived * 100);
    }
}
