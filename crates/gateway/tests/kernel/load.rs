//! The cost of a gateway on the running kernel. `EVENAIR_TEN_THOUSAND=1` adds 10 000 subscribers and
//! longer runs.

use crate::lab::{Lab, begun_with, config, cost, pass, processor, work};
use evenair_gateway::config::Mode;
use evenair_gateway::kernel::Kernel as _;
use evenair_gateway::record::{Event, What};
use evenair_gateway::subscribers::Place;
use evenair_gateway::{Linux, Subscriber, Subscribers};
use evenair_units::Duration;
use std::net::Ipv4Addr;

fn is_asked() -> bool {
    std::env::var_os("EVENAIR_TEN_THOUSAND").is_some()
}

fn address(i: u32) -> Ipv4Addr {
    Ipv4Addr::from(0x0a01_0001 + i)
}

fn subscribers(count: u32) -> Subscribers {
    let of = |i: u32| {
        let prefix = address(i).to_string().parse().expect("an address");
        (Place::default(), Subscriber { prefixes: vec![prefix], ..Subscriber::new(format!("s{i}")) })
    };
    Subscribers::new((0..count).map(of)).expect("subscribers")
}

/// Returns the process's resident memory \[kB\].
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("it is there");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).expect("a number of kB")
}

/// Measures the CPU time of an epoch with a thousand subscribers, all of them with classes. The bound
/// is ten times the measurement on two cores of a shared machine.
pub(crate) fn many_subscribers() {
    let count: u32 = if is_asked() { 10_000 } else { 1_000 };
    let _lab = Lab::new(1);
    let config =
        config("eager = 100000\n[law]\nlaw = \"pfrc\"\nepoch = \"1 s\"\ncapacity_high = \"400 Mbps\"\n");
    let (mut daemon, begin) = cost(|| begun_with(&config, subscribers(count), None, false));
    let (_, find) = cost(|| Linux::new(&config).expect("the kernel").find().expect("what is there"));
    // Limits come down before the first epoch begins.
    work(&mut daemon, Duration::from_secs(if count > 1_000 { 4 } else { 1 }));
    let ((), epoch) = cost(|| pass(&mut daemon, Duration::from_secs(1)));
    let ((), pause) = cost(|| daemon.pause(true));
    let found = Linux::new(&config).expect("the kernel").find().expect("what is there");
    assert_eq!(found.up.tree.classes.len() as u32, count + 4);
    let is_change = |what: &What| matches!(what, What::Event(Event::Mended(..) | Event::Trouble(_)));
    let happened = daemon.take_happened();
    assert!(!happened.iter().any(is_change), "what was set is what is read");
    println!(
        "  {count} subscribers: begin {begin}, reading all {find}, an epoch {epoch}, changing all {pause}"
    );
    assert!(
        epoch < Duration::from_secs(1) && begin < Duration::from_secs(if count > 1_000 { 60 } else { 2 })
    );
    let (_, stop) = cost(|| daemon.stop("test", true).expect("all is removed"));
    println!("  stop {stop}");
}

/// Sends small packets through the gateway: without a daemon, observed, and under limits that never
/// hold. Prints the daemon's CPU time and memory.
pub(crate) fn packets_pass_with_and_without_us() {
    let (counts, time) = if is_asked() {
        (&[100, 1_000, 10_000][..], Duration::from_secs(20))
    } else {
        (&[100][..], Duration::from_secs(2))
    };
    let lab = Lab::new(1);
    lab.widen();
    for &count in counts {
        let addresses: Vec<_> = (0..count).map(address).collect();
        let without = lab.flood(&addresses, || std::thread::sleep(std::time::Duration::from_secs(2)));
        let words =
            |(own, clock): (f64, f64)| format!("{own:.0} packets by a second of a processor, {clock:.0}/s");
        println!("  {count} subscribers: {} without a daemon", words(without));
        for mode in [Mode::Observe, Mode::Enforce] {
            let epoch = if is_asked() { 10 } else { 1 };
            let law = format!(
                "[law]\nlaw = \"pfrc\"\nepoch = \"{epoch} s\"\ncapacity_low = \"90 Gbps\"\ncapacity_high = \"100 Gbps\"\n"
            );
            let mut config = config(&format!("eager = 100000\n{law}"));
            config.mode = mode;
            let before = resident();
            let mut daemon = begun_with(&config, subscribers(count), None, false);
            work(&mut daemon, Duration::from_millis(300));
            let (mut begin, mut took) = (Duration::ZERO, Duration::ZERO);
            let with = lab.flood(&addresses, || {
                begin = processor();
                work(&mut daemon, time);
                took = processor() - begin;
            });
            let memory = resident().saturating_sub(before);
            println!(
                "    {}: {}; the daemon has {:.1} % of a processor, {memory} kB",
                mode.word(),
                words(with),
                100.0 * took.as_secs_f64() / time.as_secs_f64(),
            );
            assert!(with.1 > 100.0 && without.1 > 100.0, "packets pass");
            assert!(with.0 > without.0 / 5.0, "none of them costs five times as much");
            daemon.stop("test", false).expect("all is removed");
        }
    }
}
