//! Queueing disciplines and classes.

use crate::Outcome;
use crate::lab::{apply, class, device, htb, kbps, shaped, told};
use evenair_linux::tc::{Change, Discipline, Handle, Htb, HtbClass, Mode, Tbf, What};
use evenair_needs::Missing;
use evenair_units::{Bytes, Rate};
use std::time::Duration;

const TREE: Handle = Handle::new(1, 0);

fn leaf(device: u32, minor: u16, discipline: Discipline) -> Change {
    let what = What::Qdisc(Mode::Add, discipline);
    Change { device, parent: Handle::new(1, minor), handle: Handle::new(minor, 0), what }
}

pub(crate) fn settings_are_read_back() -> Outcome {
    let (mut netlink, device, _far) = shaped()?;
    let classes = [
        HtbClass { quantum: None, priority: 3, ..kbps(64, 2_000) },
        // Beyond 32 bits of bytes a second, and a burst of its own.
        HtbClass { ceiling_burst: Bytes::new(1_000_000), ..kbps(40_000_000, 80_000_000) },
    ];
    let leaves = [Discipline::Bfifo { limit: Bytes::new(6_000) }, Discipline::Pfifo { packets: 5 }];
    for (minor, (own, below)) in (2..).zip(classes.iter().zip(&leaves)) {
        apply(
            &mut netlink,
            &[class(device, TREE, minor, Mode::Add, *own), leaf(device, minor, below.clone())],
        );
    }
    let read = netlink.class(device, Handle::new(1, 2)).expect("it is there");
    let own = read.htb.expect("a class of HTB");
    assert_eq!((own.rate, own.ceiling, own.priority), (classes[0].rate, classes[0].ceiling, 3));
    assert_eq!((read.leaf, read.parent), (Some(Handle::new(2, 0)), Handle::ROOT));
    assert_eq!(read.statistics, evenair_linux::tc::Statistics::default());
    let mut all = Vec::new();
    netlink.classes(device, &mut all).expect("a list");
    assert_eq!(all.len(), 2);
    let wide = all.iter().find(|one| one.handle.minor == 3).and_then(|one| one.htb).expect("the other");
    assert_eq!(
        (wide.rate, wide.ceiling, wide.quantum),
        (classes[1].rate, classes[1].ceiling, classes[1].quantum)
    );
    // Bursts are whole ticks of 64 ns to the kernel.
    let tick = Rate::from_kbps(80_000_000).as_bps() * 64 / 8_000_000_000;
    assert!(u64::from(wide.ceiling_burst.count().abs_diff(1_000_000)) <= tick, "{wide:?}");
    let disciplines: Vec<_> =
        netlink.qdiscs(device).expect("a list").into_iter().map(|one| one.discipline).collect();
    assert!(matches!(
        &disciplines[0],
        Discipline::Htb(Htb { default: 2, rate_to_quantum: 10, direct_queue: Some(_) })
    ));
    assert_eq!(disciplines[1..], leaves);

    // In place: the leaf stays.
    apply(&mut netlink, &[class(device, TREE, 2, Mode::Change, kbps(64, 3_000))]);
    let changed = netlink.class(device, Handle::new(1, 2)).expect("it is there");
    assert_eq!((changed.htb.map(|own| own.ceiling), changed.leaf), (Some(Rate::from_kbps(3_000)), read.leaf));
    let gone =
        |minor| Change { device, parent: TREE, handle: Handle::new(1, minor), what: What::RemoveClass };
    apply(&mut netlink, &[gone(2), gone(3)]);
    netlink.classes(device, &mut all).expect("a list");
    assert_eq!(all, []);
    Ok(())
}

