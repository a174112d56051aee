//! Paths around the tree, which neither queues nor packet filter report.

use super::Linux;
use crate::config::{Bypass, Config, Forwarding};
use crate::kernel::Failure;
use crate::{Prefix, Side, Subscribers};
use evenair_linux::Rtnetlink;
use evenair_linux::link::Link;
use evenair_linux::nft::Family;
use evenair_linux::nft::steering::{Steering, Steers};
use evenair_linux::offload;
use evenair_linux::route::DefaultRoute;
use std::collections::BTreeMap;
use std::fmt;

/// Largest number of subscribers' routes that are looked up.
const WAYS: usize = 10_000;
/// Largest number of one kind that is named.
const NAMED: usize = 5;
/// The number of the main routing table.
const MAIN: u32 = 254;

/// A path around the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// Its kind, which the operator may list under `despite`.
    pub kind: Bypass,
    /// Its description and remedy.
    pub words: String,
}

impl Past {
    fn new(kind: Bypass, words: String) -> Self {
        Self { kind, words }
    }
}

impl fmt::Display for Past {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; if that is as it should be: despite = [\"{}\"]", self.words, self.kind.word())
    }
}

impl Linux {
    /// Returns the paths around the tree with their remedies, except for the kinds that the operator
    /// accepts.
    ///
    /// # Errors
    /// If a device is gone, or the kernel's state cannot be read.
    pub fn bypasses(&mut self, subscribers: &Subscribers) -> Result<Vec<Past>, Failure> {
        let ours = self.both_indices()?;
        let tables = self.filter.flowtables().unwrap_or_default();
        let mut past: Vec<Past> = tables.iter().map(|table| flowtable(&table.name)).collect();
        let links = self.netlink.links().map_err(|error| Failure::new("devices", error))?;
        past.extend(of_links(&links, ours, self.forwarding));
        for side in Side::ALL {
            let device = self.device(side);
            if offload::takes_flows(device).unwrap_or(false) {
                past.push(takes_flows(device));
            }
        }
        let names: BTreeMap<u32, &str> = links.iter().map(|link| (link.index, link.name.as_str())).collect();
        past.extend(self.steered(&names, ours));
        if self.forwarding == Forwarding::Routed {
            let routes = self.netlink.default_routes().map_err(|error| Failure::new("routes", error))?;
            past.extend(of_routes(&routes, &names, ours[Side::Up as usize]));
            past.extend(self.elsewhere(subscribers, &names, ours[Side::Down as usize]));
        }
        past.retain(|past| !self.despite.contains(&past.kind));
        Ok(past)
    }

    /// Returns faults of this machine that no configuration can fix, other than paths around the tree.
    ///
    /// # Errors
    /// If a device is gone.
    pub fn unfit(&mut self, subscribers: &Subscribers) -> Result<Vec<String>, Failure> {
        let [_, uplink] = self.both_indices()?;
        let prefixes = subscribers.iter().flat_map(|one| &one.prefixes).take(WAYS);
        let mut ways =
            prefixes.filter_map(|prefix| self.netlink.device_towards(within(*prefix)).ok()).peekable();
        let is_turned =
            self.forwarding == Forwarding::Routed && ways.peek().is_some() && ways.all(|way| way == uplink);
        let [mesh, uplink] = [Side::Down, Side::Up].map(|side| self.device(side).to_owned());
        let turned = format!(
            "mesh and uplink are the wrong way round: every subscriber is reached by {uplink}; write mesh = \"{uplink}\" and uplink = \"{mesh}\""
        );
        Ok(is_turned.then_some(turned).into_iter().collect())
    }

    /// Returns the reasons for which subscribers' packets would not be forwarded at all.
    pub fn unforwarded(&self, config: &Config, subscribers: &Subscribers) -> Vec<String> {
        if self.forwarding == Forwarding::Bridged {
            return Vec::new();
        }
        let listed = || subscribers.iter().flat_map(|one| &one.prefixes);
        let delegated = config.delegated.iter().map(|range| range.within);
        let has =
            |is_v6: bool| listed().copied().chain(delegated.clone()).any(|prefix| prefix.is_v6() == is_v6);
        // Neighbours on the mesh's own link have an IPv4 address.
        let has_v4 = has(false) || config.neighbours;
        let is_off = |key: &str| evenair_linux::sysctl::get(key).is_ok_and(|value| value == "0");
        let devices =
            [Side::Down, Side::Up].map(|side| format!("ipv4/conf/{}/forwarding", self.device(side)));
        // IPv6 has one setting for all devices, IPv4 one for the device that a packet comes by
        // (`ip-sysctl.rst`).
        let v4 = if is_off("ipv4/ip_forward") {
            Some("ipv4/ip_forward")
        } else {
            devices.iter().map(String::as_str).find(|key| is_off(key))
        };
        let v6 = Some("ipv6/conf/all/forwarding").filter(|key| is_off(key));
        let off = [(has_v4, "IPv4", v4), (has(true), "IPv6", v6)];
        let words = off.into_iter().filter_map(|(has, version, key)| Some((version, key.filter(|_| has)?)));
        let switch = |key: &str| {
            // A device's name may have a dot of its own; then sysctl(8) needs the other form.
            if key.contains('.') { format!("net/{key}") } else { format!("net.{}", key.replace('/', ".")) }
        };
        let say = |(version, key): (&str, &str)| {
            format!(
                "{version} is not forwarded, so that subscribers have none: sysctl -w {}=1, and in /etc/sysctl.d for the next boot",
                switch(key)
            )
        };
        words.map(say).collect()
    }

