//! Tables of nftables.

use crate::Outcome;
use crate::lab::told;
use evenair_linux::netlink::Refusal;
use evenair_linux::nft::{
    Action, Chain, Entry, Family, Hook, Match, Nftables, Range, Rule, Set, SetKind, Side, Table, Version,
};
use evenair_linux::tc::Handle;
use evenair_needs::Missing;
use evenair_units::Duration;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::time::Instant;

fn table() -> Table {
    Table { family: Family::Inet, name: "evenair".to_owned() }
}

fn chain() -> Chain {
    Chain { name: "forward".to_owned(), hook: Hook::Forward, priority: -10 }
}

fn set(name: &str, version: Version, kind: SetKind) -> Set {
    Set { name: name.to_owned(), version, kind }
}

fn classes(name: &str, version: Version) -> Set {
    set(name, version, SetKind::Classes { counts: true })
}

fn seen(name: &str, version: Version) -> Set {
    set(name, version, SetKind::Seen { size: 1_000, timeout: Duration::from_secs(600) })
}

fn prefix(text: &str, bits: u8) -> Range {
    Range::prefix(text.parse::<IpAddr>().expect("an address"), bits).expect("a prefix")
}

fn entry(range: Range, minor: u16) -> Entry {
    Entry { range, class: Handle::new(1, minor) }
}

/// Creates a table with these sets.
fn created(sets: &[Set]) -> Result<Nftables, Missing> {
    let skipped = |error| Missing::new("nftables", error);
    let mut nftables = Nftables::new().map_err(skipped)?;
    nftables.create(&table(), sets).map_err(skipped)?;
    Ok(nftables)
}

/// nft prints the whole table in its own syntax.
pub(crate) fn nft_prints_the_settings() -> Outcome {
    let sets = [
        classes("down4", Version::V4),
        set("down6", Version::V6, SetKind::Classes { counts: false }),
        seen("seen4", Version::V4),
        seen("seen6", Version::V6),
    ];
    let mut nftables = created(&sets)?;
    nftables
        .change(
            &table(),
            &sets[0],
            &[],
            &[entry(prefix("10.1.0.0", 24), 0x2a), entry(prefix("10.1.1.7", 32), 3)],
        )
        .expect("4");
    nftables.change(&table(), &sets[1], &[], &[entry(prefix("2001:db8:0:100::", 56), 4)]).expect("6");
    let from =
        |set: &str, version| Action::ClassFrom { set: set.to_owned(), version, side: Side::Destination };
    let count = |set: &str, version, prefix| Action::Count {
        set: set.to_owned(),
        version,
        side: Side::Destination,
        prefix,
    };
    let rule = |matches: &[Match], action| Rule { matches: [&[Match::Out(1)], matches].concat(), action };
    let port = Match::Ports { side: Side::Source, first: 53, last: 53 };
    let source =
        Match::Address { side: Side::Source, address: "10.9.8.7".parse().expect("an address"), prefix: 20 };
    let rules = [
        rule(&[Match::Protocol(17), port], Action::Accept),
        rule(&[source], Action::Class(Handle::new(1, 9))),
        rule(&[], count("seen4", Version::V4, 32)),
        rule(&[], count("seen6", Version::V6, 56)),
        rule(&[], Action::Class(Handle::new(1, 2))),
        rule(&[], from("down4", Version::V4)),
        rule(&[Match::Version(Version::V6)], from("down6", Version::V6)),
        rule(
            &[
                Match::Protocol(6),
                Match::NotClass(Handle::new(1, 2)),
                Match::Length { version: Version::V6, most: 100 },
                Match::Flags { mask: 0x17, set: 0x10 },
            ],
            Action::Class(Handle::new(1, 4)),
        ),
    ];
    nftables.set_rules(&table(), &chain(), &rules).expect("rules");
    let ruleset = told("nft", "-nn list ruleset")?;
    for said in [
        "table inet evenair",
        "type ipv4_addr : classid",
        "flags interval",
        "10.1.0.0/24 counter packets 0 bytes 0 : 1:2a",
        "10.1.1.7 counter packets 0 bytes 0 : 1:3",
        "2001:db8:0:100::/56 : 1:4",
        "size 1000",
        "flags dynamic,timeout",
        "timeout",
        "type filter hook forward priority -10; policy accept;",
        "oif \"lo\" udp sport 53 accept",
        "oif \"lo\" ip saddr 10.9.0.0/20 meta priority set 1:9",
        // Some versions print here, too, that the set counts.
        "update @seen4 { ip daddr ",
        "update @seen6 { ip6 daddr & ffff:ffff:ffff:ff00:: ",
        "meta priority set ip daddr map @down4",
        "meta priority set ip6 daddr map @down6",
        "oif \"lo\" meta priority != 1:2 ip6 length <= 60 tcp flags 0x10 / 0x1,0x2,0x4,0x10 meta priority set 1:4",
    ] {
        assert!(ruleset.contains(said), "{said} in\n{ruleset}");
    }
    assert_eq!(nftables.tables().expect("a list"), [table()]);
    assert_eq!(nftables.flowtables().expect("a list"), []);
    nftables.delete(&table()).expect("it is there");
    assert_eq!(told("nft", "list ruleset")?, "");
    assert_eq!(nftables.delete(&table()).expect_err("it is gone").kind(), ErrorKind::NotFound);
    Ok(())
}

