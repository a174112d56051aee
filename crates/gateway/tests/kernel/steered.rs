//! Foreign rules that divert packets, swapped devices, and a machine that does not forward.

use crate::THREE;
use crate::lab::{Lab, begun, config, subscribers_of, told, work};
use evenair_gateway::config::Config;
use evenair_gateway::record::{Event, What};
use evenair_gateway::status::Standing;
use evenair_gateway::{Daemon, Linux};
use evenair_units::Duration;

fn past(config: &Config) -> Vec<String> {
    let subscribers = subscribers_of(config);
    let past = Linux::new(config).expect("the kernel").bypasses(&subscribers).expect("the kernel tells");
    past.iter().map(ToString::to_string).collect()
}

/// Makes a foreign table.
fn table(text: &str) {
    let done = std::process::Command::new("/usr/sbin/nft").arg(text).output().expect("nft");
    assert!(done.status.success(), "{text}: {}", String::from_utf8_lossy(&done.stderr));
}

fn chain(family: &str, hook: &str, rule: &str) {
    table(&format!(
        "add table {family} qos; add chain {family} qos c {{ {hook} }}; add rule {family} qos c {rule}"
    ));
}

/// Each rule that sets priorities after the gateway's is named, and no other.
pub(crate) fn rules_that_set_priorities_are_named() {
    let _lab = Lab::new(3);
    let of_three = config(THREE);
    let named = |family: &str, hook: &str, rule: &str| {
        chain(family, hook, rule);
        let named = past(&of_three);
        table(&format!("delete table {family} qos"));
        assert!(
            named.iter().all(|words| words.contains("chain c of nftables' table qos sets priorities")),
            "{named:?}"
        );
        assert!(named.iter().all(|words| words.ends_with("despite = [\"priorities\"]")), "{named:?}");
        named.len()
    };
    let postrouting = "type filter hook postrouting priority filter;";
    let forward = |priority: i32| format!("type filter hook forward priority {priority};");
    let sets = "meta priority set ip dscp map { cs0 : 1:13, cs1 : 1:15, ef : 1:11 }";
    assert_eq!(named("inet", postrouting, sets), 1, "as QoSmate has it");
    assert_eq!(named("ip", postrouting, "meta priority set 1:13"), 1);
    assert_eq!(named("inet", &forward(0), "ip dscp ef meta priority set 1:11"), 1);
    assert_eq!(named("inet", postrouting, "oifname \"mesh0\" meta priority set 1:11"), 1);
    // The gateway's own rules come later, or the packets do not pass the gateway.
    assert_eq!(named("inet", &forward(-1), sets), 0);
    assert_eq!(named("inet", "type filter hook output priority 0;", "meta priority set 1:11"), 0);
    assert_eq!(named("inet", postrouting, "oifname \"lte0\" meta priority set 1:11"), 0);
    assert_eq!(named("inet", postrouting, "meta priority 1:11 accept"), 0);
    // A chain that others jump to.
    table("add table inet qos; add chain inet qos c; add rule inet qos c meta priority set 1:11");
    table("add chain inet qos p { type filter hook postrouting priority 0; }; add rule inet qos p jump c");
    assert_eq!(past(&of_three).len(), 1);
    assert_eq!(past(&config(&format!("despite = [\"priorities\"]\n{THREE}"))), [""; 0]);
}

/// Connections that end at a program on this machine are in no class, except for exempt ones.
pub(crate) fn local_proxies_are_named() {
    let _lab = Lab::new(3);
    let of_three = config(THREE);
    let named = |rule: &str| {
        chain("ip", "type nat hook prerouting priority dstnat;", rule);
        let named = past(&of_three);
        table("delete table ip qos");
        assert!(named.iter().all(|words| words.contains("to a program on this machine")), "{named:?}");
        named.len()
    };
    assert_eq!(named("iifname \"mesh0\" tcp dport 80 redirect to :3128"), 1);
    assert_eq!(named("tcp dport { 80, 8080 } redirect to :3128"), 1);
    assert_eq!(named("tcp dport 80 dnat to 10.0.0.1:3128"), 1, "an address of the gateway's own");
    assert_eq!(named("udp dport 53 redirect to :5353"), 0, "DNS is exempt");
    assert_eq!(named("iifname \"wan0\" tcp dport 80 redirect to :3128"), 0, "from the Internet");
    assert_eq!(named("iifname \"wan0\" tcp dport 80 dnat to 10.0.0.11"), 0, "a subscriber's own server");
}