    /// Returns foreign rules that divert packets, before or after the gateway's own.
    fn steered(&mut self, names: &BTreeMap<u32, &str>, ours: [u32; 2]) -> Vec<Past> {
        let rules = self.filter.steering().unwrap_or_default();
        let own = self.table.clone();
        let is_here = |steers: Steers, netlink: &mut Rtnetlink| match steers {
            Steers::Here => true,
            // A local address is routed to the loopback device.
            Steers::To(address) => {
                netlink.device_towards(address).is_ok_and(|device| names.get(&device) == Some(&"lo"))
            }
            Steers::Priority => false,
        };
        let mut past = Vec::new();
        let sees = tables_that_see(self.forwarding);
        for rule in rules.iter().filter(|rule| rule.table != own && sees(rule.table.family)) {
            if rule.what == Steers::Priority && sets_after_us(rule, names, ours) {
                past.push(sets_priority(rule));
            } else if self.forwarding == Forwarding::Routed
                && is_of_subscribers(rule, names, ours, &self.exempt.ports)
                && is_here(rule.what, &mut self.netlink)
            {
                past.push(leads_here(rule));
            }
        }
        past.dedup();
        past
    }

    /// Returns subscribers that are reached through another device than the mesh's.
    fn elsewhere(&mut self, all: &Subscribers, names: &BTreeMap<u32, &str>, mesh: u32) -> Vec<Past> {
        let mut past = Vec::new();
        let mut more = 0;
        let prefixes =
            all.iter().flat_map(|one| one.prefixes.iter().map(move |prefix| (one.called(), *prefix)));
        for (name, prefix) in prefixes.take(WAYS) {
            // An address without a route may get one later.
            let Ok(device) = self.netlink.device_towards(within(prefix)) else { continue };
            if device == mesh {
                continue;
            }
            if past.len() == NAMED {
                more += 1;
                continue;
            }
            let device = names.get(&device).copied().unwrap_or("another device");
            let words = format!(
                "{name}'s {prefix} is reached by {device}, beside the mesh's tree: one gateway has one device towards the mesh (ip route get {})",
                within(prefix)
            );
            past.push(Past::new(Bypass::Tunnels, words));
        }
        if more > 0 {
            past.push(Past::new(Bypass::Tunnels, format!("so are {more} other prefixes of subscribers")));
        }
        past
    }
}

/// Checks the devices against the kind of forwarding: bridged ones must be ports of one bridge, routed
/// ones of none. Otherwise no packet would be classified.
pub(super) fn ports(
    netlink: &mut Rtnetlink,
    devices: [&str; 2],
    forwarding: Forwarding,
) -> Result<(), Failure> {
    let links = netlink.links().map_err(|error| Failure::new("devices", error))?;
    let bridge = |device: &&str| {
        let master = links.iter().find(|link| link.name == **device)?.master?;
        links.iter().find(|link| link.index == master && link.kind == "bridge")
    };
    match (forwarding, devices.each_ref().map(bridge)) {
        (Forwarding::Routed, [None, None]) => Ok(()),
        (Forwarding::Routed, found) => {
            let first = devices.into_iter().zip(found).find_map(|(device, bridge)| Some((device, bridge?)));
            let Some((device, bridge)) = first else { return Ok(()) };
            let why = format!(
                "a port of {0}: name {0} in its place, if packets are routed there; forwarding = \"bridged\", if both devices are its ports",
                bridge.name
            );
            Err(Failure::new(device, why))
        }
        (Forwarding::Bridged, [Some(one), Some(other)]) if one == other => Ok(()),
        (Forwarding::Bridged, _) => {
            let [mesh, uplink] = devices;
            let why = format!(
                "{mesh} and {uplink} are not ports of one bridge, see: ip link set {mesh} master BRIDGE; if packets are routed between them, leave the key out"
            );
            Err(Failure::new("forwarding = \"bridged\"", why))
        }
    }
}

