//! Faults under a gateway on the running kernel.

use crate::lab::{
    Lab, begun, begun_with, config, everything, is_seen_busy, now, pass, subscribers_of, timed, told, work,
};
use crate::{THREE, ceilings};
use evenair_gateway::kernel::{AllFound, Failure, Kernel, Neighbour, Offered, Passed, Readings, Stamp};
use evenair_gateway::record::{Event, What};
use evenair_gateway::subscribers::Place;
use evenair_gateway::{Change, Daemon, Linux, Side, Subscriber, Subscribers};
use evenair_units::Duration;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

pub(crate) fn who_is_killed_is_followed_by_who_adopts() {
    let _lab = Lab::new(3);
    let before = everything();
    let config = config(THREE);
    let daemon = begun(&config, None, false);
    let kept = daemon.kept();
    let classes = told("tc", "class show dev mesh0");
    // The daemon is killed without a stop: the kernel keeps the installed state.
    drop(daemon);
    let mut next = begun(&config, Some(kept), false);
    assert_eq!(told("tc", "class show dev mesh0"), classes, "not one class is made anew");
    next.stop("test", false).expect("all is removed");
    assert_eq!(everything(), before);
}

pub(crate) fn what_is_changed_by_hand_is_mended() {
    let _lab = Lab::new(3);
    let mut daemon = begun(&config(THREE), None, false);
    pass(&mut daemon, Duration::from_millis(1_200));
    daemon.take_happened();
    told("tc", "class change dev mesh0 parent e7a1:1 classid e7a1:10 htb rate 9mbit ceil 9mbit");
    told("nft", "delete element inet evenair up4 { 10.0.0.11 }");
    // The state of a daemon that was killed between a class and its queue.
    told("tc", "qdisc delete dev wan0 parent e7a1:11");
    pass(&mut daemon, Duration::from_millis(1_200));
    let happened = daemon.take_happened();
    let mended: Vec<_> =
        happened.iter().filter(|what| matches!(what, What::Event(Event::Mended(..)))).collect();
    assert_eq!(mended.len(), 1, "{happened:?}");
    assert!(matches!(mended[0], What::Event(Event::Mended(3, _))), "{mended:?}");
    assert!(told("nft", "list map inet evenair up4").contains("10.0.0.11 : e7a1:10"));
    assert!(!told("tc", "class show dev mesh0 classid e7a1:10").contains("9Mbit"));
    assert!(told("tc", "qdisc show dev wan0").contains("parent e7a1:11"));
    // No further repair: the kernel reports the state that was set.
    pass(&mut daemon, Duration::from_secs(3));
    let happened = daemon.take_happened();
    assert!(!happened.iter().any(|what| matches!(what, What::Event(_))), "{happened:?}");
}

pub(crate) fn a_device_that_comes_back_has_its_limits_again() {
    let lab = Lab::new(3);
    let mut daemon = begun(&config(THREE), None, false);
    pass(&mut daemon, Duration::from_millis(1_200));
    told("ip", "link delete mesh0");
    pass(&mut daemon, Duration::from_millis(1_200));
    let is_trouble = |what: &What| matches!(what, What::Event(Event::Trouble(_)));
    assert!(daemon.take_happened().iter().any(is_trouble));
    lab.join_mesh(3);
    pass(&mut daemon, Duration::from_millis(2_200));
    assert!(told("tc", "class show dev mesh0").contains("e7a1:12"));
    // Packets are classified and seen, whichever number the device has now.
    let flow = lab.download("10.0.0.11");
    work(&mut daemon, Duration::from_secs(3));
    let (got, most) = (flow.bytes(), ceilings(&daemon)[0].as_bps() / 8 * 4);
    assert!(got > 10_000 && got < most, "{got} bytes, at most {most}");
    assert!(is_seen_busy(&mut daemon));
    daemon.stop("test", false).expect("all is removed");
}

