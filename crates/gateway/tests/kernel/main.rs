//! The gateway on the running kernel, in namespaces that vanish with the process.
#![cfg(target_os = "linux")]
#![expect(clippy::print_stdout, reason = "these tests print what they measure")]

mod faults;
mod lab;
mod load;
mod past;
mod steered;

use evenair_gateway::kernel::Kernel as _;
use evenair_gateway::record::What;
use evenair_gateway::tree::{ACKNOWLEDGEMENTS, UNKNOWN};
use evenair_gateway::{Daemon, Linux, Side};
use evenair_laws::gateway::GatewayTold;
use evenair_linux::{NetworkNamespace, sandbox, scheduling};
use evenair_needs::harness::{self, Test};
use evenair_needs::{Missing, find_all};
use evenair_units::{Duration, Rate};
use lab::{Lab, begun, config, everything, work};
use std::process::ExitCode;

/// The tests; each runs in a network namespace of its own.
const TESTS: &[Test<()>] = &[
    ("everyone_gets_his_share_and_all_is_as_before", everyone_gets_his_share_and_all_is_as_before),
    ("both_directions_share_one_bucket", both_directions_share_one_bucket),
    ("acknowledgements_have_a_class_of_their_own", acknowledgements_have_a_class_of_their_own),
    ("acks_count_if_the_operator_sets_it", acks_count_if_the_operator_sets_it),
    ("faults::who_is_killed_is_followed_by_who_adopts", faults::who_is_killed_is_followed_by_who_adopts),
    ("faults::what_is_changed_by_hand_is_mended", faults::what_is_changed_by_hand_is_mended),
    (
        "faults::a_device_that_comes_back_has_its_limits_again",
        faults::a_device_that_comes_back_has_its_limits_again,
    ),
    ("faults::a_strangers_queue_is_put_back", faults::a_strangers_queue_is_put_back),
    ("faults::a_stop_leaves_nothing_of_a_gateway", faults::a_stop_leaves_nothing_of_a_gateway),
    ("faults::daemon_killed_midway_is_followed", faults::daemon_killed_midway_is_followed),
    (
        "faults::what_leads_past_the_limits_waits_for_no_epoch",
        faults::what_leads_past_the_limits_waits_for_no_epoch,
    ),
    ("faults::device_may_be_renamed_and_its_name_reused", faults::device_may_be_renamed_and_its_name_reused),
    ("faults::a_thousand_newcomers", faults::a_thousand_newcomers),
    (
        "faults::spoofed_sources_fill_no_more_than_their_room",
        faults::spoofed_sources_fill_no_more_than_their_room,
    ),
    ("faults::neighbours_subscribe", faults::neighbours_subscribe),
    ("bridged_subscribers_have_their_shares", past::bridged_subscribers_have_their_shares),
    ("what_leads_past_the_tree_is_named", past::what_leads_past_the_tree_is_named),
    ("flowtables_are_named", past::flowtables_are_named),
    ("leaves_are_what_the_file_says", past::leaves_are_what_the_file_says),
    ("vlans_are_devices_as_others", past::vlans_are_devices_as_others),
    ("steered::rules_that_set_priorities_are_named", steered::rules_that_set_priorities_are_named),
    ("steered::local_proxies_are_named", steered::local_proxies_are_named),
    ("steered::turned_devices_are_named", steered::turned_devices_are_named),
    ("steered::what_is_not_forwarded_is_named", steered::what_is_not_forwarded_is_named),
    ("steered::what_another_rule_leads_away_is_seen", steered::what_another_rule_leads_away_is_seen),
    ("who_observes_sees_and_changes_nothing", who_observes_sees_and_changes_nothing),
    ("load::many_subscribers", load::many_subscribers),
    ("load::packets_pass_with_and_without_us", load::packets_pass_with_and_without_us),
];

fn main() -> ExitCode {
    let prepare = || {
        find_all(&["tc", "nft", "ip"])?;
        sandbox::enter().map_err(|refused| Missing::new("user namespaces", refused))?;
        scheduling::stay_ordinary(); // a test at full load leaves a processor to others
        Ok(())
    };
    harness::main(TESTS, prepare, in_a_namespace)
}

/// Runs a test in a network namespace of its own.
fn in_a_namespace(test: fn()) {
    NetworkNamespace::new().expect("a network namespace").within(test).expect("it can be entered");
}

/// Three subscribers: the third has twice the weight, and addresses of both families.
pub(crate) const THREE: &str = "[law]\nlaw = \"pfrc\"\nepoch = \"1 s\"\ncapacity_high = \"4 Mbps\"\n\
    [[subscriber]]\nid = \"s1\"\nprefixes = [\"10.0.0.11\"]\n\
    [[subscriber]]\nid = \"s2\"\nprefixes = [\"fd00:0:2::/56\"]\n\
    [[subscriber]]\nid = \"s3\"\nprefixes = [\"10.0.0.13\", \"fd00:0:3::/56\"]\nweight = 2\n";

pub(crate) fn ceilings(daemon: &Daemon<Linux>) -> Vec<Rate> {
    daemon.gateway().allocation().each.iter().step_by(2).copied().collect()
}