/// Swapped devices are reported, and nothing else.
pub(crate) fn turned_devices_are_named() {
    let _lab = Lab::new(3);
    let right = config(THREE);
    let unfit = |config: &Config| {
        Linux::new(config).expect("the kernel").unfit(&subscribers_of(config)).expect("the kernel tells")
    };
    assert_eq!(unfit(&right), [""; 0]);
    let mut turned = right.clone();
    std::mem::swap(&mut turned.mesh, &mut turned.uplink);
    let said = unfit(&turned);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("mesh and uplink are the wrong way round"), "{said:?}");
    assert!(said[0].ends_with("write mesh = \"mesh0\" and uplink = \"wan0\""), "{said:?}");
}

/// A machine that does not forward, by family and by device.
pub(crate) fn what_is_not_forwarded_is_named() {
    let _lab = Lab::new(3);
    let of_three = config(THREE);
    let said = |config: &Config| {
        Linux::new(config).expect("the kernel").unforwarded(config, &subscribers_of(config))
    };
    let set = |key: &str, value: &str| evenair_linux::sysctl::set(key, value).expect("a switch");
    set("ipv4/ip_forward", "1");
    set("ipv6/conf/all/forwarding", "1");
    assert_eq!(said(&of_three), [""; 0]);
    set("ipv6/conf/all/forwarding", "0");
    let v6 = said(&of_three);
    assert!(v6.len() == 1 && v6[0].contains("sysctl -w net.ipv6.conf.all.forwarding=1"), "{v6:?}");
    let of_v4 = config(&THREE.replace("fd00:0:2::/56", "10.0.0.12").replace(", \"fd00:0:3::/56\"", ""));
    assert_eq!(said(&of_v4), [""; 0], "nobody has IPv6");
    let delegated = config("[[delegated]]\nwithin = \"fd00::/16\"\nlength = 56\n");
    assert_eq!(said(&delegated).len(), 1, "those who come have IPv6");
    set("ipv4/conf/mesh0/forwarding", "0");
    let device = said(&of_v4);
    assert!(device.len() == 1 && device[0].contains("net.ipv4.conf.mesh0.forwarding=1"), "{device:?}");
    set("ipv4/ip_forward", "0");
    let v4 = said(&of_v4);
    assert!(v4.len() == 1 && v4[0].contains("sysctl -w net.ipv4.ip_forward=1"), "{v4:?}");
}

fn happened(daemon: &mut Daemon<Linux>) -> Vec<Event> {
    let event = |what| if let What::Event(event) = what { Some(event) } else { None };
    daemon.take_happened().into_iter().filter_map(event).collect()
}

/// A map from DSCP to priority, added while the gateway runs, and a rule that leads past all classes.
/// The packets that the packet filter counts by address do not reach their classes. All is as before
/// once the rule is deleted.
pub(crate) fn what_another_rule_leads_away_is_seen() {
    let lab = Lab::new(3);
    let mut daemon = begun(&config(THREE), None, false);
    let _flow = lab.download("10.0.0.11");
    work(&mut daemon, Duration::from_secs(4));
    assert!(happened(&mut daemon).iter().all(|event| !matches!(event, Event::Diverted(_))));
    for sets in ["meta priority set ip dscp map { cs0 : 1:13, ef : 1:11 }", "meta priority set e7a1:0"] {
        chain("inet", "type filter hook postrouting priority filter;", sets);
        work(&mut daemon, Duration::from_secs(4));
        let seen = happened(&mut daemon);
        assert!(seen.contains(&Event::Diverted(vec!["s1".into()])), "{sets}: {seen:?}");
        assert!(!seen.contains(&Event::Opened), "{sets}: the limits stay: {seen:?}");
        let standings: Vec<_> = daemon.gateway().statuses().iter().map(|class| class.standing).collect();
        assert_eq!(standings[..2], [Standing::Diverted; 2], "{sets}");
        table("delete table inet qos");
        work(&mut daemon, Duration::from_secs(4));
        assert!(happened(&mut daemon).contains(&Event::NotDiverted), "{sets}");
        assert_ne!(daemon.gateway().statuses()[0].standing, Standing::Diverted, "{sets}");
    }
    daemon.stop("test", false).expect("all is removed");
    assert!(!told("nft", "list tables").contains("evenair"));
}