pub(crate) fn entries_are_changed_and_read_back() -> Outcome {
    let sets = [classes("down4", Version::V4), classes("down6", Version::V6)];
    let mut nftables = created(&sets)?;
    // Adjacent ranges, one address, and the last addresses of the space.
    let first = [
        entry(prefix("10.0.0.0", 24), 1),
        entry(prefix("10.0.1.0", 24), 2),
        entry(prefix("10.0.3.1", 32), 3),
        entry(prefix("255.255.255.0", 24), 4),
    ];
    nftables.change(&table(), &sets[0], &[], &first).expect("they are new");
    let told = |nftables: &mut Nftables, set: &Set| -> Vec<(String, u16)> {
        let all = nftables.elements(&table(), set).expect("a list");
        all.iter().map(|one| (one.range.to_string(), one.class.expect("a class").minor)).collect()
    };
    let expected = |all: &[(&str, u16)]| -> Vec<(String, u16)> {
        all.iter().map(|(a, b)| ((*a).to_owned(), *b)).collect()
    };
    let all = [("10.0.0.0/24", 1), ("10.0.1.0/24", 2), ("10.0.3.1", 3), ("255.255.255.0/24", 4)];
    assert_eq!(told(&mut nftables, &sets[0]), expected(&all));
    // One moves to another class, one is removed, another is cut in two, the last is removed.
    let remove = [first[0].range, first[1].range, first[2].range, first[3].range];
    let add =
        [entry(first[0].range, 7), entry(prefix("10.0.1.0", 25), 8), entry(prefix("10.0.1.128", 25), 9)];
    nftables.change(&table(), &sets[0], &remove, &add).expect("they were there");
    let all = [("10.0.0.0/24", 7), ("10.0.1.0/25", 8), ("10.0.1.128/25", 9)];
    assert_eq!(told(&mut nftables, &sets[0]), expected(&all));
    // A wrong change has no effect.
    let overlapping = [entry(prefix("10.0.9.0", 24), 1), entry(prefix("10.0.0.128", 25), 1)];
    assert_eq!(
        nftables.change(&table(), &sets[0], &[], &overlapping).expect_err("overlaps").kind(),
        ErrorKind::AlreadyExists
    );
    assert!(nftables.change(&table(), &sets[0], &[prefix("10.0.5.0", 24)], &[]).is_err());
    let other = nftables.change(&table(), &sets[0], &[], &[entry(prefix("::", 64), 1)]);
    assert_eq!(other.expect_err("another version").kind(), ErrorKind::InvalidInput);
    assert_eq!(told(&mut nftables, &sets[0]), expected(&all));

    let ranges = [
        entry(prefix("2001:db8::", 56), 1),
        entry(prefix("2001:db8:0:100::", 56), 2),
        entry(prefix("ff00::", 8), 3),
    ];
    nftables.change(&table(), &sets[1], &[], &ranges).expect("they are new");
    let all = [("2001:db8::/56", 1), ("2001:db8:0:100::/56", 2), ("ff00::/8", 3)];
    assert_eq!(told(&mut nftables, &sets[1]), expected(&all));
    Ok(())
}

