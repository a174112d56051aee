//! Bridges, VLANs, other leaves, and paths around the tree. Features that this kernel lacks are tested
//! on a stock one (`cargo xtask foreign`).

use crate::THREE;
use crate::lab::{
    BridgeLab, Lab, assert_fills, begun, config, everything, given_and_got, is_seen_busy, subscribers_of,
    told, work,
};
use evenair_gateway::config::{Config, Forwarding, Leaf};
use evenair_gateway::record::{Event, What};
use evenair_gateway::{Daemon, Linux};
use evenair_linux::Rtnetlink;
use evenair_needs::skip;
use evenair_units::Duration;

/// Returns whether the kernel has a queueing discipline; if not, marks the test as skipped.
fn has(kind: &'static str) -> bool {
    let has = Rtnetlink::new().expect("netlink").has_discipline(kind).expect("the kernel answers");
    if !has {
        skip(if kind == "cake" { "CAKE" } else { kind }, "this kernel has none");
    }
    has
}

/// Returns the installed state after the kernel has registered the devices as up, which takes a second.
fn settled() -> String {
    std::thread::sleep(std::time::Duration::from_millis(1_200));
    everything()
}

/// Returns the queues and the packet filter: for a bridge, `ip` also prints timers.
fn queues_and_tables() -> String {
    told("tc", "qdisc show") + &told("nft", "list ruleset")
}

fn past(config: &Config) -> Vec<String> {
    let subscribers = subscribers_of(config);
    let past = Linux::new(config).expect("the kernel").bypasses(&subscribers).expect("the kernel tells");
    past.iter().map(ToString::to_string).collect()
}

fn troubles(daemon: &mut Daemon<Linux>) -> Vec<What> {
    let is_trouble = |what: &What| matches!(what, What::Event(Event::Trouble(_) | Event::Mended(..)));
    daemon.take_happened().into_iter().filter(is_trouble).collect()
}

/// A subscriber behind a port has the law's rate, over both families; then the bridge is restored.
pub(crate) fn bridged_subscribers_have_their_shares() {
    let lab = BridgeLab::new();
    let before = queues_and_tables();
    let two = "[law]\nlaw = \"pfrc\"\nepoch = \"1 s\"\ncapacity_high = \"4 Mbps\"\n[[subscriber]]\nid = \"s1\"\n\
        prefixes = [\"10.0.0.11\"]\n[[subscriber]]\nid = \"s2\"\nprefixes = [\"fd00::11\"]\n";
    let routed = config(two);
    let refused = Linux::new(&routed).expect_err("they are ports").to_string();
    assert!(refused.starts_with("mesh0: a port of br0: "), "{refused}");
    let bridged = config(&format!("forwarding = \"bridged\"\n{two}"));
    assert_eq!(bridged.forwarding, Forwarding::Bridged);
    assert_eq!(past(&bridged), [""; 0]);
    let mut daemon = begun(&bridged, None, false);
    assert!(told("nft", "list tables").contains("table bridge evenair"));
    let _flows = ["10.0.0.11", "fd00::11"].map(|to| lab.download(to));
    work(&mut daemon, Duration::from_secs(12));
    let sums = given_and_got(&mut daemon, "mesh0", 2, 10);
    println!("  given and got in 10 s: {sums:.0?}");
    sums.iter().for_each(assert_fills);
    assert!(is_seen_busy(&mut daemon), "packets are seen at a port");
    assert_eq!(troubles(&mut daemon), []);
    daemon.stop("test", false).expect("all is removed");
    assert_eq!(queues_and_tables(), before);
    // Devices that are no ports belong to no bridge.
    told("ip", "link set mesh0 nomaster");
    let refused = Linux::new(&bridged).expect_err("no port").to_string();
    assert!(
        refused.contains("forwarding = \"bridged\"") && refused.contains("ip link set mesh0 master"),
        "{refused}"
    );
}

/// Routes beside the uplink and subscribers behind other devices are named; without any, nothing is.
pub(crate) fn what_leads_past_the_tree_is_named() {
    let _lab = Lab::new(3);
    let of_three = config(THREE);
    assert_eq!(past(&of_three), [""; 0]);
    told("ip", "route add default via 192.0.2.2");
    assert_eq!(past(&of_three), [""; 0], "the uplink's own");
    told("ip", "link add lte0 type veth peer name lte1");
    told("ip", "address add 198.51.100.1/24 dev lte0");
    told("ip", "link set lte0 up");
    told("ip", "link set lte1 up");
    told("ip", "route add default via 198.51.100.2 metric 100");
    told("ip", "route add default table 7 nexthop via 192.0.2.2 nexthop via 198.51.100.2");
    told("ip", "route add 10.0.0.13/32 dev lte0");
    let named = past(&of_three);
    assert_eq!(named.len(), 3, "{named:#?}");
    assert!(named[..2].iter().all(|way| way.starts_with("a default route of IPv4 leaves by lte0: ")));
    assert!(named[0].contains("(ip route show default table 7)"), "{named:#?}");
    assert!(named[2].starts_with("s3's 10.0.0.13 is reached by lte0"), "{named:#?}");
    let known = config(&format!("despite = [\"routes\", \"tunnels\"]\n{THREE}"));
    assert_eq!(past(&known), [""; 0]);
}