pub(crate) fn a_strangers_queue_is_put_back() {
    let _lab = Lab::new(3);
    told("tc", "qdisc add dev wan0 root handle 7: pfifo limit 77");
    let before = everything();
    let config = config(THREE);
    let subscribers = subscribers_of(&config);
    let kernel = Linux::new(&config).expect("the kernel");
    let refused = Daemon::new(now(), &config, subscribers, kernel, (None, false));
    let refused = refused.expect_err("another program's queue is there").to_string();
    assert!(refused.starts_with("wan0: another program's pfifo 7: is its root; --take-over"), "{refused}");
    let mut daemon = begun(&config, None, true);
    assert!(!told("tc", "qdisc show dev wan0").contains("pfifo"));
    daemon.stop("test", false).expect("all is put back");
    assert_eq!(everything(), before);
}

/// The operator's own settings, and those that a gateway replaces for a while, are restored exactly.
pub(crate) fn a_stop_leaves_nothing_of_a_gateway() {
    let lab = Lab::new(3);
    told("tc", "qdisc add dev wan0 root handle 7: pfifo limit 77");
    told("nft", "add table inet own");
    told("nft", "add chain inet own forward { type filter hook forward priority 5 ; }");
    told("nft", "add rule inet own forward oifname wan0 accept");
    told("nft", "add table ip evenair");
    let before = everything();
    let mut daemon = begun(&config(THREE), None, true);
    let flows = ["10.0.0.11", "10.0.0.13"].map(|address| lab.download(address));
    work(&mut daemon, Duration::from_secs(3));
    assert_ne!(everything(), before);
    daemon.stop("test", false).expect("all is put back");
    drop(flows);
    assert_eq!(everything(), before);
}

/// A kernel under a daemon that is killed after `left` changes.
#[derive(Debug)]
struct Cut {
    kernel: Linux,
    left: usize,
}

impl Kernel for Cut {
    fn apply(&mut self, changes: &[Change]) -> Result<(), Failure> {
        let now = self.left.min(changes.len());
        self.left -= now;
        self.kernel.apply(&changes[..now])?;
        if now < changes.len() { Err(Failure::new("test", "killed")) } else { Ok(()) }
    }

    fn find(&mut self) -> Result<AllFound, Failure> {
        self.kernel.find()
    }

    fn counters(&mut self, side: Side) -> Result<Readings, Failure> {
        self.kernel.counters(side)
    }

    fn backlogs(&mut self, side: Side, minors: &[u16]) -> Result<BTreeMap<u16, u64>, Failure> {
        self.kernel.backlogs(side, minors)
    }

    fn offered(&mut self) -> Result<Vec<Offered>, Failure> {
        self.kernel.offered()
    }

    fn neighbours(&mut self) -> Result<Vec<Neighbour>, Failure> {
        self.kernel.neighbours()
    }

    fn stamp(&mut self) -> Stamp {
        self.kernel.stamp()
    }

    fn take_notes(&mut self) -> Vec<String> {
        self.kernel.take_notes()
    }

    fn passed(&mut self, see: &mut dyn FnMut(&Passed)) -> Option<u64> {
        self.kernel.passed(see)
    }
}

/// Kills the daemon after each change of the first plan, with a foreign queue before the start.
pub(crate) fn daemon_killed_midway_is_followed() {
    let _lab = Lab::new(3);
    told("tc", "qdisc add dev wan0 root handle 7: pfifo limit 77");
    let before = everything();
    let config = config(THREE);
    let classes = || {
        let of = |device| {
            let text = told("tc", &format!("class show dev {device}"));
            let mut own: Vec<String> = text.lines().map(|line| line.split(' ').take(3).collect()).collect();
            own.retain(|class| class.starts_with("classhtb"));
            own.sort();
            own
        };
        (of("mesh0"), of("wan0"), told("nft", "list table inet evenair"))
    };
    let mut whole = begun(&config, None, true);
    let wanted = classes();
    whole.stop("test", false).expect("all is put back");
    let mut left = 0;
    loop {
        let subscribers = subscribers_of(&config);
        let kernel = Cut { kernel: Linux::new(&config).expect("the kernel"), left };
        let mut daemon = Daemon::new(now(), &config, subscribers, kernel, (None, true)).expect("devices");
        let kept = daemon.kept();
        let is_whole = daemon.begin(now()).is_ok();
        // The daemon is killed without a stop.
        drop(daemon);
        let mut next = begun(&config, Some(kept), true);
        assert_eq!(classes(), wanted, "after {left} changes");
        next.stop("test", false).expect("all is put back");
        assert_eq!(everything(), before, "after {left} changes");
        if is_whole {
            break;
        }
        left += 1;
    }
    println!("  killed after each of {left} changes");
    assert!(left > 20);
}

