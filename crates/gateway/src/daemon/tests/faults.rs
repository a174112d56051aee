//! Faults of the kernel and the clock, and the gateway's reactions.

use super::*;
use crate::Change;
use crate::kernel::{Filter, Neighbour, Offered};
use crate::tree::Class;
use evenair_laws::gateway::{ClassView, GatewayView};
use proptest::prelude::*;

const ENFORCE: &str = "mode = \"enforce\"\n";

/// Takes the views that the law got at the ends of epochs.
fn views(daemon: &mut Daemon<MemoryKernel>) -> Vec<GatewayView> {
    let view = |what: What| match what {
        What::Heard(Heard { told: GatewayTold::OnEpoch { view }, .. }) => Some(view),
        _ => None,
    };
    daemon.take_happened().into_iter().filter_map(view).collect()
}

/// Returns the law's last view of a subscriber's download class.
fn view_of(daemon: &mut Daemon<MemoryKernel>, place: usize) -> Option<ClassView> {
    views(daemon).pop().unwrap().classes[2 * place]
}

fn offered(i: u32) -> Offered {
    Offered {
        address: format!("10.{}.{}.1", i / 256, i % 256).parse().unwrap(),
        volume: Volume { packets: 1, bytes: 100 },
    }
}

#[test]
fn killed_daemons_successor_adopts_and_restores() {
    let config = config(ENFORCE);
    let before = MemoryKernel::default();
    let whole = start(&config, before.clone(), None).kernel_mut().there.clone();
    let at_first = 1000;
    let kernel = MemoryKernel { changes_left: at_first, ..MemoryKernel::default() };
    let mut daemon = Daemon::new(at(0), &config, subscribers(3), kernel, (None, false)).unwrap();
    daemon.begin(at(0)).unwrap();
    let changes = at_first - daemon.kernel_mut().changes_left;
    assert!(changes > 20, "a plan of {changes} changes has places to be killed at");
    for changes_left in 0..changes + 2 {
        let kernel = MemoryKernel { changes_left, ..MemoryKernel::default() };
        let mut daemon = Daemon::new(at(0), &config, subscribers(3), kernel, (None, false)).unwrap();
        let kept = serde_json::to_string(&daemon.kept()).unwrap();
        let done = daemon.begin(at(0));
        assert_eq!(done.is_ok(), changes_left >= changes, "{changes_left}");
        // The daemon is killed without a stop.
        let kernel = MemoryKernel { changes_left: usize::MAX, ..daemon.kernel_mut().clone() };
        let mut next = start(&config, kernel, Some(serde_json::from_str(&kept).unwrap()));
        assert_eq!(next.kernel_mut().there, whole);
        next.stop("test", false).unwrap();
        assert_eq!(next.kernel_mut().there, before.there);
    }
}

#[test]
fn manual_change_is_reported_and_repaired() {
    let config = config(ENFORCE);
    let mut daemon = start(&config, MemoryKernel::default(), None);
    run(&mut daemon, (0, 10_000), &[]);
    daemon.take_happened();
    let (minor, class) = daemon.kernel_mut().class_of(Side::Down, "10.0.0.1").unwrap();
    let by_hand = Class { ceiling: Rate::from_kbps(9_000), ..class };
    daemon.kernel_mut().by_hand(&Change::ChangeClass(Side::Down, minor, by_hand));
    run(&mut daemon, (10_000, 20_000), &[]);
    let told = events(&mut daemon);
    assert!(
        matches!(&told[..], [Event::Mended(1, lines)] if lines[0].starts_with("tc class change dev mesh0")),
        "{told:?}"
    );
    // It comes down as any limit does, at once if the class carries nothing.
    run(&mut daemon, (20_000, 20_200), &[]);
    assert_eq!(daemon.kernel_mut().class_of(Side::Down, "10.0.0.1"), Some((minor, class)));
    run(&mut daemon, (20_200, 30_000), &[]);
    assert_eq!(events(&mut daemon), []);
}

