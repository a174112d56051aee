//! Prints plans as equivalent lines of `tc`, `nft` and `ethtool`, for people to read and to check.

use super::Change;
use crate::Config;
use crate::config::{Forwarding, Leaf};
use crate::kernel::{Offloads, Root};
use crate::linux::leaf::{FLOWS, MEMORY};
use crate::tree::{Class, EXEMPT, MAJOR};
use crate::{Prefix, Side};

/// The names that the lines use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names<'a> {
    /// The device towards the mesh.
    pub mesh: &'a str,
    /// The device towards the Internet.
    pub uplink: &'a str,
    /// The table of the packet filter, with its family.
    pub table: &'static str,
    /// The queueing discipline of a class.
    pub leaf: Leaf,
}

impl<'a> Names<'a> {
    /// Returns the names of a configuration.
    pub const fn of(config: &'a Config) -> Self {
        let table = match config.forwarding {
            Forwarding::Routed => "inet evenair",
            Forwarding::Bridged => "bridge evenair",
        };
        Self { mesh: config.mesh.as_str(), uplink: config.uplink.as_str(), table, leaf: config.leaf }
    }

    const fn device(&self, side: Side) -> &str {
        match side {
            Side::Down => self.mesh,
            Side::Up => self.uplink,
        }
    }
}

impl Change {
    /// Returns the equivalent lines.
    pub fn lines(&self, names: &Names<'_>) -> Vec<String> {
        let device = |side: Side| names.device(side);
        match self {
            Self::SetOffloads(side, offloads) => set_offloads(device(*side), offloads),
            Self::AddRoot(side) => {
                vec![format!(
                    "tc qdisc replace dev {} root handle {MAJOR:x}: htb default {EXEMPT:x}",
                    device(*side)
                )]
            }
            Self::AddClass(side, minor, class) => add_class(names, *side, (*minor, class), "add"),
            Self::ChangeClass(side, minor, class) => add_class(names, *side, (*minor, class), "change"),
            Self::DeleteClass(side, minor) => {
                vec![format!("tc class del dev {} classid {MAJOR:x}:{minor:x}", device(*side))]
            }
            Self::AddTable => {
                vec![format!("nft add table {} # with its chains, sets and maps", names.table)]
            }
            Self::SetRules => vec![format!(
                "nft flush chain {} forward # and in the same transaction, its rules",
                names.table
            )],
            Self::DeleteTable => vec![format!("nft delete table {}", names.table)],
            Self::AddEntry(side, prefix, minor) => vec![element(names, "add", *side, *prefix, Some(*minor))],
            Self::DeleteEntry(side, prefix, _) => vec![element(names, "delete", *side, *prefix, None)],
            Self::ChangeEntry(side, prefix, _, minor) => vec![
                element(names, "delete", *side, *prefix, None) + " # and in the same transaction",
                element(names, "add", *side, *prefix, Some(*minor)),
            ],
            Self::DeleteRoot(side, before) => delete_root(device(*side), before),
        }
    }
}

fn set_offloads(device: &str, offloads: &Offloads) -> Vec<String> {
    let word =
        |(feature, is_on): (&String, &bool)| format!(" {feature} {}", if *is_on { "on" } else { "off" });
    vec![format!("ethtool -K {device}{}", offloads.0.iter().map(word).collect::<String>())]
}

