//! Known results on TCP's throughput and windows: closed forms, and traces of a real Linux kernel.

use evenair_netsim::{FlowResult, Network, RunSpec};
use evenair_scenario::Resolved;
use evenair_units::Duration;

/// The square-root law of congestion avoidance, `√(3/(2bp))/T` \[segments/s\]: M. Mathis et al., CCR 1997; `b` segments per
/// acknowledgement, one segment in `1/p` lost at equal distances, round-trip time `T` \[s\].
pub fn square_root_law_pps(round_trip_s: f64, loss: f64, per_ack: f64) -> f64 {
    (3.0 / (2.0 * per_ack * loss)).sqrt() / round_trip_s
}

/// The same for losses that are independent of each other, `1.3098/(T√p)`: T. Ott, J. Kemperman and M. Mathis, 1996. Losses
/// that come by chance leave longer teeth, and a mean above that of equal ones.
pub fn random_loss_law_pps(round_trip_s: f64, loss: f64) -> f64 {
    1.3098 / (round_trip_s * loss.sqrt())
}

/// J. Padhye et al., SIGCOMM 1998, eq. (30): with time-outs of `T0` \[s\]; without the receiver's limit.
pub fn pftk_pps(round_trip_s: f64, timeout_s: f64, loss: f64, per_ack: f64) -> f64 {
    let avoidance = round_trip_s * (2.0 * per_ack * loss / 3.0).sqrt();
    let timeouts = (3.0 * (3.0 * per_ack * loss / 8.0).sqrt()).min(1.0) * loss * (1.0 + 32.0 * loss * loss);
    1.0 / (avoidance + timeout_s * timeouts)
}

fn parse(text: &str, changes: &[String]) -> Resolved {
    Resolved::parse("wire", text, changes).expect("the scenario is right")
}