/// Epochs are long here. Without rules or tree, a subscriber gets the exempt rate at most.
pub(crate) fn what_leads_past_the_limits_waits_for_no_epoch() {
    let lab = Lab::new(3);
    let rest = THREE.replace("epoch = \"1 s\"", "epoch = \"60 s\"") + "[exempt]\nrate = \"20 Mbps\"\n";
    let mut daemon = begun(&config(&rest), None, false);
    work(&mut daemon, Duration::from_millis(500));
    daemon.take_happened();
    let flow = lab.download("10.0.0.11");
    for (program, arguments, most) in [
        ("nft", "flush ruleset", 20e6),
        ("nft", "flush chain inet evenair forward", 20e6),
        ("nft", "delete element inet evenair down4 { 10.0.0.11 }", 256e3),
        ("tc", "qdisc delete dev mesh0 root", f64::INFINITY),
    ] {
        work(&mut daemon, Duration::from_millis(1_500));
        told(program, arguments);
        let (then, begin) = (flow.bytes(), now());
        work(&mut daemon, Duration::from_millis(1_200));
        let bps = (flow.bytes() - then) as f64 * 8.0 / now().since(begin).as_secs_f64();
        println!("  {program} {arguments}: {:.2} Mb/s until it was mended", bps / 1e6);
        // Packets in queues and buckets come on top.
        assert!(bps < most + 1.5e6, "{bps}");
        let happened = daemon.take_happened();
        let is_mended = |what: &What| matches!(what, What::Event(Event::Mended(..)));
        assert!(happened.iter().any(is_mended), "{arguments}: {happened:?}");
        assert!(told("nft", "list map inet evenair down4").contains("10.0.0.11 : e7a1:10"));
        assert!(told("tc", "class show dev mesh0").contains("e7a1:10"));
    }
    daemon.stop("test", false).expect("all is removed");
}

pub(crate) fn device_may_be_renamed_and_its_name_reused() {
    let lab = Lab::new(3);
    let mut daemon = begun(&config(THREE), None, false);
    pass(&mut daemon, Duration::from_millis(1_200));
    daemon.take_happened();
    let rename = |from: &str, to: &str| {
        told("ip", &format!("link set {from} down"));
        told("ip", &format!("link set {from} name {to}"));
        told("ip", &format!("link set {to} up"));
    };
    rename("mesh0", "radio0");
    let says = |daemon: &mut Daemon<Linux>, words: &str| {
        let is_said = |what: &What| matches!(what, What::Event(Event::Trouble(why)) if why.contains(words));
        let mut happened = Vec::new();
        for _ in 0..25 {
            pass(daemon, Duration::from_millis(400));
            happened.extend(daemon.take_happened());
            if happened.iter().any(is_said) {
                return;
            }
        }
        panic!("{words} in {happened:?}");
    };
    says(&mut daemon, "mesh0 is called radio0 now, and keeps its limits");
    let ((_flow, got), took) = timed(|| {
        let flow = lab.download("10.0.0.11");
        work(&mut daemon, Duration::from_secs(3));
        let got = flow.bytes();
        (flow, got)
    });
    // The law gives a single subscriber no more than the total: 4 Mb/s. Without a limit it would be
    // gigabytes.
    let most = 4.5e6 / 8.0 * took.as_secs_f64();
    assert!(got > 10_000 && (got as f64) < most, "{got} bytes of {most:.0}");
    rename("radio0", "mesh0");
    work(&mut daemon, Duration::from_millis(300));
    assert!(told("tc", "class show dev mesh0").contains("e7a1:12"));
    // Between two samples.
    rename("mesh0", "old0");
    lab.join_mesh_by("mesh0", "eth1", 3);
    says(&mut daemon, "another device is mesh0 now; old0, which was, has the kernel's usual queue again");
    assert!(told("tc", "class show dev mesh0").contains("e7a1:12"));
    assert_eq!(told("tc", "class show dev old0"), "");
    daemon.stop("test", false).expect("all is removed");
    assert!(!told("tc", "qdisc show").contains("e7a1"));
}

