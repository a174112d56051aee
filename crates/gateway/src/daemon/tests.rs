mod away;
mod faults;

use super::*;
use crate::kernel::Root;
use crate::memory::MemoryKernel;
use crate::record::{Heard, Line, SCHEMA};
use crate::replay::Replay;
use crate::status::Standing;
use crate::subscribers::Place;
use crate::tree::{FIRST, OPEN};
use crate::{Prefix, Subscriber};
use evenair_laws::gateway::{ArcParams, GatewayTold, PfrcParams, Reason, Step};
use evenair_units::Rate;

const HEAD: &str = "mesh = \"mesh0\"\nuplink = \"wan0\"\nlink_rate = \"900 kbps\"\n";

fn config(rest: &str) -> Config {
    Config::parse("g.toml", &format!("{HEAD}{rest}")).unwrap()
}

fn subscribers(count: u32) -> Subscribers {
    let of = |i: u32| {
        let prefix = format!("10.{}.{}.1", i / 256, i % 256).parse().unwrap();
        (Place::default(), Subscriber { prefixes: vec![prefix], ..Subscriber::new(format!("s{i:04}")) })
    };
    Subscribers::new((0..count).map(of)).unwrap()
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn start(config: &Config, kernel: MemoryKernel, kept: Option<Kept>) -> Daemon<MemoryKernel> {
    let mut daemon = Daemon::new(at(0), config, subscribers(3), kernel, (kept, false)).unwrap();
    daemon.begin(at(0)).unwrap();
    settled(daemon)
}

/// Runs the first two samples, in which limits come down because no class carries anything.
fn settled(mut daemon: Daemon<MemoryKernel>) -> Daemon<MemoryKernel> {
    daemon.step(at(100));
    daemon.step(at(200));
    daemon
}

/// Steps to a time. Each class serves the given packets of 1500 bytes in every 0.1 s, with or without a
/// backlog.
fn run(daemon: &mut Daemon<MemoryKernel>, (from, to): (u64, u64), classes: &[(Side, u16, u32, bool)]) {
    for ms in (from..to).step_by(100) {
        for &(side, minor, packets, waits) in classes {
            daemon.kernel_mut().serve(side, minor, packets);
            let backlog = Volume { packets: 3 * u64::from(waits), bytes: 4500 * u64::from(waits) };
            daemon.kernel_mut().counters[side as usize].get_mut(&minor).unwrap().backlog = backlog;
        }
        daemon.step(at(ms + 100));
    }
}

fn ceiling(daemon: &mut Daemon<MemoryKernel>, side: Side, address: &str) -> Rate {
    daemon.kernel_mut().class_of(side, address).unwrap().1.ceiling
}

fn events(daemon: &mut Daemon<MemoryKernel>) -> Vec<Event> {
    let event = |what| if let What::Event(event) = what { Some(event) } else { None };
    daemon.take_happened().into_iter().filter_map(event).collect()
}

#[test]
fn law_rates_reach_kernel() {
    let config = config("mode = \"enforce\"\n");
    let mut daemon = start(&config, MemoryKernel::default(), None);
    // W/3 for three subscribers, half of it each direction: 50 kb/s.
    assert_eq!(ceiling(&mut daemon, Side::Down, "10.0.1.1"), Rate::from_kbps(50));
    // The exempt class has a quarter of the link's 900 kb/s, or 256 kb/s.
    for side in Side::ALL {
        let tree = &daemon.kernel_mut().there.of(side).tree;
        assert_eq!(tree.classes[&crate::tree::EXEMPT].ceiling, Rate::from_kbps(256));
    }
    // All three wait for their own buckets: 50 kb/s are 4 packets of 1500 bytes a second.
    for epoch in 0..6 {
        let full: Vec<_> = (FIRST..FIRST + 3).map(|minor| (Side::Down, minor, 1 + epoch, true)).collect();
        run(&mut daemon, (u64::from(epoch) * 10_000, u64::from(epoch + 1) * 10_000), &full);
    }
    let given = daemon.gateway().allocation().each[0];
    assert!(given > Rate::from_kbps(100), "everyone was limited by the gateway, so there is more: {given}");
    assert_eq!(ceiling(&mut daemon, Side::Down, "10.0.0.1").as_bps(), given.as_bps() / 8 * 8);
    assert_eq!(daemon.gateway().statuses()[0].standing, Standing::Share);
    assert_eq!(daemon.gateway().statuses()[1].standing, Standing::Idle, "nothing came the other way");
}

#[test]
fn one_bucket_for_all_is_the_parents() {
    let config = config("mode = \"enforce\"\nlaw = \"arc\"\n");
    let mut daemon = start(&config, MemoryKernel::default(), None);
    let parent = |daemon: &mut Daemon<MemoryKernel>, side| {
        daemon.kernel_mut().there.of(side).tree.classes[&crate::tree::AGGREGATE].ceiling
    };
    let total = daemon.gateway().allocation().total.unwrap();
    assert_eq!((parent(&mut daemon, Side::Down), total), (total, Rate::from_kbps(300)));
    // The upload rate is subtracted from the download total, and half of the total stays reserved for a
    // new upload.
    run(&mut daemon, (200, 10_000), &[(Side::Up, FIRST, 0, false), (Side::Down, FIRST, 0, false)]);
    daemon.kernel_mut().serve(Side::Up, FIRST, 40); // 48 kb/s for 10 s
    run(&mut daemon, (10_000, 20_000), &[]);
    let total = |daemon: &Daemon<MemoryKernel>| daemon.gateway().allocation().total.unwrap().as_bps();
    assert_eq!(parent(&mut daemon, Side::Down).as_bps(), total(&daemon) - 48_000);
    assert_eq!(parent(&mut daemon, Side::Up).as_bps(), total(&daemon));
    // Three classes wait down, one up: within a second each has the same share, within an epoch too.
    // When up is idle, down gets all of it.
    let down = [0, 1, 2].map(|k| (Side::Down, FIRST + k, 1, true));
    run(&mut daemon, (20_000, 20_200), &down);
    let epochs = daemon.gateway().epochs();
    run(&mut daemon, (20_200, 21_600), &[&down[..], &[(Side::Up, FIRST, 1, true)]].concat());
    let given = total(&daemon);
    let near = |stands: Rate, part: u64| stands.as_bps().abs_diff(given * part / 4) <= given / 20;
    let stands = Side::ALL.map(|side| parent(&mut daemon, side));
    assert!(near(stands[0], 3) && near(stands[1], 1), "{stands:?} of {given}");
    run(&mut daemon, (21_600, 25_000), &[&down[..], &[(Side::Up, FIRST, 0, false)]].concat());
    let [down, up] = Side::ALL.map(|side| parent(&mut daemon, side));
    assert_eq!(down.as_bps(), given - 48_000, "but for what the last epoch saw of it");
    assert!(near(up, 1), "the door: {up} of {given}");
    assert_eq!(daemon.gateway().epochs(), epochs, "all of it within an epoch");
}

#[test]
fn observe_and_dry_run_change_nothing() {
    for (mode, would) in [("observe", 0), ("dry-run", 1)] {
        let config = config(&format!("mode = \"{mode}\"\n"));
        let before = MemoryKernel::default();
        let mut daemon = start(&config, before.clone(), None);
        run(&mut daemon, (0, 10_000), &[]);
        daemon.stop("test", false).unwrap();
        assert_eq!(daemon.kernel_mut().there, before.there);
        let happened = daemon.take_happened();
        assert_eq!(happened.iter().filter(|what| matches!(what, What::Heard(_))).count(), 1);
        let says =
            |what: &&What| matches!(what, What::Event(Event::WouldChange(changes, _)) if *changes > 10);
        assert_eq!(happened.iter().filter(says).count(), would);
    }
}

#[test]
fn foreign_root_is_kept_or_left_alone() {
    let config = config("mode = \"enforce\"\n");
    let mut kernel = MemoryKernel::default();
    let cake = |kept: Option<Vec<u8>>| Root::Foreign { kind: "cake".into(), major: 0x8001, kept };
    kernel.there.up.root = cake(Some(vec![7]));
    let before = kernel.there.clone();
    let new = |kernel: &MemoryKernel, takes_over| {
        Daemon::new(at(0), &config, subscribers(3), kernel.clone(), (None, takes_over))
    };
    let refused = new(&kernel, false).unwrap_err().to_string();
    assert!(refused.starts_with("wan0: another program's cake 8001: is its root; --take-over "), "{refused}");
    let mut daemon = new(&kernel, true).unwrap();
    daemon.begin(at(0)).unwrap();
    assert_eq!(daemon.kernel_mut().there.up.root, Root::Ours);
    daemon.stop("test", false).unwrap();
    assert_eq!(daemon.kernel_mut().there, before);
    kernel.there.up.root = cake(None);
    assert!(new(&kernel, true).unwrap_err().to_string().contains("could not be put back"));
    // The gateway's own tree, without a saved state.
    kernel.there.up.root = Root::Ours;
    assert!(new(&kernel, true).unwrap_err().to_string().contains("evenair gateway clear"));
}

#[test]
fn upgrade_changes_no_class_and_forgets_nothing() {
    let config = config("mode = \"enforce\"\n");
    let mut daemon = start(&config, MemoryKernel::default(), None);
    run(&mut daemon, (0, 60_000), &[(Side::Down, FIRST, 2, true)]);
    let kept: Kept = serde_json::from_str(&serde_json::to_string(&daemon.kept()).unwrap()).unwrap();
    // No change is needed.
    let kernel = MemoryKernel { changes_left: 0, ..daemon.kernel_mut().clone() };
    let next = start(&config, kernel, Some(kept));
    assert_eq!(next.gateway().memory(), daemon.gateway().memory());
}

/// Rates without limits do not measure demand under limits.
#[test]
fn observing_law_restarts_when_it_may_limit() {
    let mut daemon = start(&config(""), MemoryKernel::default(), None);
    run(&mut daemon, (0, 60_000), &[]);
    let kept = daemon.kept();
    let law = |daemon: &Daemon<MemoryKernel>| daemon.kept().memory.law.unwrap().2;
    let enforces = config("mode = \"enforce\"\n");
    let next = start(&enforces, MemoryKernel::default(), Some(kept.clone()));
    assert_eq!(law(&next), law(&start(&enforces, MemoryKernel::default(), None)));
    assert_eq!(law(&start(&config(""), MemoryKernel::default(), Some(kept.clone()))), law(&daemon));
}

#[test]
fn renumbered_host_keeps_class_and_history() {
    let config = config("mode = \"enforce\"\n");
    let mut daemon = start(&config, MemoryKernel::default(), None);
    run(&mut daemon, (0, 40_000), &[(Side::Down, FIRST, 2, true), (Side::Down, FIRST + 1, 2, true)]);
    let (before, law) = (daemon.kernel_mut().class_of(Side::Down, "10.0.1.1"), daemon.kept().memory.law);
    let mut others: Vec<_> = subscribers(3).iter().cloned().collect();
    others[1].prefixes = vec!["10.9.9.9".parse::<Prefix>().unwrap()];
    let others = Subscribers::new(others.into_iter().map(|one| (Place::default(), one))).unwrap();
    daemon.reload(at(40_000), &config, others).unwrap();
    assert_eq!(daemon.kernel_mut().class_of(Side::Down, "10.9.9.9"), before);
    assert_eq!(
        (daemon.kernel_mut().class_of(Side::Down, "10.0.1.1"), daemon.kept().memory.law == law),
        (None, true)
    );
}

#[test]
fn reload_restarts_law_and_refuses_new_devices() {
    let mut daemon = start(&config("mode = \"enforce\"\n"), MemoryKernel::default(), None);
    let arc = config("mode = \"enforce\"\nlaw = \"arc\"\n");
    daemon.reload(at(5_000), &arc, subscribers(3)).unwrap();
    assert_eq!(daemon.gateway().allocation().total, Some(Rate::from_kbps(300)));
    let begins =
        |what: &What| matches!(what, What::Begin { law, .. } if *law == ArcParams::corrected().into());
    assert!(daemon.take_happened().iter().any(begins));
    let refused = daemon.reload(at(5_000), &config("mode = \"observe\"\n"), subscribers(3)).unwrap_err();
    assert_eq!(refused.to_string(), "reload: of another mode: stop, and run again");
}

#[test]
fn pause_opens_and_stop_obeys_setting() {
    for (on_stop, stays) in [("remove", false), ("freeze", true), ("open", true)] {
        let mut daemon = start(
            &config(&format!("mode = \"enforce\"\non_stop = \"{on_stop}\"\n")),
            MemoryKernel::default(),
            None,
        );
        daemon.pause(true);
        assert_eq!(ceiling(&mut daemon, Side::Up, "10.0.0.1"), OPEN);
        daemon.pause(false);
        run(&mut daemon, (200, 500), &[]);
        assert_eq!(ceiling(&mut daemon, Side::Up, "10.0.0.1"), Rate::from_kbps(50));
        daemon.stop("test", false).unwrap();
        assert_eq!(daemon.kernel_mut().there.down.root == Root::Ours, stays);
        if stays {
            let open = ceiling(&mut daemon, Side::Up, "10.0.0.1") == OPEN;
            assert_eq!(open, on_stop == "open");
            daemon.stop("not confirmed", true).unwrap();
            assert_eq!(daemon.kernel_mut().there, MemoryKernel::default().there);
        }
    }
}

/// A changed record is refused at its line, even if a law could read it.
#[test]
fn a_record_that_was_changed_is_refused() {
    let mut daemon = start(&config("mode = \"enforce\"\n"), MemoryKernel::default(), None);
    run(&mut daemon, (0, 30_000), &[(Side::Down, FIRST, 2, true)]);
    let hear = |from: &str, to: &str, what: &[What]| {
        let mut replay = Replay::new(None);
        what.iter().try_for_each(|what| {
            let text = serde_json::to_string(&Line { schema: SCHEMA, at_ms: 0, what: what.clone() }).unwrap();
            replay.hear(&serde_json::from_str(&text.replace(from, to)).unwrap()).map(drop)
        })
    };
    let what = daemon.take_happened();
    let owners = "\"owners\":[0,0,2,2,4,4]";
    assert!(serde_json::to_string(&what[0]).unwrap().contains(owners));
    assert_eq!(hear(owners, owners, &what), Ok(()));
    for others in ["\"owners\":[0,0,2,2,4]", "\"owners\":[0,0,2,2,4,4000000000]", "\"owners\":[]"] {
        assert!(hear(owners, others, &what).unwrap_err().contains("the record was changed"), "{others}");
    }
}

/// Limits that the operator opened stay open after a crash, and close after a stop.
#[test]
fn a_pause_outlives_a_crash() {
    let config = config("mode = \"enforce\"\n");
    let mut daemon = start(&config, MemoryKernel::default(), None);
    daemon.pause(true);
    let kept: Kept = serde_json::from_str(&serde_json::to_string(&daemon.kept()).unwrap()).unwrap();
    let mut next = start(&config, daemon.kernel_mut().clone(), Some(kept.clone()));
    assert_eq!((ceiling(&mut next, Side::Up, "10.0.0.1"), next.is_open()), (OPEN, (true, false)));
    assert!(events(&mut next).contains(&Event::Paused));
    next.pause(false);
    run(&mut next, (200, 500), &[]);
    assert_eq!(ceiling(&mut next, Side::Up, "10.0.0.1"), Rate::from_kbps(50));
    next.pause(true);
    next.stop("test", false).unwrap();
    assert!(!next.kept().is_paused);
    // A state file of an older daemon lacks the key.
    let mut old = serde_json::to_value(&kept).unwrap();
    old.as_object_mut().unwrap().remove("is_paused");
    assert!(!serde_json::from_value::<Kept>(old).unwrap().is_paused);
}

/// A record from a file replays the same decisions bit for bit, or another law's decisions on request.
#[test]
fn a_record_replays_bit_for_bit() {
    let config = config("mode = \"enforce\"\neager = 1\n");
    let mut daemon = start(&config, MemoryKernel::default(), None);
    let mut written = String::new();
    let mut write = |what: Vec<What>, ms: u64| {
        for what in what {
            let line = Line { schema: SCHEMA, at_ms: ms, what };
            written += &(serde_json::to_string(&line).unwrap() + "\n");
        }
    };
    let offered = |i: u32| crate::kernel::Offered {
        address: format!("10.0.{i}.1").parse().unwrap(),
        volume: Volume { packets: 1, bytes: 100 },
    };
    for epoch in 0..40u64 {
        if epoch % 7 == 0 {
            daemon.kernel_mut().offered.push(offered((epoch / 7) as u32 % 3));
        }
        daemon.kernel_mut().no_counters = epoch == 13;
        let there: Vec<u16> =
            daemon.kernel_mut().there.down.tree.classes.keys().copied().filter(|m| *m >= FIRST).collect();
        let rates: Vec<_> = there
            .iter()
            .map(|&m| (Side::Down, m, 1 + (epoch as u32 * u32::from(m)) % 5, epoch % 3 == 0))
            .collect();
        run(&mut daemon, (epoch * 10_000, (epoch + 1) * 10_000), &rates);
        write(daemon.take_happened(), epoch);
        if epoch == 20 {
            write(vec![daemon.gateway().beginning()], epoch); // the record continues in the next file
        }
    }
    let lines: Vec<Line> = written.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let hear = |other| {
        let mut replay = Replay::new(other);
        lines.iter().filter_map(|line| replay.hear(line).unwrap()).collect::<Vec<_>>()
    };
    let same = hear(None);
    assert!(same.len() > 40 && same.iter().all(|answer| answer.is_same));
    assert!(same.iter().any(|answer| answer.recorded.decision.reason == Reason::Unknown));
    assert!(same.iter().any(|answer| answer.recorded.decision.step == Step::Increase));
    let thesis = hear(Some(PfrcParams::jam10().into()));
    assert!(thesis.iter().any(|answer| !answer.is_same));
}