/// One flow over a wire that is never full, 50 ms each way, losing data; Reno's window. `loss` is a key of the language with
/// its value, such as `loss=0.001`.
pub fn over_a_lossy_wire(loss: &str, sack: bool, seconds: u32, seed: u64) -> FlowResult {
    let text = "
        nodes = [{ id = \"a\" }, { id = \"b\" }]
        wires = [{ from = \"a\", to = \"b\", rate = \"10 Gbps\", delay = \"50 ms\", queue = \"10000 packets\" }]
        losses = [{ from = \"a\", to = \"b\", one_way = true }]
        flows = [{ id = \"1\", from = \"a\", to = \"b\" }]
        tcp = { window = \"newreno\", receiver_window = \"100000 packets\", min_rto = \"200 ms\", initial_ssthresh = \"50 packets\" }
    ";
    let changes = [
        format!("losses.0.{loss}"),
        format!("tcp.sack={sack}"),
        format!("duration=\"{seconds} s\""),
        "warmup=\"60 s\"".into(),
    ];
    let scenario = parse(text, &changes);
    let result = Network::run(scenario.network(), scenario.run_spec(seed));
    result.flows[0].clone()
}

/// One flow over TFRC, over a wire that is never full and loses by lot; the same as validation/ns2/tfrc.tcl.
pub fn tfrc_over_a_lossy_wire(loss: f64, round_trip_ms: u32, seed: u64) -> FlowResult {
    let text = "
        nodes = [{ id = \"a\" }, { id = \"b\" }]
        wires = [{ from = \"a\", to = \"b\", rate = \"100 Mbps\", delay = \"50 ms\", queue = \"1000 packets\" }]
        losses = [{ from = \"a\", to = \"b\", one_way = true }]
        flows = [{ id = \"1\", from = \"a\", to = \"b\", traffic = \"tfrc\" }]
        duration = \"1000 s\"
        warmup = \"100 s\"
    ";
    let delay_us = 500 * round_trip_ms;
    let scenario =
        parse(text, &[format!("losses.0.loss={loss}"), format!("wires.0.delay=\"{delay_us} us\"")]);
    let result = Network::run(scenario.network(), scenario.run_spec(seed));
    result.flows[0].clone()
}

/// Sampled windows: time \[s\], window \[segments\].
pub type Trace = Vec<(f64, f64)>;

/// A Linux kernel's behaviour over a bottleneck, recorded by `validation/linux/window.py`; BBR's windows by
/// `validation/linux/lossy.py`, with a delay on the path.
pub fn kernel_trace(law: &str) -> Trace {
    let text = match law {
        "reno" => include_str!("../../../validation/linux/reno.csv"),
        "cubic" => include_str!("../../../validation/linux/cubic.csv"),
        "bbr" => include_str!("../../../validation/linux/bbr.csv"),
        _ => unreachable!("there are three recordings"),
    };
    let number = |cell: Option<&str>| cell.and_then(|c| c.parse().ok());
    text.lines()
        .filter_map(|line| {
            let mut cells = line.split(',');
            Some((number(cells.next())?, number(cells.next())?))
        })
        .collect()
}

/// The same bottleneck in evenair: 10 Mb/s, room for 100 packets, SACK, no timestamps, frames with Ethernet headers; for BBR
/// 40 ms without a queue, of packets without them.
pub fn simulated_trace(law: &str) -> Trace {
    let text = "
        duration = \"100 s\"
        warmup = \"0 s\"
        nodes = [{ id = \"a\" }, { id = \"r\" }, { id = \"b\" }]
        wires = [
            { from = \"a\", to = \"r\", rate = \"10 Gbps\", delay = \"20 us\", queue = \"10000 packets\" },
            { from = \"r\", to = \"b\", rate = \"10 Mbps\", delay = \"20 us\", queue = \"99 packets\" },
        ]
        flows = [{ id = \"1\", from = \"a\", to = \"b\" }]
        [tcp]
        sack = true
        delayed_ack = \"40 ms\"
        payload = \"1460 bytes\"
        headers = \"54 bytes\"
        receiver_window = \"4000 packets\"
        min_rto = \"200 ms\"
    ";
    let mut changes = vec![format!("tcp.window={law}")];
    if law == "bbr" {
        let path =
            ["duration=45 s", "wires.1.delay=19.4 ms", "wires.1.queue=100 packets", "tcp.headers=40 bytes"];
        changes.extend(path.map(|change| change.replacen('=', "=\"", 1) + "\""));
    }
    let scenario = parse(text, &changes);
    let run = RunSpec { sample_every: Some(Duration::from_millis(2)), ..scenario.run_spec(1) };
    let series = Network::run(scenario.network(), run).series.expect("sampling is on");
    series.time_s.iter().copied().zip(series.flows[0].congestion_window.iter().copied()).collect()
}

/// The sawtooth after the first 20 s: its mean period \[s\] and peak \[segments\]. A tooth ends where the window falls by a
/// fifth below its peak; falls within one second belong to one recovery.
pub fn sawtooth(trace: &[(f64, f64)]) -> (f64, f64) {
    let mut peaks: Vec<(f64, f64)> = Vec::new();
    let (mut at, mut peak) = (0.0, 0.0);
    for &(time, window) in trace.iter().filter(|(time, _)| *time > 20.0) {
        if window > peak {
            (at, peak) = (time, window);
        } else if window < 0.8 * peak {
            if peaks.last().is_none_or(|&(last, _)| at - last > 1.0) {
                peaks.push((at, peak));
            }
            (at, peak) = (time, window);
        }
    }
    let (first, last) = (peaks[0].0, peaks[peaks.len() - 1].0);
    let period = (last - first) / (peaks.len() - 1) as f64;
    (period, peaks.iter().map(|p| p.1).sum::<f64>() / peaks.len() as f64)
}

/// Of a trace of BBR's: the times of its probes for the least round trip, where the window falls to four
/// \[s\]; and the mean window after the first two seconds \[segments\].
pub fn probes_and_mean(trace: &[(f64, f64)]) -> (Vec<f64>, f64) {
    let falls = |pair: &[(f64, f64)]| (pair[0].1 > 4.5 && pair[1].1 <= 4.5).then_some(pair[1].0);
    let probes = trace.windows(2).filter_map(falls).collect();
    let held = trace.windows(2).filter(|pair| pair[0].0 > 2.0).map(|pair| (pair[1].0 - pair[0].0, pair[0].1));
    let (time, area) = held.fold((0.0, 0.0), |(time, area), (t, window)| (time + t, area + t * window));
    (probes, area / time)
}