/// One bucket of 4 Mb/s, as ARC's, in two trees. An upload alone has all of it, and a quarter beside
/// three downloads, which have the rest.
fn both_directions_share_one_bucket() {
    let lab = Lab::new(3);
    let subscriber =
        |k| format!("[[subscriber]]\nid = \"s{k}\"\nprefixes = [\"10.0.0.1{k}\", \"fd00:0:{k}::/56\"]\n");
    let subscribers = [1, 2, 3].map(subscriber).concat();
    let text = format!("[law]\nlaw = \"fixed\"\nrate = \"4 Mbps\"\n{subscribers}");
    let mut daemon = begun(&config(&text), None, false);
    // Returns the rates of classes over some seconds, as parts of 4 Mb/s.
    let mut parts = |classes: &[(&str, usize)], settle: u64, seconds: u64| -> Vec<f64> {
        let all = || classes.iter().map(|&(device, subscriber)| lab::passed(device, subscriber)).collect();
        work(&mut daemon, Duration::from_secs(settle));
        let (begin, then): (_, Vec<u64>) = (lab::now(), all());
        work(&mut daemon, Duration::from_secs(seconds));
        let (got, took): (Vec<u64>, _) = (all(), lab::now().since(begin).as_secs_f64());
        got.iter().zip(then).map(|(got, then)| (got - then) as f64 * 8.0 / 4e6 / took).collect()
    };
    let _up = lab.upload();
    let alone = parts(&[("wan0", 0)], 10, 5)[0];
    let _down = ["10.0.0.11", "10.0.0.12", "10.0.0.13"].map(|to| lab.download(to));
    let beside = parts(&[("wan0", 0), ("mesh0", 0), ("mesh0", 1), ("mesh0", 2)], 10, 10);
    println!("  of 4 Mb/s: an upload alone {alone:.2}, beside three downloads {beside:.2?}");
    let sum: f64 = beside.iter().sum();
    assert!(alone < 1.02 && sum < 1.02, "one bucket: {alone}, {beside:?}");
    assert!(
        beside.iter().all(|part| (0.1..alone / 2.0).contains(part)),
        "each has a part: {alone}, {beside:?}"
    );
    daemon.stop("test", false).expect("all is removed");
}

/// TCP through the gateway has the law's rates, by weight, over IPv4 and IPv6; then no state is left.
fn everyone_gets_his_share_and_all_is_as_before() {
    let lab = Lab::new(3);
    let before = everything();
    let mut daemon = begun(&config(THREE), None, false);
    let _flows = ["10.0.0.11", "fd00:0:2::1", "10.0.0.13"].map(|address| lab.download(address));
    // TCP that starts in so short a queue takes some fifteen seconds to fill a longer one.
    work(&mut daemon, Duration::from_secs(20));
    let sums = lab::given_and_got(&mut daemon, "mesh0", 3, 10);
    println!("  given and got in 10 s: {sums:.0?}");
    sums.iter().for_each(lab::assert_fills);
    let by_weight = sums[2][0] / (sums[0][0] + sums[1][0]);
    assert!((0.95..1.05).contains(&by_weight), "the third has twice the weight: {by_weight}");
    let dropped: u64 = daemon.take_happened().iter().map(dropped).sum();
    assert!(dropped > 10, "TCP finds its rate by what is dropped, of segments too: {dropped}");
    daemon.stop("test", false).expect("all is removed");
    assert_eq!(everything(), before);
}

/// Returns the packets in the uplink's queues for three downloads: over IPv4, over IPv6, and by an
/// address of no subscriber. The last value is the acknowledgements' class.
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

/// Acknowledgements of downloads do not count as uploads. Those of an address without a subscriber are
/// limited like all its packets.
fn acknowledgements_have_a_class_of_their_own() {
    let [first, second, nobody, beside] = acknowledged("");
    // The start of a connection is no acknowledgement.
    assert!([first, second].iter().all(|of| of.is_some_and(|packets| (1..5).contains(&packets))));
    assert!(nobody > Some(20) && beside > Some(100));
}

fn acks_count_if_the_operator_sets_it() {
    let [first, second, _, beside] = acknowledged("[exempt]\nacknowledgements = false\n");
    assert!(first > Some(50) && second > Some(50) && beside.is_none());
}

/// Returns the packets that the gateway dropped in an epoch.
fn dropped(what: &What) -> u64 {
    let What::Heard(heard) = what else { return 0 };
    let GatewayTold::OnEpoch { view } = &heard.told else { return 0 };
    view.classes.iter().flatten().map(|class| class.dropped.packets).sum()
}

fn who_observes_sees_and_changes_nothing() {
    let lab = Lab::new(3);
    let before = everything();
    let mut config = config(THREE);
    config.mode = evenair_gateway::config::Mode::Observe;
    let mut daemon = begun(&config, None, false);
    let flow = lab.download("10.0.0.11");
    let mut seen = None;
    // An epoch that a busy machine's clock cut short has no rate.
    for _ in 0..6 {
        work(&mut daemon, Duration::from_millis(2_500));
        assert_eq!(everything(), before);
        seen = daemon.gateway().statuses()[0].rate_bps;
        if seen > Some(1e6) {
            break;
        }
    }
    assert!(seen > Some(1e6) && flow.bytes() > 100_000, "{seen:?}");
}