#[test]
fn unread_epochs_open_limits() {
    let config = config(ENFORCE);
    let mut daemon = start(&config, MemoryKernel::default(), None);
    run(&mut daemon, (0, 10_000), &[(Side::Down, FIRST, 1, true)]);
    let given = ceiling(&mut daemon, Side::Down, "10.0.0.1");
    // The counters are missing, not the device.
    daemon.kernel_mut().no_counters = true;
    run(&mut daemon, (10_000, 30_000), &[]);
    assert_eq!(ceiling(&mut daemon, Side::Down, "10.0.0.1"), given, "it holds");
    run(&mut daemon, (30_000, 40_000), &[]);
    assert_eq!(ceiling(&mut daemon, Side::Down, "10.0.0.1"), OPEN);
    assert!(events(&mut daemon).contains(&Event::Opened));
    daemon.kernel_mut().no_counters = false;
    run(&mut daemon, (40_000, 50_300), &[]);
    assert!(ceiling(&mut daemon, Side::Down, "10.0.0.1") < OPEN);
    assert!(events(&mut daemon).contains(&Event::Closed));
}

#[test]
fn device_that_returns_has_its_tree_again() {
    let mut daemon = start(&config(ENFORCE), MemoryKernel::default(), None);
    run(&mut daemon, (0, 10_000), &[]);
    daemon.kernel_mut().remove(Side::Down);
    run(&mut daemon, (10_000, 20_000), &[]);
    let is_told = |event: &Event| matches!(event, Event::Trouble(why) if why.contains("no such device"));
    assert!(events(&mut daemon).iter().any(is_told));
    daemon.kernel_mut().plug(Side::Down);
    // Another device, which does not join segments.
    let apart = daemon.kernel_mut().there.down.offloads.apart();
    daemon.kernel_mut().there.down.offloads = apart.clone();
    run(&mut daemon, (20_000, 21_100), &[]);
    assert_eq!(daemon.kernel_mut().there.down.tree.classes.len(), 7);
    assert_eq!(daemon.kernel_mut().there.filter, Filter::Leads, "the device has another number");
    daemon.stop("test", false).unwrap();
    let there = &daemon.kernel_mut().there;
    assert_eq!(there.down, crate::kernel::Found { offloads: apart, ..MemoryKernel::default().there.down });
    assert_eq!(there.up, MemoryKernel::default().there.up);
}

/// One device is repaired and restored even if the other is gone.
#[test]
fn device_that_is_gone_keeps_nothing_of_other() {
    let mut daemon = start(&config(ENFORCE), MemoryKernel::default(), None);
    run(&mut daemon, (0, 10_000), &[]);
    daemon.kernel_mut().remove(Side::Down);
    daemon.kernel_mut().by_hand(&Change::DeleteEntry(Side::Up, "10.0.0.1".parse().unwrap(), FIRST));
    daemon.kernel_mut().by_hand(&Change::DeleteClass(Side::Up, FIRST));
    run(&mut daemon, (10_000, 20_000), &[]);
    assert!(daemon.kernel_mut().class_of(Side::Up, "10.0.0.1").is_some());
    daemon.stop("test", false).unwrap();
    assert_eq!(daemon.kernel_mut().there.up, MemoryKernel::default().there.up);
    assert_eq!(daemon.kernel_mut().there.filter, Filter::Missing);
}

#[test]
fn clock_jump_makes_an_unknown_epoch() {
    let mut daemon = start(&config(ENFORCE), MemoryKernel::default(), None);
    run(&mut daemon, (0, 20_000), &[(Side::Down, FIRST, 1, true)]);
    daemon.take_happened();
    daemon.step(at(10_000_000));
    let views = views(&mut daemon);
    assert_eq!(views.len(), 1, "epochs that were missed are not made up for");
    assert!(views[0].classes.iter().all(Option::is_none));
}

/// The monotonic clock does not go back. If it does, the daemon waits until it is where it was, and no
/// count is lost.
#[test]
fn a_clock_that_goes_back_is_waited_for() {
    let mut daemon = start(&config(ENFORCE), MemoryKernel::default(), None);
    run(&mut daemon, (0, 20_000), &[(Side::Down, FIRST, 1, true)]);
    let (given, due) = (daemon.gateway().allocation().clone(), daemon.due());
    daemon.take_happened();
    for ms in (1_000..20_000).step_by(100) {
        daemon.step(at(ms));
    }
    assert_eq!((daemon.gateway().allocation(), daemon.due()), (&given, due));
    assert_eq!(daemon.take_happened().len(), 0);
    run(&mut daemon, (20_000, 30_000), &[(Side::Down, FIRST, 1, true)]);
    assert_eq!(view_of(&mut daemon, 0).unwrap().served.packets, 100);
}

