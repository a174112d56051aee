//! What this crate asks of the kernel, asked of the running one, in namespaces that vanish with the process. What the kernel or
//! machine lacks is skipped, with the reason.
#![cfg(target_os = "linux")]
#![expect(clippy::print_stdout, reason = "this is a test's own main program, which tells how its tests went")]

mod gateway;
mod lab;
mod link;
mod nft;
mod packets;
mod tc;

use evenair_linux::{NetworkNamespace, sandbox};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

/// Why a test cannot be made here.
struct Skipped(String);

/// A test that was made, or why not. It fails by a panic.
type Outcome = Result<(), Skipped>;

type Test = (&'static str, fn() -> Outcome);

/// Each is run in a network namespace of its own.
const TESTS: &[Test] = &[
    ("link::devices_are_as_they_were_set", link::devices_are_as_they_were_set),
    ("link::refusals_have_the_kernels_words", link::refusals_have_the_kernels_words),
    ("link::neighbours_are_known_once_they_answer", link::neighbours_are_known_once_they_answer),
    ("tc::what_was_set_is_read_back", tc::what_was_set_is_read_back),
    ("tc::disciplines_are_known_as_tc_knows_them", tc::disciplines_are_known_as_tc_knows_them),
    ("tc::a_batch_tells_which_were_refused", tc::a_batch_tells_which_were_refused),
    ("tc::tc_prints_what_was_set", tc::tc_prints_what_was_set),
    ("tc::a_foreign_discipline_is_put_back", tc::a_foreign_discipline_is_put_back),
    ("tc::thousands_of_classes", tc::thousands_of_classes),
    ("nft::nft_prints_what_was_set", nft::nft_prints_what_was_set),
    ("nft::entries_are_changed_and_read_back", nft::entries_are_changed_and_read_back),
    ("nft::a_chains_rules_are_replaced_whole", nft::a_chains_rules_are_replaced_whole),
    ("nft::seven_hundred_rules", nft::seven_hundred_rules),
    ("nft::ten_thousand_entries", nft::ten_thousand_entries),
    ("packets::each_packet_is_told_once", packets::each_packet_is_told_once),
    ("packets::sequence_numbers_end_where_data_end", packets::sequence_numbers_end_where_data_end),
    ("packets::what_waits_has_not_passed", packets::what_waits_has_not_passed),
    ("packets::a_device_that_goes_is_told", packets::a_device_that_goes_is_told),
    ("packets::large_segments_are_bounded_and_put_back", packets::large_segments_are_bounded_and_put_back),
    ("packets::many_packets", packets::many_packets),
    ("gateway::each_subscriber_gets_its_rate", gateway::each_subscriber_gets_its_rate),
    ("gateway::tcp_fills_its_class", gateway::tcp_fills_its_class),
    ("gateway::a_loaded_class_answers_soon", gateway::a_loaded_class_answers_soon),
    ("gateway::a_changing_ceiling_loses_nothing", gateway::a_changing_ceiling_loses_nothing),
    ("gateway::a_raised_ceiling_waits_off_its_debt", gateway::a_raised_ceiling_waits_off_its_debt),
    (
        "gateway::local_programs_choose_a_class_if_they_may_administer",
        gateway::local_programs_choose_a_class_if_they_may_administer,
    ),
    ("gateway::newcomers_are_counted_and_bounded", gateway::newcomers_are_counted_and_bounded),
    ("gateway::a_bridge_classifies_what_it_passes_on", gateway::a_bridge_classifies_what_it_passes_on),
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
    if let Err(refused) = sandbox::enter() {
        println!("all skipped: {refused}");
        return ExitCode::SUCCESS;
    }
    let failed = tests().filter(|(name, test)| !passes(name, *test)).count();
    println!("{} tests of the kernel, {failed} failed", tests().count());
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether a test does not fail.
fn passes(name: &str, test: fn() -> Outcome) -> bool {
    let begin = Instant::now();
    let namespace = NetworkNamespace::new().expect("a network namespace");
    let outcome = namespace.within(|| catch_unwind(AssertUnwindSafe(test))).expect("it can be entered");
    let told = match &outcome {
        Ok(Ok(())) => "ok".to_owned(),
        Ok(Err(Skipped(reason))) => format!("skipped: {reason}"),
        Err(_) => "FAILED".to_owned(),
    };
    println!("test {name} ... {told} ({:.2} s)", begin.elapsed().as_secs_f64());
    outcome.is_ok()
}