/// Returns an address of a prefix that a host may have: the first is the network's, or every router's.
fn within(prefix: Prefix) -> std::net::IpAddr {
    if prefix.is_host() { prefix.address() } else { prefix.last() }
}

fn flowtable(table: &str) -> Past {
    let words = format!(
        "the flowtable of nftables' table {table} passes packets by the forward hook: delete it; on OpenWrt: uci set firewall.@defaults[0].flow_offloading=0"
    );
    Past::new(Bypass::Flowtables, words)
}

/// `NF_INET_PRE_ROUTING`, `NF_INET_FORWARD`, `NF_INET_POST_ROUTING`; bridges' have the same numbers
/// (`NF_BR_…`).
const PREROUTING: u32 = 0;
const FORWARD: u32 = 2;
const POSTROUTING: u32 = 4;
/// `NFPROTO_NETDEV`, and `NF_NETDEV_EGRESS` there.
const NETDEV: u8 = 5;
const EGRESS: u32 = 1;

/// Returns whether tables of a family see forwarded packets. Bridged packets pass tables of the bridge
/// family, and IP tables if `br_netfilter` passes them on.
fn tables_that_see(forwarding: Forwarding) -> impl Fn(Family) -> bool {
    let hands_over =
        evenair_linux::sysctl::get("bridge/bridge-nf-call-iptables").is_ok_and(|value| value == "1");
    let is_bridged = forwarding == Forwarding::Bridged;
    move |family| match family {
        Family::Bridge => is_bridged,
        Family::Other(NETDEV) => true,
        Family::Inet | Family::Other(_) => !is_bridged || hands_over,
    }
}

/// Returns whether a rule changes the priority of packets that leave by one of the devices, after the
/// gateway's own rules.
fn sets_after_us(rule: &Steering, names: &BTreeMap<u32, &str>, ours: [u32; 2]) -> bool {
    let is_ours = rule
        .out
        .as_ref()
        .is_none_or(|out| ours.iter().any(|own| out.is(*own, names.get(own).copied().unwrap_or_default())));
    let is_netdev = rule.table.family == Family::Other(NETDEV);
    let is_after = rule.when.iter().any(|when| match when.hook {
        EGRESS => is_netdev,
        // At the same priority chains run in the order of their creation.
        FORWARD => !is_netdev && when.priority >= 0,
        POSTROUTING => !is_netdev,
        _ => false,
    });
    is_ours && is_after
}

/// Returns whether a rule may redirect subscribers' connections before routing, except for exempt
/// ports.
fn is_of_subscribers(rule: &Steering, names: &BTreeMap<u32, &str>, ours: [u32; 2], exempt: &[u16]) -> bool {
    let mesh = ours[Side::Down as usize];
    let is_from_mesh =
        rule.from.as_ref().is_none_or(|from| from.is(mesh, names.get(&mesh).copied().unwrap_or_default()));
    let is_exempt = rule.port.is_some_and(|port| exempt.contains(&port));
    rule.when.iter().any(|when| when.hook == PREROUTING) && is_from_mesh && !is_exempt
}

fn sets_priority(rule: &Steering) -> Past {
    let (table, chain) = (&rule.table.name, &rule.chain);
    let words = format!(
        "a rule in chain {chain} of nftables' table {table} sets priorities behind the gateway's own rules, so that packets leave their classes: \
        delete it, or let it match other devices (oifname); nft list chain {} {table} {chain}",
        family(rule.table.family)
    );
    Past::new(Bypass::Priorities, words)
}

fn leads_here(rule: &Steering) -> Past {
    let (table, chain) = (&rule.table.name, &rule.chain);
    let words = format!(
        "a rule in chain {chain} of nftables' table {table} leads subscribers' connections to a program on this machine: the data that it takes from the Internet and gives \
    them are in no subscriber's class; delete it; nft list chain {} {table} {chain}",
        family(rule.table.family)
    );
    Past::new(Bypass::Proxies, words)
}

/// Returns the family's name in `nft`.
const fn family(family: Family) -> &'static str {
    match family {
        Family::Inet => "inet",
        Family::Bridge => "bridge",
        Family::Other(2) => "ip",
        Family::Other(10) => "ip6",
        Family::Other(NETDEV) => "netdev",
        Family::Other(_) => "FAMILY",
    }
}

fn takes_flows(device: &str) -> Past {
    let words = format!(
        "{device} may carry out flows by itself, beside the kernel's queues: ethtool -K {device} hw-tc-offload off"
    );
    Past::new(Bypass::Offload, words)
}

