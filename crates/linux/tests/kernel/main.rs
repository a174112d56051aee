//! Requests to the running kernel and its answers, in namespaces that vanish with the process.
#![cfg(target_os = "linux")]
#![expect(clippy::print_stdout, reason = "these tests print their measurements")]

mod gateway;
mod lab;
mod link;
mod nft;
mod packets;
mod tc;

use evenair_linux::{NetworkNamespace, sandbox, scheduling};
use evenair_needs::Missing;
use evenair_needs::harness::{self, Test};
use std::process::ExitCode;

/// The outcome of a test: success, or the missing requirement. A failure is a panic.
type Outcome = Result<(), Missing>;

/// The tests, each run in a network namespace of its own.
const TESTS: &[Test<Outcome>] = &[
    ("link::devices_are_as_they_were_set", link::devices_are_as_they_were_set),
    ("link::refusals_have_the_kernels_words", link::refusals_have_the_kernels_words),
    ("link::neighbours_are_known_once_they_answer", link::neighbours_are_known_once_they_answer),
    ("tc::settings_are_read_back", tc::settings_are_read_back),
    ("tc::disciplines_are_named_as_by_tc", tc::disciplines_are_named_as_by_tc),
    ("tc::a_batch_names_the_refused_requests", tc::a_batch_names_the_refused_requests),
    ("tc::tc_prints_the_settings", tc::tc_prints_the_settings),
    ("tc::a_foreign_discipline_is_put_back", tc::a_foreign_discipline_is_put_back),
    ("tc::thousands_of_classes", tc::thousands_of_classes),
    ("nft::nft_prints_the_settings", nft::nft_prints_the_settings),
    ("nft::entries_are_changed_and_read_back", nft::entries_are_changed_and_read_back),
    ("nft::a_chains_rules_are_replaced_whole", nft::a_chains_rules_are_replaced_whole),
    ("nft::seven_hundred_rules", nft::seven_hundred_rules),
    ("nft::ten_thousand_entries", nft::ten_thousand_entries),
    ("packets::each_packet_is_reported_once", packets::each_packet_is_reported_once),
    ("packets::sequence_numbers_end_where_data_end", packets::sequence_numbers_end_where_data_end),
    ("packets::waiting_packets_have_not_passed", packets::waiting_packets_have_not_passed),
    ("packets::a_device_that_goes_is_reported", packets::a_device_that_goes_is_reported),
    ("packets::large_segments_are_bounded_and_put_back", packets::large_segments_are_bounded_and_put_back),
    ("packets::many_packets", packets::many_packets),
    ("gateway::each_subscriber_gets_its_rate", gateway::each_subscriber_gets_its_rate),
    ("gateway::tcp_fills_its_class", gateway::tcp_fills_its_class),
    ("gateway::a_loaded_class_answers_soon", gateway::a_loaded_class_answers_soon),
    ("gateway::a_changing_ceiling_loses_nothing", gateway::a_changing_ceiling_loses_nothing),
    ("gateway::a_raised_ceiling_waits_off_its_debt", gateway::a_raised_ceiling_waits_off_its_debt),
    ("gateway::local_administrators_choose_a_class", gateway::local_administrators_choose_a_class),
    ("gateway::newcomers_are_counted_and_bounded", gateway::newcomers_are_counted_and_bounded),
    ("gateway::a_bridge_classifies_forwarded_packets", gateway::a_bridge_classifies_forwarded_packets),
];

fn main() -> ExitCode {
    harness::main(
        TESTS,
        || {
            sandbox::enter().map_err(|refused| Missing::new("user namespaces", refused))?;
            scheduling::stay_ordinary(); // a test that sends as fast as it can leaves a processor to others
            Ok(())
        },
        |test| NetworkNamespace::new().expect("a network namespace").within(test).expect("it can be entered"),
    )
}
