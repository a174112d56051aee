//! Sources that are never without packets, at queues that refuse them or give them up.

use super::*;
use crate::queue::tests::every_discipline;
use evenair_laws::OwnLaw;
use evenair_laws::marking::{MarkingLaw, OwnMarking, QueueView, Verdict};

/// Flows of one path.
fn together(spec: &NetworkSpec, flows: &[Traffic]) -> NetworkSpec {
    let flow = |(index, traffic): (usize, &Traffic)| FlowSpec {
        name: index.to_string(),
        traffic: traffic.clone(),
        ..spec.flows[0].clone()
    };
    NetworkSpec { flows: flows.iter().enumerate().map(flow).collect(), ..spec.clone() }
}

/// Three of them, and a load of twice the path's rate beside.
fn crowd(spec: &NetworkSpec, every: Duration) -> NetworkSpec {
    let flood = datagrams(Pattern::Constant { interval: every, jitter: 0.5 });
    let mut flows = vec![datagrams(Pattern::Saturated); 3];
    flows.push(flood);
    together(spec, &flows)
}

#[test]
fn sources_go_on_in_any_queue() {
    // 1250 bytes are 10 ms on the wire and about 2 ms on the air.
    let wire = crowd(&wired(1_000, 5, 50, datagrams(Pattern::Saturated)), Duration::from_millis(5));
    let mut air = four_links(false);
    air.flows.truncate(1);
    let air = crowd(&air, Duration::from_millis(1));
    for limit in [1, 6] {
        // All but the last, a stack: its first packet never leaves it.
        let disciplines = 0..every_discipline().len() - 1;
        for (discipline, marking) in disciplines.flat_map(|d| (0..7).map(move |m| (d, m))) {
            for mut spec in [wire.clone(), air.clone()] {
                let queue = queues::any_queue(discipline, marking, limit);
                if spec.wires.is_empty() {
                    spec.queue = queue;
                } else {
                    spec.wires[0].queue = queue;
                }
                let result = Network::run(&spec, seconds(1, 2, 6));
                assert_conserved(&result);
                let about = format!("{:?} {marking} {limit}", every_discipline()[discipline]);
                let served: f64 = result.flows.iter().map(|flow| flow.goodput_pps).sum();
                let offered: f64 = result.flows[..3].iter().filter_map(|flow| flow.offered_pps).sum();
                // A packet that leaves has about one asked for; CoDel drops as many of those that come as it takes.
                let drops = marking == 3 || (2..5).contains(&discipline);
                assert!(drops || offered < 2.1 * served, "{offered} for {served}: {about}");
                for flow in &result.flows[..3] {
                    // With less room than flows an arrival may drive out the same flow's packet each time.
                    assert!(flow.offered_pps.unwrap() > 5.0, "{flow:?}: {about}");
                    assert!(limit < 4 || flow.goodput_pps > 2.0 && flow.silence_s < 5.0, "{flow:?}: {about}");
                }
            }
        }
    }
}

#[test]
fn flows_take_turns_in_a_full_buffer() {
    // Room for two, one in service; ten of them.
    let spec = together(
        &wired(1_000, 5, 2, datagrams(Pattern::Saturated)),
        &vec![datagrams(Pattern::Saturated); 10],
    );
    let result = Network::run(&spec, seconds(1, 1, 20));
    assert_conserved(&result);
    let got = goodputs(&result);
    assert!(got.iter().all(|&pps| (pps - 10.0).abs() < 0.11), "100 packets/s: {got:?}");
    // Those that found no room in the beginning; no source is called in vain.
    assert_eq!(result.flows.iter().map(|flow| flow.lost).sum::<u64>(), 0);
}

/// Refuses arrivals, or drops departures, with these probabilities; the latter evenly spaced.
#[derive(Clone, Copy, Debug)]
struct Harsh {
    refuses: f64,
    drops: f64,
    credit: f64,
}

impl OwnLaw for Harsh {
    fn identity(&self) -> String {
        format!("{self:?}")
    }
}

impl MarkingLaw for Harsh {
    fn on_arrival(&mut self, _: Instant, _: &QueueView) -> Probability {
        Probability::clamped(self.refuses)
    }

    fn on_departure(&mut self, _: Instant, _: Duration, _: &QueueView) -> Verdict {
        self.credit += self.drops;
        if self.credit < 1.0 {
            return Verdict::Send;
        }
        self.credit -= 1.0;
        Verdict::Drop
    }
}

#[test]
fn refusing_empty_queue_is_polled_boundedly() {
    // Alone, with two packets under way, over a wire that carries 100 a second.
    let run = |refuses: f64, drops: f64| {
        let mut spec = wired(1_000, 5, 50, datagrams(Pattern::Saturated));
        spec.wires[0].queue.marking = Some(OwnMarking::new(Harsh { refuses, drops, credit: 0.0 }).into());
        let result = Network::run(&spec, seconds(1, 1, 100));
        assert_conserved(&result);
        (result.flows[0].goodput_pps, result.flows[0].offered_pps.unwrap())
    };
    // Each packet time both are asked for, or one while the other is sent: idle is when both are refused.
    let (half, asked) = run(0.5, 0.0);
    assert!((60.0..95.0).contains(&half) && asked < 200.0, "{half} of {asked}");
    let (few, asked) = run(0.95, 0.0);
    assert!((4.0..11.0).contains(&few) && asked < 210.0, "{few} of {asked}");
    let (spared, asked) = run(0.0, 0.4);
    assert!(spared > 90.0 && asked < 210.0, "{spared} of {asked}");
    for (refuses, drops) in [(1.0, 0.0), (0.0, 1.0)] {
        let (none, asked) = run(refuses, drops);
        assert!(none < 1e-9 && (90.0..210.0).contains(&asked), "{none} of {asked}");
    }
}