#[test]
fn wrapped_counters_go_on_restarted_are_unknown() {
    let mut daemon = start(&config(ENFORCE), MemoryKernel::default(), None);
    let counters = daemon.kernel_mut().counters[0].get_mut(&FIRST).unwrap();
    (counters.packets, counters.dropped) = (u32::MAX - 49, u32::MAX - 4);
    run(&mut daemon, (200, 10_000), &[]);
    daemon.take_happened();
    daemon.kernel_mut().counters[0].get_mut(&FIRST).unwrap().dropped = 5;
    run(&mut daemon, (10_000, 20_000), &[(Side::Down, FIRST, 1, true)]);
    let view = view_of(&mut daemon, 0).unwrap();
    assert_eq!((view.served.packets, view.served.bytes, view.dropped.packets), (100, 150_000, 10));
    // Another program replaced the class.
    *daemon.kernel_mut().counters[0].get_mut(&FIRST).unwrap() = crate::kernel::Counters::default();
    run(&mut daemon, (20_000, 30_000), &[(Side::Down, FIRST + 1, 1, true)]);
    let view = views(&mut daemon).pop().unwrap();
    assert_eq!(view.classes[0], None);
    assert!(view.classes[2].is_some(), "of the others all is known");
    run(&mut daemon, (30_000, 40_000), &[(Side::Down, FIRST, 1, true)]);
    assert_eq!(view_of(&mut daemon, 0).unwrap().served.packets, 100);
}

/// A sensor that misses packets gives no busy times; queues still count.
#[test]
fn stopped_or_lossy_sensor_reports_nothing() {
    let mut daemon = start(&config(ENFORCE), MemoryKernel::default(), None);
    let busy = |daemon: &mut Daemon<MemoryKernel>, epoch: u64| {
        run(daemon, (epoch * 10_000, (epoch + 1) * 10_000), &[(Side::Down, FIRST, 1, true)]);
        let view = view_of(daemon, 0).unwrap();
        assert!(view.served.packets > 90);
        view.busy.is_some()
    };
    assert!(busy(&mut daemon, 0));
    daemon.kernel_mut().lost = Some(7);
    assert!(!busy(&mut daemon, 1), "seven were missed");
    assert!(!busy(&mut daemon, 2), "there is nothing to compare with");
    assert!(busy(&mut daemon, 3));
    daemon.kernel_mut().lost = None;
    assert!(!busy(&mut daemon, 4) && !busy(&mut daemon, 5), "it is gone");
    // A new sensor counts from zero.
    daemon.kernel_mut().lost = Some(0);
    assert!(!busy(&mut daemon, 6) && !busy(&mut daemon, 7));
    assert!(busy(&mut daemon, 8), "it is there again");
}

#[test]
fn manual_change_stays_where_configured() {
    let config = config("mode = \"enforce\"\nby_hand = \"leave\"\n");
    let mut daemon = start(&config, MemoryKernel::default(), None);
    run(&mut daemon, (0, 10_000), &[]);
    let (minor, class) = daemon.kernel_mut().class_of(Side::Down, "10.0.0.1").unwrap();
    for ceiling in [9_000, 20] {
        let by_hand = Class { ceiling: Rate::from_kbps(ceiling), rate: Rate::from_kbps(ceiling), ..class };
        daemon.kernel_mut().by_hand(&Change::ChangeClass(Side::Down, minor, by_hand));
        daemon.take_happened();
        let from = if ceiling == 20 { 40_000 } else { 10_000 };
        run(&mut daemon, (from, from + 30_000), &[]);
        let happened = daemon.take_happened();
        let epochs = happened.iter().filter(|what| matches!(what, What::Heard(_))).count();
        assert_eq!(epochs, 3, "the law goes on");
        let told: Vec<_> = happened.iter().filter(|what| matches!(what, What::Event(_))).collect();
        assert!(matches!(&told[..], [What::Event(Event::Left(1, _))]), "{told:?}");
        assert_eq!(daemon.kernel_mut().class_of(Side::Down, "10.0.0.1"), Some((minor, by_hand)));
    }
    // A subscriber without its class would have no limit.
    daemon.kernel_mut().by_hand(&Change::DeleteEntry(Side::Down, "10.0.1.1".parse().unwrap(), FIRST + 1));
    run(&mut daemon, (70_000, 80_000), &[]);
    assert!(daemon.kernel_mut().class_of(Side::Down, "10.0.1.1").is_some());
    daemon.reload(at(80_000), &config, subscribers(3)).unwrap();
    assert!(ceiling(&mut daemon, Side::Down, "10.0.0.1") > Rate::from_kbps(20));
}