pub(crate) fn disciplines_are_named_as_by_tc() -> Outcome {
    let (mut netlink, _, _far) = device("near")?;
    for (kind, options) in [
        ("htb", ""),
        ("pfifo", ""),
        ("tbf", "rate 1mbit burst 2000 limit 6000"),
        ("fq_codel", ""),
        ("cake", ""),
        ("sfq", ""),
        ("no_such", ""),
    ] {
        let arguments = format!("qdisc add dev near root {kind} {options}");
        let output = std::process::Command::new("tc").args(arguments.split_whitespace()).output();
        let output = output.map_err(|error| Missing::new("tc", error))?;
        let (added, said) = (output.status.success(), String::from_utf8_lossy(&output.stderr));
        assert_eq!(netlink.has_discipline(kind).expect("the kernel answers"), added, "{kind}: {said}");
        if added {
            told("tc", "qdisc del dev near root")?;
        }
    }
    assert!(!told("tc", "qdisc show dev lo")?.contains("1:"), "nothing is left on the loopback device");
    Ok(())
}

pub(crate) fn a_batch_names_the_refused_requests() -> Outcome {
    let (mut netlink, device, _far) = shaped()?;
    // More than one batch, of which two are refused: a missing class, and one below a missing parent.
    let mut changes: Vec<_> =
        (2..150).map(|minor| class(device, TREE, minor, Mode::Add, kbps(8, 800))).collect();
    changes[70] = class(device, TREE, 900, Mode::Change, kbps(8, 800));
    changes[140] = class(device, Handle::new(7, 0), 142, Mode::Add, kbps(8, 800));
    let refused = netlink.apply(&changes).expect("the kernel answers");
    assert_eq!(refused.iter().map(|one| one.index).collect::<Vec<_>>(), [70, 140], "{refused:?}");
    assert_eq!(refused[0].code, 2, "ENOENT: {refused:?}");
    let mut all = Vec::new();
    netlink.classes(device, &mut all).expect("a list");
    assert_eq!(all.len(), 146, "the others are made");
    assert_eq!(netlink.apply(&[]).expect("nothing to ask"), []);
    assert!(netlink.apply(&[htb(9_999, 2)]).expect("the kernel answers").len() == 1);
    Ok(())
}

pub(crate) fn tc_prints_the_settings() -> Outcome {
    let (mut netlink, device, _far) = shaped()?;
    apply(
        &mut netlink,
        &[
            class(device, TREE, 1, Mode::Add, kbps(10_000, 10_000)),
            class(device, Handle::new(1, 1), 2, Mode::Add, HtbClass { priority: 1, ..kbps(16, 400) }),
            leaf(device, 2, Discipline::Bfifo { limit: Bytes::new(6_000) }),
            Change {
                device,
                parent: Handle::CLSACT,
                handle: Handle::new(0xffff, 0),
                what: What::Qdisc(Mode::Add, Discipline::Clsact),
            },
        ],
    );
    let classes = told("tc", "-d class show dev near")?;
    for said in [
        "class htb 1:1 root rate 10Mbit ceil 10Mbit",
        "class htb 1:2 parent 1:1 leaf 2: prio 1 quantum 1514 rate 16Kbit ceil 400Kbit",
    ] {
        assert!(classes.contains(said), "{said} in\n{classes}");
    }
    let disciplines = told("tc", "qdisc show dev near")?;
    for said in [
        "qdisc htb 1: root",
        "default 0x2",
        "qdisc bfifo 2: parent 1:2 limit 6000b",
        "qdisc clsact ffff: parent ffff:fff1",
    ] {
        assert!(disciplines.contains(said), "{said} in\n{disciplines}");
    }
    apply(
        &mut netlink,
        &[
            Change { device, parent: Handle::ROOT, handle: TREE, what: What::RemoveQdisc },
            Change { device, parent: Handle::CLSACT, handle: Handle::NONE, what: What::RemoveQdisc },
        ],
    );
    assert_eq!(told("tc", "qdisc show dev near")?.trim(), "qdisc noqueue 0: root refcnt 2");
    Ok(())
}