/// Returns the subscriber with this number.
fn numbered(i: u32) -> (Place, Subscriber) {
    let prefix = address(i).to_string().parse().expect("an address");
    (Place::default(), Subscriber { prefixes: vec![prefix], ..Subscriber::new(format!("s{i}")) })
}

fn address(i: u32) -> Ipv4Addr {
    Ipv4Addr::from(0x0a01_0001 + i)
}

/// Only newcomers get classes. It takes a second and a half, and longer on a busy machine.
pub(crate) fn a_thousand_newcomers() {
    let lab = Lab::new(1);
    lab.widen();
    let config = config("eager = 10\n[law]\nlaw = \"pfrc\"\ncapacity_high = \"400 Mbps\"\n");
    let subscribers = Subscribers::new((0..2_000).map(numbered)).expect("subscribers");
    let mut daemon = begun_with(&config, subscribers, None, false);
    work(&mut daemon, Duration::from_millis(200));
    let before = told("tc", "class show dev mesh0").lines().count();
    lab.greet((0..1_000).map(address));
    let begin = now();
    while daemon.kept().memory.members.len() < 1_000 && now().since(begin) < Duration::from_secs(20) {
        work(&mut daemon, Duration::from_millis(100));
    }
    let (classes, members) = (told("tc", "class show dev wan0"), daemon.kept().memory.members.len());
    println!("  {members} have classes after {}, {before} lines before", now().since(begin));
    assert_eq!((members, classes.matches("class htb").count()), (1_000, 1_000 + 4));
    assert!(told("nft", "list map inet evenair up4").contains("10.1.3.232 : e7a1:"));
    let is_trouble = |what: &What| matches!(what, What::Event(Event::Trouble(_) | Event::Mended(..)));
    assert!(!daemon.take_happened().iter().any(is_trouble));
    daemon.stop("test", false).expect("all is removed");
}

pub(crate) fn spoofed_sources_fill_no_more_than_their_room() {
    let lab = Lab::new(3);
    lab.widen();
    let mut daemon = begun(&config(&format!("{THREE}[unknown]\naddresses = 100\n")), None, false);
    work(&mut daemon, Duration::from_millis(200));
    lab.greet((0..2_000).map(|i| Ipv4Addr::from(0xac10_0001 + i)));
    work(&mut daemon, Duration::from_millis(2_200));
    let set = told("nft", "list set inet evenair seen4");
    let counted = set.matches("172.16.").count();
    println!("  {counted} of 2000 are counted by the kernel");
    assert!((1..=100).contains(&counted), "{set}");
    assert_eq!(daemon.gateway().strangers().len(), 100);
    assert!(told("tc", "class show dev wan0").matches("class htb").count() < 10);
    // Packets of subscribers are classified and counted as before.
    let flow = lab.download("10.0.0.11");
    work(&mut daemon, Duration::from_millis(2_500));
    assert!(flow.bytes() > 10_000 && daemon.gateway().statuses()[0].rate_bps > Some(1e4));
    daemon.stop("test", false).expect("all is removed");
}

/// A host that answers on the link gets a class of its own, without any file.
pub(crate) fn neighbours_subscribe() {
    let lab = Lab::new(3);
    let config = config(&format!("neighbours = true\n{THREE}"));
    let mut daemon = begun(&config, None, false);
    lab.greet([Ipv4Addr::new(10, 0, 0, 12)].into_iter());
    // The gateway resolves the address as soon as it has a packet for it.
    let flow = lab.download("10.0.0.12");
    work(&mut daemon, Duration::from_millis(2_500));
    let map = told("nft", "list map inet evenair down4");
    assert!(map.contains("10.0.0.12 : e7a1:13"), "{map}");
    assert!(daemon.kept().memory.members.iter().any(|id| id.starts_with("mac-")), "{:?}", daemon.kept());
    assert!(flow.bytes() > 10_000);
    daemon.stop("test", false).expect("all is removed");
}