/// A table without one of its maps leads some packets past their classes. It is replaced, and the stop
/// removes it.
#[test]
fn table_without_map_is_rebuilt_or_removed() {
    let breaks = |daemon: &mut Daemon<MemoryKernel>| {
        daemon.kernel_mut().there.filter = Filter::Broken;
        Side::ALL.into_iter().for_each(|side| daemon.kernel_mut().there.of_mut(side).tree.entries.clear());
    };
    let mut daemon = start(&config(ENFORCE), MemoryKernel::default(), None);
    breaks(&mut daemon);
    run(&mut daemon, (200, 1_400), &[]);
    assert_eq!(daemon.kernel_mut().there.filter, Filter::Leads);
    assert!(daemon.kernel_mut().class_of(Side::Up, "10.0.2.1").is_some());
    breaks(&mut daemon);
    daemon.stop("test", false).unwrap();
    assert_eq!(daemon.kernel_mut().there, MemoryKernel::default().there);
}

#[test]
fn neighbours_and_prefixes_need_no_file() {
    let rest =
        "mode = \"enforce\"\nneighbours = true\n[[delegated]]\nwithin = \"2001:db8::/40\"\nlength = 56\n";
    let config = config(rest);
    let mut daemon = start(&config, MemoryKernel::default(), None);
    let minors = |daemon: &mut Daemon<MemoryKernel>, addresses: &[&str]| {
        let of = |address: &&str| daemon.kernel_mut().class_of(Side::Down, address).map(|(minor, _)| minor);
        addresses.iter().map(of).collect::<Vec<_>>()
    };
    let neighbour =
        |address: &str| Neighbour { address: address.parse().unwrap(), hardware: "02:00:00:00:00:01".into() };
    // A neighbour with two addresses and a link-local one, and one with an address of a listed
    // subscriber.
    daemon.kernel_mut().neighbours = ["10.8.0.1", "fd00::8", "fe80::1", "10.0.0.1"].map(neighbour).to_vec();
    let seen = |address: &str| Offered {
        address: address.parse().unwrap(),
        volume: Volume { packets: 1, bytes: 99 },
    };
    daemon.kernel_mut().offered = vec![seen("2001:db8:0:4ff::9"), seen("2001:db9::1")];
    run(&mut daemon, (200, 1_400), &[]);
    let all = ["10.0.0.1", "10.8.0.1", "fd00::8", "fe80::1", "2001:db8:0:400::", "2001:db9::1"];
    let [first, mac, net] = [FIRST, FIRST + 3, FIRST + 4].map(Some);
    assert_eq!(minors(&mut daemon, &all), [first, mac, mac, None, net, None]);
    assert_eq!(daemon.gateway().strangers().len(), 2);
    // The neighbour changes its address and keeps its class; the next daemon finds it again.
    daemon.kernel_mut().neighbours = vec![neighbour("10.8.0.77")];
    run(&mut daemon, (1_400, 20_000), &[]);
    assert_eq!(minors(&mut daemon, &["10.8.0.77"]), [mac]);
    let law = daemon.kept().memory.law;
    let kernel = MemoryKernel { neighbours: Vec::new(), changes_left: 0, ..daemon.kernel_mut().clone() };
    let kept = serde_json::from_str(&serde_json::to_string(&daemon.kept()).unwrap()).unwrap();
    let mut next = start(&config, kernel, Some(kept));
    assert_eq!((minors(&mut next, &all[..2]), next.kept().memory.law == law), (vec![first, mac], true));
    // The neighbour is forgotten after an hour of silence.
    next.kernel_mut().changes_left = usize::MAX;
    run(&mut next, (200, 3_620_000), &[]);
    assert_eq!(minors(&mut next, &["10.0.0.1", "10.8.0.77", "2001:db8:0:400::"]), [first, None, None]);
}