/// Returns the paths around the tree that the devices open.
fn of_links(links: &[Link], ours: [u32; 2], forwarding: Forwarding) -> Vec<Past> {
    let mut past = Vec::new();
    let own: Vec<&Link> =
        ours.iter().filter_map(|own| links.iter().find(|link| link.index == *own)).collect();
    for link in &own {
        if link.has_program {
            let words = format!(
                "a program takes {}'s packets before the kernel does (XDP): ip link set {0} xdp off",
                link.name
            );
            past.push(Past::new(Bypass::Programs, words));
        }
    }
    if let [mesh, uplink] = own[..]
        && forwarding == Forwarding::Bridged
        && mesh.switch.is_some()
        && mesh.switch == uplink.switch
    {
        let words = format!(
            "{} and {} are ports of one switch, which passes frames on by itself: one of them must be on a device of its own",
            mesh.name, uplink.name
        );
        past.push(Past::new(Bypass::Offload, words));
    }
    let ppp = links.iter().filter(|link| link.is_ppp && link.is_up && !ours.contains(&link.index));
    let ppp: Vec<&str> = ppp.map(|link| link.name.as_str()).collect();
    if !ppp.is_empty() {
        let named = ppp.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        let words = format!(
            "{} lines of ppp beside the two devices ({named}): a subscriber behind one is not in the mesh's tree",
            ppp.len()
        );
        past.push(Past::new(Bypass::Tunnels, words));
    }
    past
}

/// Returns default routes beside the uplink.
fn of_routes(routes: &[DefaultRoute], names: &BTreeMap<u32, &str>, uplink: u32) -> Vec<Past> {
    let others = routes.iter().filter(|route| route.device != uplink);
    let words = others.map(|route| {
        let device = names.get(&route.device).copied().unwrap_or("a device that is gone");
        let (family, version) = if route.is_v6 { ("-6 ", "IPv6") } else { ("", "IPv4") };
        let table = if route.table == MAIN { String::new() } else { format!(" table {}", route.table) };
        let words = format!(
            "a default route of {version} leaves by {device}: packets there are in no tree (ip {family}route show default{table})"
        );
        Past::new(Bypass::Routes, words)
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_units::Bytes;

    fn link(index: u32, name: &str) -> Link {
        Link {
            index,
            name: name.into(),
            is_up: true,
            is_running: true,
            kind: String::new(),
            master: None,
            is_ppp: false,
            has_program: false,
            switch: None,
            mtu: Bytes::new(1500),
            segments: None,
        }
    }

    #[test]
    fn bypasses_of_tree_are_named() {
        let of = |links: &[Link], forwarding| -> Vec<String> {
            of_links(links, [1, 2], forwarding).iter().map(ToString::to_string).collect()
        };
        let usual = [link(1, "mesh0"), link(2, "wan0"), link(3, "eth2")];
        assert_eq!(of(&usual, Forwarding::Routed), [""; 0]);
        let mut ppp = usual.clone();
        (ppp[1].is_ppp, ppp[2].is_ppp) = (true, true);
        let told = of(&ppp, Forwarding::Routed);
        assert_eq!(told.len(), 1, "the uplink itself may be one: {told:?}");
        assert!(told[0].starts_with("1 lines of ppp beside the two devices (eth2)"), "{told:?}");
        assert!(told[0].ends_with("despite = [\"tunnels\"]"));
        let mut switch = usual.clone();
        (switch[0].switch, switch[1].switch) = (Some(vec![7]), Some(vec![7]));
        assert_eq!(of(&switch, Forwarding::Routed), [""; 0]);
        assert!(of(&switch, Forwarding::Bridged)[0].contains("ports of one switch"));
        let mut program = usual;
        program[0].has_program = true;
        assert!(of(&program, Forwarding::Routed)[0].contains("ip link set mesh0 xdp off"));
    }

    #[test]
    fn other_ways_to_the_internet_are_named() {
        let names = [(2, "wan0"), (3, "lte0")].into();
        let route = |device, is_v6, table| DefaultRoute { device, is_v6, table };
        let told = of_routes(&[route(2, false, MAIN), route(3, true, MAIN), route(3, false, 7)], &names, 2);
        let told: Vec<&str> = told.iter().map(|past| past.words.as_str()).collect();
        assert_eq!(told.len(), 2);
        assert!(
            told[0]
                .ends_with("of IPv6 leaves by lte0: packets there are in no tree (ip -6 route show default)")
        );
        assert!(told[1].ends_with("(ip route show default table 7)"));
    }
}