pub(crate) fn a_chains_rules_are_replaced_whole() -> Outcome {
    let sets = [classes("down4", Version::V4)];
    let mut nftables = created(&sets)?;
    let rule = |class| Rule { matches: Vec::new(), action: Action::Class(Handle::new(1, class)) };
    let before = nftables.generation().expect("a number");
    assert_eq!(nftables.generation().expect("a number"), before);
    nftables.set_rules(&table(), &chain(), &[rule(1), rule(2)]).expect("rules");
    assert_ne!(nftables.generation().expect("a number"), before);
    nftables.set_rules(&table(), &chain(), &[rule(3)]).expect("rules");
    let absent = Action::ClassFrom { set: "absent".into(), version: Version::V4, side: Side::Source };
    let refused =
        nftables.set_rules(&table(), &chain(), &[rule(4), Rule { matches: Vec::new(), action: absent }]);
    assert_eq!(refused.expect_err("there is no such set").kind(), ErrorKind::NotFound);
    let long = Match::Address { side: Side::Source, address: [10, 0, 0, 1].into(), prefix: 33 };
    let refused =
        nftables.set_rules(&table(), &chain(), &[Rule { matches: vec![long], action: Action::Accept }]);
    assert_eq!(refused.expect_err("too many bits").kind(), ErrorKind::InvalidInput);
    let ruleset = told("nft", "list ruleset")?;
    let rules: Vec<&str> =
        ruleset.lines().filter(|line| line.contains("priority set")).map(str::trim).collect();
    assert_eq!(rules, ["meta priority set 1:3"], "the last that worked");
    Ok(())
}

/// More rules than a socket's buffer has room for acknowledgements.
pub(crate) fn seven_hundred_rules() -> Outcome {
    let mut nftables = created(&[])?;
    let rule = |port| {
        let ports = Match::Ports { side: Side::Source, first: port, last: port };
        Rule { matches: vec![Match::Protocol(17), ports], action: Action::Accept }
    };
    let mut rules: Vec<Rule> = (1..=700).map(rule).collect();
    nftables.set_rules(&table(), &chain(), &rules).expect("rules");
    let count = |ruleset: &str| ruleset.lines().filter(|line| line.contains("udp sport")).count();
    assert_eq!(count(&told("nft", "list ruleset")?), 700);
    // One of them is refused, and the chain is unchanged.
    let absent = Action::ClassFrom { set: "absent".into(), version: Version::V4, side: Side::Source };
    rules[500] = Rule { matches: Vec::new(), action: absent };
    let error = nftables.set_rules(&table(), &chain(), &rules).expect_err("there is no such set");
    let refusal = error.get_ref().and_then(|inner| inner.downcast_ref::<Refusal>()).expect("a refusal");
    assert_eq!(refusal.index, 2 + 500, "behind the chain and the removal of its rules: {refusal}");
    nftables.set_rules(&table(), &chain(), &rules[..10]).expect("rules");
    assert_eq!(count(&told("nft", "list ruleset")?), 10);
    Ok(())
}

pub(crate) fn ten_thousand_entries() -> Outcome {
    let sets = [classes("down4", Version::V4)];
    let mut nftables = created(&sets)?;
    let entries: Vec<Entry> = (0..10_000_u32)
        .map(|number| {
            entry(Range::from(IpAddr::from((0x0a00_0000 + 2 * number).to_be_bytes())), number as u16 + 1)
        })
        .collect();
    let timed = |what: &str, act: &mut dyn FnMut()| {
        let begin = Instant::now();
        act();
        println!("    {what} 10 000 entries: {:.1} ms", begin.elapsed().as_secs_f64() * 1e3);
    };
    timed("add", &mut || nftables.change(&table(), &sets[0], &[], &entries).expect("they are new"));
    let ranges: Vec<Range> = entries.iter().map(|entry| entry.range).collect();
    let mut found = Vec::new();
    timed("read", &mut || found = nftables.elements(&table(), &sets[0]).expect("a list"));
    assert!(
        found
            .iter()
            .map(|one| (one.range, one.class))
            .eq(entries.iter().map(|one| (one.range, Some(one.class))))
    );
    timed("change", &mut || nftables.change(&table(), &sets[0], &ranges, &entries).expect("they were there"));
    timed("remove", &mut || nftables.change(&table(), &sets[0], &ranges, &[]).expect("they were there"));
    assert_eq!(nftables.elements(&table(), &sets[0]).expect("a list"), []);
    Ok(())
}