pub(crate) fn a_foreign_discipline_is_put_back() -> Outcome {
    let (mut netlink, device, _far) = device("near")?;
    told(
        "tc",
        "qdisc add dev near root handle 7: tbf rate 3mbit burst 4000 limit 9000 peakrate 5mbit mtu 1600",
    )?;
    let before = told("tc", "-d qdisc show dev near")?;
    let found = netlink.qdiscs(device).expect("a list").pop().expect("one");
    let kind = found.discipline.kind().to_owned();
    apply(&mut netlink, &[Change { what: What::Qdisc(Mode::Replace, htb_alone()), ..root(device, 1) }]);
    let again = Discipline::Other { kind, options: found.options };
    apply(&mut netlink, &[Change { what: What::Qdisc(Mode::Replace, again), ..root(device, 7) }]);
    assert_eq!(told("tc", "-d qdisc show dev near")?, before);
    let splitter =
        Tbf { rate: Rate::from_kbps(1_000_000_000), burst: Bytes::new(1_514), limit: Bytes::new(6_000) };
    let splitter = Discipline::Tbf(splitter);
    apply(&mut netlink, &[Change { what: What::Qdisc(Mode::Replace, splitter.clone()), ..root(device, 8) }]);
    let read = netlink.qdiscs(device).expect("a list").pop().expect("one").discipline;
    let Discipline::Tbf(read) = read else { panic!("{read:?}") };
    assert_eq!((read.rate.as_bps(), read.limit), (1_000_000_000_000, Bytes::new(6_000)));
    Ok(())
}

fn root(device: u32, major: u16) -> Change {
    Change { device, parent: Handle::ROOT, handle: Handle::new(major, 0), what: What::RemoveQdisc }
}

fn htb_alone() -> Discipline {
    Discipline::Htb(Htb { default: 0, rate_to_quantum: 10, direct_queue: Some(100) })
}

/// The bounds are ten times the figures measured on two cores of a shared machine: 3.6 ms, 1.6 ms. They are
/// in processor time, which other programs do not lengthen.
pub(crate) fn thousands_of_classes() -> Outcome {
    let (mut netlink, device, _far) = shaped()?;
    let count: u16 = if std::env::var_os("EVENAIR_TEN_THOUSAND").is_some() { 10_000 } else { 1_000 };
    let all = |mode, ceiling| -> Vec<Change> {
        (2..count + 2).map(|minor| class(device, TREE, minor, mode, kbps(8, ceiling))).collect()
    };
    let timed = |what: &str, begin: Duration| {
        let time = processor().saturating_sub(begin);
        println!("    {what} {count} classes: {:.2} ms", time.as_secs_f64() * 1e3);
        time
    };
    let begin = processor();
    apply(&mut netlink, &all(Mode::Add, 800));
    timed("make", begin);
    let leaves: Vec<Change> = (2..count + 2)
        .map(|minor| {
            let (rate, size) = (Rate::from_bps(1_000_000_000_000), Bytes::new(6_000));
            let leaf = Tbf { rate, burst: Bytes::new(1_514), limit: size };
            let what = What::Qdisc(Mode::Add, Discipline::Tbf(leaf));
            Change { device, parent: Handle::new(1, minor), handle: Handle::NONE, what }
        })
        .collect();
    let begin = processor();
    apply(&mut netlink, &leaves);
    timed("make the leaves of", begin);
    let changes = all(Mode::Change, 900);
    let begin = processor();
    apply(&mut netlink, &changes);
    let changed = timed("change the ceilings of", begin);
    let mut classes = Vec::new();
    netlink.classes(device, &mut classes).expect("a list");
    let begin = processor();
    netlink.classes(device, &mut classes).expect("a list");
    let read = timed("read", begin);
    // A TBF has a class of its own.
    classes.retain(|class| class.htb.is_some());
    assert_eq!(classes.len(), usize::from(count));
    let begin = processor();
    for minor in 2..102 {
        netlink.class(device, Handle::new(1, minor)).expect("it is there");
    }
    println!("    read one class: {:.1} µs", processor().saturating_sub(begin).as_secs_f64() * 1e4);
    let begin = processor();
    assert_eq!(netlink.qdiscs(device).expect("a list").len(), usize::from(count) + 1);
    timed("read the leaves of", begin);
    assert!(classes.iter().all(|class| class.htb.is_some_and(|own| own.ceiling == Rate::from_kbps(900))));
    if count == 1_000 {
        assert!(changed.as_millis() < 100 && read.as_millis() < 100, "{changed:?}, {read:?}");
    }
    Ok(())
}

/// Returns the processor time of the calling thread, with the kernel's work for it.
fn processor() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}
