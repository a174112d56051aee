//! The gateway on the running kernel, in namespaces that vanish with the process. What the machine lacks is skipped, with the reason.
#![cfg(target_os = "linux")]
#![expect(clippy::print_stdout, reason = "this is a test's own main program, which tells how its tests went")]

mod lab;
mod past;

use evenair_gateway::kernel::Kernel as _;

use evenair_gateway::record::{Event, What};
use evenair_gateway::subscribers::Place;
use evenair_gateway::tree::{ACKNOWLEDGEMENTS, UNKNOWN};
use evenair_gateway::{Daemon, Linux, Side, Subscriber, Subscribers};
use evenair_laws::gateway::GatewayTold;
use evenair_linux::{NetworkNamespace, sandbox};
use evenair_units::{Duration, Rate};
use lab::{Lab, begun, begun_with, config, everything, timed, told, work};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

type Test = (&'static str, fn());

/// Each is run in a network namespace of its own.
const TESTS: &[Test] = &[
    ("everyone_gets_his_share_and_all_is_as_before", everyone_gets_his_share_and_all_is_as_before),
    ("acknowledgements_have_a_class_of_their_own", acknowledgements_have_a_class_of_their_own),
    ("acknowledgements_count_where_the_operator_says_so", acknowledgements_count_where_the_operator_says_so),
    ("who_is_killed_is_followed_by_who_adopts", who_is_killed_is_followed_by_who_adopts),
    ("what_is_changed_by_hand_is_mended", what_is_changed_by_hand_is_mended),
    ("a_device_that_comes_back_has_its_limits_again", a_device_that_comes_back_has_its_limits_again),
    ("a_strangers_queue_is_put_back", a_strangers_queue_is_put_back),
    ("bridged_subscribers_have_their_shares", past::bridged_subscribers_have_their_shares),
    ("what_leads_past_the_tree_is_named", past::what_leads_past_the_tree_is_named),
    ("flowtables_are_named", past::flowtables_are_named),
    ("leaves_are_what_the_file_says", past::leaves_are_what_the_file_says),
    ("vlans_are_devices_as_others", past::vlans_are_devices_as_others),
    ("who_observes_sees_and_changes_nothing", who_observes_sees_and_changes_nothing),
    ("many_subscribers", many_subscribers),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wanted: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|word| name.contains(*word));
    let tests = || TESTS.iter().filter(|(name, _)| is_wanted(name));
    if arguments.iter().any(|word| word == "--list") {
        tests().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    if tests().next().is_none() {
        return ExitCode::SUCCESS;
    }
    for program in ["tc", "nft"] {
        let paths = "/usr/sbin:/sbin:/usr/bin:/bin";
        if std::process::Command::new(program).arg("-V").env("PATH", paths).output().is_err() {
            println!("all skipped: no {program} to compare with");
            return ExitCode::SUCCESS;
        }
    }
    if let Err(refused) = sandbox::enter() {
        println!("all skipped: {refused}");
        return ExitCode::SUCCESS;
    }
    let failed = tests().filter(|(name, test)| !passes(name, *test)).count();
    println!("{} tests of the gateway on the kernel, {failed} failed", tests().count());
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether a test does not fail.
fn passes(name: &str, test: fn()) -> bool {
    let begin = Instant::now();
    let namespace = NetworkNamespace::new().expect("a network namespace");
    let outcome = namespace.within(|| catch_unwind(AssertUnwindSafe(test))).expect("it can be entered");
    let told = if outcome.is_ok() { "ok" } else { "FAILED" };
    println!("test {name} ... {told} ({:.2} s)", begin.elapsed().as_secs_f64());
    outcome.is_ok()
}

/// Says that something was not tried here.
fn skipped(why: &str) {
    println!("  SKIPPED: {why}");
}

/// Three subscribers: the third has twice the weight, and addresses of both families.
const THREE: &str = "[law]\nlaw = \"pfrc\"\nepoch = \"1 s\"\ncapacity_high = \"4 Mbps\"\n\
    [[subscriber]]\nid = \"s1\"\nprefixes = [\"10.0.0.11\"]\n\
    [[subscriber]]\nid = \"s2\"\nprefixes = [\"fd00:0:2::/56\"]\n\
    [[subscriber]]\nid = \"s3\"\nprefixes = [\"10.0.0.13\", \"fd00:0:3::/56\"]\nweight = 2\n";

fn ceilings(daemon: &Daemon<Linux>) -> Vec<Rate> {
    daemon.gateway().allocation().each.iter().step_by(2).copied().collect()
}

/// TCP through the gateway has the rates that the law gave, by weight, over IPv4 and IPv6; then nothing is left.
fn everyone_gets_his_share_and_all_is_as_before() {
    let lab = Lab::new(3);
    let before = everything();
    let mut daemon = begun(&config(THREE), None, false);
    let flows = ["10.0.0.11", "fd00:0:2::1", "10.0.0.13"].map(|address| lab.download(address));
    work(&mut daemon, Duration::from_secs(12));
    // What is given changes once a second at most.
    let (mut given, then) = ([0.0; 3], flows.each_ref().map(lab::Flow::bytes));
    for _ in 0..10 {
        let rates = ceilings(&daemon);
        work(&mut daemon, Duration::from_secs(1));
        given.iter_mut().zip(rates).for_each(|(sum, rate)| *sum += rate.as_bps() as f64 / 8.0);
    }
    let got = [0, 1, 2].map(|i| (flows[i].bytes() - then[i]) as f64);
    println!("  given {given:.0?}, got {got:.0?} bytes in 10 s");
    for (got, given) in got.iter().zip(given) {
        // TCP's data are 1448 or 1428 of 1514 bytes.
        let share = got / given;
        assert!((0.80..1.02).contains(&share), "{share}");
    }
    let by_weight = got[2] / (got[0] + got[1]);
    assert!((0.85..1.15).contains(&by_weight), "{by_weight}");
    let dropped: u64 = daemon.take_happened().iter().map(dropped).sum();
    assert!(dropped > 10, "TCP finds its rate by what is dropped, of segments too: {dropped}");
    daemon.stop("test", false).expect("all is removed");
    assert_eq!(everything(), before);
}

/// What the queues towards the Internet count of three downloads, over IPv4, over IPv6, and by an address that is nobody's; and beside
/// them.
fn acknowledged(rest: &str) -> [Option<u32>; 4] {
    let lab = Lab::new(4);
    let config = config(&format!("{THREE}{rest}"));
    let mut daemon = begun(&config, None, false);
    let _flows = ["10.0.0.11", "fd00:0:2::1", "10.0.0.14"].map(|address| lab.download(address));
    work(&mut daemon, Duration::from_secs(4));
    let up = Linux::new(&config).expect("the kernel").counters(Side::Up).expect("counters");
    daemon.stop("test", false).expect("all is removed");
    let counted = [0x10, 0x11, UNKNOWN, ACKNOWLEDGEMENTS].map(|minor| Some(up.get(&minor)?.packets));
    println!("  {counted:?}");
    counted
}

/// Downloads' acknowledgements are nobody's uploads; those of an address that is nobody's are bound as all that it sends.
fn acknowledgements_have_a_class_of_their_own() {
    let [first, second, nobody, beside] = acknowledged("");
    // A connection's beginning is no acknowledgement.
    assert!([first, second].iter().all(|of| of.is_some_and(|packets| (1..5).contains(&packets))));
    assert!(nobody > Some(20) && beside > Some(100));
}

fn acknowledgements_count_where_the_operator_says_so() {
    let [first, second, _, beside] = acknowledged("[exempt]\nacknowledgements = false\n");
    assert!(first > Some(50) && second > Some(50) && beside.is_none());
}

/// Packets that the gateway gave up in an epoch.
fn dropped(what: &What) -> u64 {
    let What::Heard(heard) = what else { return 0 };
    let GatewayTold::OnEpoch { view } = &heard.told else { return 0 };
    view.classes.iter().flatten().map(|class| class.dropped.packets).sum()
}

fn who_is_killed_is_followed_by_who_adopts() {
    let _lab = Lab::new(3);
    let before = everything();
    let config = config(THREE);
    let daemon = begun(&config, None, false);
    let kept = daemon.kept();
    let classes = told("tc", "class show dev mesh0");
    // No goodbye: the kernel keeps what stands.
    drop(daemon);
    let mut next = begun(&config, Some(kept), false);
    assert_eq!(told("tc", "class show dev mesh0"), classes, "not one class is made anew");
    next.stop("test", false).expect("all is removed");
    assert_eq!(everything(), before);
}

fn what_is_changed_by_hand_is_mended() {
    let _lab = Lab::new(3);
    let mut daemon = begun(&config(THREE), None, false);
    work(&mut daemon, Duration::from_millis(1_200));
    daemon.take_happened();
    told("tc", "class change dev mesh0 parent e7a1:1 classid e7a1:10 htb rate 9mbit ceil 9mbit");
    told("nft", "delete element inet evenair up4 { 10.0.0.11 }");
    work(&mut daemon, Duration::from_millis(1_200));
    let happened = daemon.take_happened();
    let mended: Vec<_> =
        happened.iter().filter(|what| matches!(what, What::Event(Event::Mended(..)))).collect();
    assert_eq!(mended.len(), 1, "{happened:?}");
    assert!(matches!(mended[0], What::Event(Event::Mended(2, _))), "{mended:?}");
    assert!(told("nft", "list map inet evenair up4").contains("10.0.0.11 : e7a1:10"));
    assert!(!told("tc", "class show dev mesh0 classid e7a1:10").contains("9Mbit"));
    // It rests: what is read is what was set.
    work(&mut daemon, Duration::from_secs(3));
    let happened = daemon.take_happened();
    assert!(!happened.iter().any(|what| matches!(what, What::Event(_))), "{happened:?}");
}

fn a_device_that_comes_back_has_its_limits_again() {
    let lab = Lab::new(3);
    let mut daemon = begun(&config(THREE), None, false);
    work(&mut daemon, Duration::from_millis(1_200));
    told("ip", "link delete mesh0");
    work(&mut daemon, Duration::from_millis(1_200));
    let is_trouble = |what: &What| matches!(what, What::Event(Event::Trouble(_)));
    assert!(daemon.take_happened().iter().any(is_trouble));
    lab.join_mesh(3);
    work(&mut daemon, Duration::from_millis(2_200));
    assert!(told("tc", "class show dev mesh0").contains("e7a1:12"));
    // Its packets are led to their class, whatever number the device has now; and are seen.
    let flow = lab.download("10.0.0.11");
    work(&mut daemon, Duration::from_secs(3));
    let (got, most) = (flow.bytes(), ceilings(&daemon)[0].as_bps() / 8 * 4);
    assert!(got > 10_000 && got < most, "{got} bytes, at most {most}");
    assert!(daemon.gateway().statuses()[0].busy.is_some_and(|busy| busy > 0.1));
    daemon.stop("test", false).expect("all is removed");
}

fn a_strangers_queue_is_put_back() {
    let _lab = Lab::new(3);
    told("tc", "qdisc add dev wan0 root handle 7: pfifo limit 77");
    let before = everything();
    let config = config(THREE);
    let (subscribers, _) = config.subscribers("gateway.toml", 0).expect("subscribers");
    let kernel = Linux::new(&config).expect("the kernel");
    let refused = Daemon::new(evenair_gateway::run::now(), &config, subscribers, kernel, (None, false));
    let refused = refused.expect_err("somebody's queue is there").to_string();
    assert!(refused.starts_with("wan0: somebody's pfifo 7: is its root; --take-over"), "{refused}");
    let mut daemon = begun(&config, None, true);
    assert!(!told("tc", "qdisc show dev wan0").contains("pfifo"));
    daemon.stop("test", false).expect("all is put back");
    assert_eq!(everything(), before);
}

fn who_observes_sees_and_changes_nothing() {
    let lab = Lab::new(3);
    let before = everything();
    let mut config = config(THREE);
    config.mode = evenair_gateway::config::Mode::Observe;
    let mut daemon = begun(&config, None, false);
    let flow = lab.download("10.0.0.11");
    work(&mut daemon, Duration::from_millis(2_500));
    assert_eq!(everything(), before);
    let seen = daemon.gateway().statuses()[0].rate_bps.expect("packets are seen");
    assert!(seen > 1e6 && flow.bytes() > 100_000, "{seen}");
}

/// What an epoch costs with a thousand subscribers, all of them with classes. The bound is ten times what was measured on two cores of a
/// shared machine.
fn many_subscribers() {
    let count: u32 = if std::env::var_os("EVENAIR_TEN_THOUSAND").is_some() { 10_000 } else { 1_000 };
    let _lab = Lab::new(1);
    let config =
        config("eager = 100000\n[law]\nlaw = \"pfrc\"\nepoch = \"1 s\"\ncapacity_high = \"400 Mbps\"\n");
    let of = |i: u32| {
        let prefix = format!("10.0.{}.{}", 1 + i / 250, 1 + i % 250).parse().expect("an address");
        (Place::default(), Subscriber { prefixes: vec![prefix], ..Subscriber::new(format!("s{i}")) })
    };
    let subscribers = Subscribers::new((0..count).map(of)).expect("subscribers");
    let (mut daemon, begin) = timed(|| begun_with(&config, subscribers, None, false));
    let (_, find) = timed(|| Linux::new(&config).expect("the kernel").find().expect("what is there"));
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let ((), epoch) = timed(|| daemon.step(evenair_gateway::run::now()));
    let ((), pause) = timed(|| daemon.pause(true));
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
    let (_, stop) = timed(|| daemon.stop("test", true).expect("all is removed"));
    println!("  stop {stop}");
}