/// A sender that ignores losses is named; the decision has the subscriber's display name.
#[test]
fn unresponsive_subscriber_is_named() {
    let mut daemon = start(&config(ENFORCE), MemoryKernel { lost: None, ..MemoryKernel::default() }, None);
    for epoch in 0..30 {
        // It uses all of its limit, and loses twice as much.
        let packets = (ceiling(&mut daemon, Side::Down, "10.0.1.1").as_bps() * 10 / 12_000) as u32;
        daemon.kernel_mut().serve(Side::Down, FIRST + 1, packets);
        daemon.kernel_mut().counters[0].get_mut(&(FIRST + 1)).unwrap().dropped += 2 * packets;
        run(&mut daemon, (epoch * 10_000, (epoch + 1) * 10_000), &[(Side::Down, FIRST + 1, 0, true)]);
    }
    let deaf = daemon.gateway().statuses().iter().filter(|class| class.ignores_losses);
    assert_eq!(
        deaf.map(|class| (class.id.as_str(), class.side)).collect::<Vec<_>>(),
        [("s0001", Side::Down)]
    );
    assert_eq!(daemon.gateway().decision(), "hold: unresponsive (s0001 down)");
}

/// A shortage: the kernel accepts only so many changes, or refuses to report its state or its counters.
#[derive(Clone, Copy, Debug)]
enum Shortage {
    Changes(usize),
    Readings,
    Counters,
}

fn shortages() -> impl Strategy<Value = Vec<(Shortage, u64)>> {
    let shortage = prop_oneof![
        (0usize..9).prop_map(Shortage::Changes),
        Just(Shortage::Readings),
        Just(Shortage::Counters)
    ];
    prop::collection::vec((shortage, 1u64..25), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Memory is short at times, while subscribers come and go and settings change by hand. The
    /// in-memory kernel refuses an address without its class, so no step leaves a subscriber without a
    /// limit. Once memory is back the wanted state is installed, and a stop leaves nothing.
    #[test]
    fn refused_change_succeeds_with_memory(shortages in shortages()) {
        let config = config("mode = \"enforce\"\neager = 1\n");
        let mut daemon = start(&config, MemoryKernel::default(), None);
        let mut ms = 200;
        for (i, (shortage, looks)) in shortages.into_iter().enumerate() {
            daemon.kernel_mut().offered = vec![offered(i as u32 % 3)];
            daemon.kernel_mut().there.filter = if i % 2 == 0 { Filter::Silent } else { Filter::Leads };
            let kernel = daemon.kernel_mut();
            match shortage {
                Shortage::Changes(left) => kernel.changes_left = left,
                Shortage::Readings => kernel.is_dumb = true,
                Shortage::Counters => kernel.no_counters = true,
            }
            run(&mut daemon, (ms, ms + looks * 1_000), &[]);
            ms += looks * 1_000;
            let kernel = daemon.kernel_mut();
            (kernel.changes_left, kernel.is_dumb, kernel.no_counters) = (usize::MAX, false, false);
        }
        run(&mut daemon, (ms, ms + 30_000), &[]);
        let wanted = daemon.gateway().wanted(false);
        let there = daemon.kernel_mut().there.clone();
        prop_assert_eq!((&there.down.tree, &there.up.tree, there.filter), (&wanted.down, &wanted.up, Filter::Leads));
        daemon.stop("test", false).unwrap();
        prop_assert_eq!(&daemon.kernel_mut().there, &MemoryKernel::default().there);
    }
}

#[test]
fn thousand_hosts_get_classes_at_once() {
    let config = config("mode = \"enforce\"\neager = 10\n");
    let mut daemon =
        Daemon::new(at(0), &config, subscribers(1000), MemoryKernel::default(), (None, false)).unwrap();
    daemon.begin(at(0)).unwrap();
    assert_eq!(daemon.kernel_mut().there.down.tree.classes.len(), 4);
    daemon.kernel_mut().offered = (0..1000).map(offered).collect();
    run(&mut daemon, (0, 1_100), &[]);
    assert_eq!(daemon.kernel_mut().there.up.tree.classes.len(), 1004);
    let heard = daemon.take_happened().into_iter().filter(|what| matches!(what, What::Heard(_))).count();
    assert_eq!(heard, 1, "the law hears of all at once");
}

#[test]
fn spoofed_sources_fill_no_more_than_their_room() {
    let config = config("mode = \"enforce\"\n[unknown]\naddresses = 100\n");
    let mut daemon = start(&config, MemoryKernel::default(), None);
    let offered = |i: u32| Offered {
        address: std::net::Ipv4Addr::from(0xac10_0000 + i).into(),
        volume: Volume { packets: 1, bytes: 100 },
    };
    daemon.kernel_mut().offered = (0..5000).map(offered).collect();
    run(&mut daemon, (0, 3_000), &[]);
    assert_eq!(
        (daemon.gateway().strangers().len(), daemon.kernel_mut().there.down.tree.classes.len()),
        (100, 7)
    );
}