fn add_class(names: &Names<'_>, side: Side, (minor, class): (u16, &Class), verb: &str) -> Vec<String> {
    let device = names.device(side);
    let Class { parent, rate, ceiling, quantum, burst, line, priority } = *class;
    let parent = if parent == 0 { String::new() } else { format!("{parent:x}") };
    let mut lines = vec![format!(
        "tc class {verb} dev {device} parent {MAJOR:x}:{parent} classid {MAJOR:x}:{minor:x} htb rate {}bit ceil {}bit \
        burst {burst}b cburst {burst}b quantum {quantum} prio {priority}",
        rate.as_bps(),
        ceiling.as_bps()
    )];
    lines.extend(line.map(|line| {
        let verb = if verb == "add" { "add" } else { "replace" };
        let memory = line.saturating_mul(MEMORY);
        let flows = if verb == "add" { format!(" flows {FLOWS}") } else { String::new() };
        let leaf = match names.leaf {
            Leaf::Fifo => format!("tbf rate 1tbit burst 1536b limit {line}b"),
            Leaf::FqCodel => format!("fq_codel{flows} memory_limit {memory}b"),
            Leaf::Cake => format!("cake unlimited besteffort split-gso memlimit {memory}b"),
            Leaf::Auto => {
                format!("fq_codel flows {FLOWS} memory_limit {memory}b # or tbf, where the kernel has none")
            }
        };
        format!("tc qdisc {verb} dev {device} parent {MAJOR:x}:{minor:x} {leaf}")
    }));
    lines
}

fn element(names: &Names<'_>, verb: &str, side: Side, prefix: Prefix, minor: Option<u16>) -> String {
    let map = format!("{side}{}", if prefix.is_v6() { 6 } else { 4 });
    let to = minor.map(|minor| format!(" : {MAJOR:x}:{minor:x}")).unwrap_or_default();
    format!("nft {verb} element {} {map} {{ {prefix}{to} }}", names.table)
}

fn delete_root(device: &str, before: &Root) -> Vec<String> {
    vec![match before {
        Root::Foreign { kind, major, .. } => {
            format!(
                "tc qdisc replace dev {device} root handle {major:x}: {kind} # with the settings that it had"
            )
        }
        Root::Usual | Root::Ours | Root::Gone => format!("tc qdisc del dev {device} root"),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{AGGREGATE, FIRST, Has, Limits, Tree};
    use evenair_units::Rate;

    #[test]
    fn a_plan_reads_as_its_tools_would_be_typed() {
        let names = Names { mesh: "mesh0", uplink: "wan0", table: "inet evenair", leaf: Leaf::Fifo };
        let (unknown, exempt) = (Rate::from_kbps(256), Rate::from_kbps(10_000));
        let mut tree = Tree::new(&Limits { total: None, unknown, exempt, acknowledgements: false });
        tree.subscriber(FIRST, (Has::Bucket(Rate::from_kbps(400)), None), 1.0, unknown);
        let class = tree.classes[&FIRST];
        assert_eq!(class.parent, AGGREGATE);
        let prefix = "fd00:1::/56".parse().unwrap();
        let changes = [
            Change::SetOffloads(Side::Up, Offloads([("rx-gro".into(), true)].into()).apart()),
            Change::AddRoot(Side::Down),
            Change::AddClass(Side::Down, FIRST, class),
            Change::ChangeEntry(Side::Up, prefix, FIRST, FIRST + 1),
            Change::DeleteRoot(Side::Up, Root::Foreign { kind: "cake".into(), major: 0x8001, kept: None }),
        ];
        let lines: Vec<String> = changes.iter().flat_map(|change| change.lines(&names)).collect();
        assert_eq!(
            lines,
            [
                "ethtool -K wan0 rx-gro off",
                "tc qdisc replace dev mesh0 root handle e7a1: htb default 2",
                "tc class add dev mesh0 parent e7a1:1 classid e7a1:10 htb rate 400000bit ceil 400000bit \
                burst 3028b cburst 3028b quantum 1514 prio 1",
                "tc qdisc add dev mesh0 parent e7a1:10 tbf rate 1tbit burst 1536b limit 6056b",
                "nft delete element inet evenair up6 { fd00:1::/56 } # and in the same transaction",
                "nft add element inet evenair up6 { fd00:1::/56 : e7a1:11 }",
                "tc qdisc replace dev wan0 root handle 8001: cake # with the settings that it had",
            ]
        );
    }
}