/// A flowtable forwards connections around the hook that classifies packets.
pub(crate) fn flowtables_are_named() {
    let _lab = Lab::new(3);
    let make = "add table inet fast; add flowtable inet fast f { hook ingress priority 0; devices = { mesh0, wan0 }; }";
    let run = std::process::Command::new("/usr/sbin/nft").arg(make).output().expect("nft");
    if !run.status.success() {
        return skip("flowtables", String::from_utf8_lossy(&run.stderr));
    }
    let named = past(&config(THREE));
    assert_eq!(named.len(), 1, "{named:?}");
    assert!(named[0].starts_with("the flowtable of nftables' table fast passes packets by"), "{named:?}");
    assert!(named[0].ends_with("despite = [\"flowtables\"]"), "{named:?}");
}

/// `tc` shows each kind of queue. It holds the law's rate, counts its drops, is read as it was set, and
/// replaces another kind.
pub(crate) fn leaves_are_what_the_file_says() {
    let lab = Lab::new(3);
    for (leaf, kind) in [(Leaf::Fifo, "tbf"), (Leaf::FqCodel, "fq_codel"), (Leaf::Cake, "cake")] {
        if !has(kind) {
            let of_kind = config(&format!("leaf = \"{}\"\n{THREE}", leaf.word()));
            let refused = Linux::new(&of_kind).err().map(|failure| failure.to_string());
            assert_eq!(refused.is_some_and(|why| why.contains("leaf = \"auto\"")), leaf != Leaf::Fifo);
            continue;
        }
        let before = settled();
        // Queues of another kind that an earlier daemon left are replaced.
        let left = begun(&config(THREE), None, false).kept();
        let of_kind = config(&format!("leaf = \"{}\"\n{THREE}", leaf.word()));
        let mut daemon = begun(&of_kind, Some(left), false);
        let shown = told("tc", "qdisc show dev mesh0");
        let own = shown.lines().find(|line| line.contains("parent e7a1:10 ")).expect("a line");
        assert!(own.starts_with(&format!("qdisc {kind} ")), "{shown}");
        daemon.take_happened();
        let flow = lab.download("10.0.0.11");
        // TCP that started in so short a queue reaches its rate after some fifteen seconds.
        work(&mut daemon, Duration::from_secs(16));
        let sums = given_and_got(&mut daemon, "mesh0", 1, 4);
        println!("  {kind}: given and got {sums:.0?}; {own}");
        assert_fills(&sums[0]);
        let happened = daemon.take_happened();
        let dropped: u64 = happened.iter().map(crate::dropped).sum();
        assert!(dropped > 0, "TCP finds its rate by what is dropped");
        let is_change = |what: &What| matches!(what, What::Event(Event::Mended(..) | Event::Trouble(_)));
        assert!(!happened.iter().any(is_change), "what was set is what is read: {happened:?}");
        drop(flow);
        daemon.stop("test", false).expect("all is removed");
        assert_eq!(everything(), before);
    }
}

/// A VLAN device towards the mesh works like any other.
pub(crate) fn vlans_are_devices_as_others() {
    let lab = Lab::new(3);
    let made = std::process::Command::new("/sbin/ip")
        .args("link add link mesh0 name mesh0.7 type vlan id 7".split_whitespace())
        .output();
    if !made.expect("ip").status.success() {
        return skip("VLANs", "this kernel has none");
    }
    lab.tag(7);
    let text = THREE.replace("10.0.0.11", "10.7.0.2");
    let mut tagged = config(&text);
    tagged.mesh = "mesh0.7".into();
    let before = settled();
    let mut daemon = begun(&tagged, None, false);
    let _flow = lab.download("10.7.0.2");
    work(&mut daemon, Duration::from_secs(4));
    assert_fills(&given_and_got(&mut daemon, "mesh0.7", 1, 4)[0]);
    assert_eq!(troubles(&mut daemon), []);
    daemon.stop("test", false).expect("all is removed");
    assert_eq!(everything(), before);
}
