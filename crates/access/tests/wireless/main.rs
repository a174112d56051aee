//! The daemon on a stock kernel, with hostapd and simulated radios (`mac80211_hwsim`): `lab/wireless.sh` boots one in qemu, and
//! this program is all that runs there, with the command `evenair`.
//!
//! The driver's values are read by an event probe. hwsim itself has no carrier sense and no EDCA; the [`medium`] behind it
//! has. No rate is measured: the machine is emulated.
//!
//! Words name tests to run, by parts of their names; `lab/wireless.sh` passes them on.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, clippy::zombie_processes, reason = "a program of a machine of its own")]

mod lab;
mod medium;
mod page;
mod probe;
mod registers;
mod shares;

use registers as of;
use std::process::ExitCode;
use std::time::Instant;

/// The tests, in order: each begins with the radios as the one before has left them.
const TESTS: [(&str, fn()); 19] = [
    ("other_kinds_of_interfaces_are_refused", of::other_kinds_of_interfaces_are_refused),
    ("registers_reach_the_driver", of::registers_reach_the_driver),
    ("laws_of_queues_need_queues", of::laws_of_queues_need_queues),
    ("hostapds_restart_is_made_good", of::hostapds_restart_is_made_good),
    ("links_and_channels_changes_are_news", of::links_and_channels_changes_are_news),
    ("killed_daemon_is_put_right", of::killed_daemon_is_put_right),
    ("killed_in_any_phase_is_put_right", of::killed_in_any_phase_is_put_right),
    ("closed_terminal_is_an_end", of::closed_terminal_is_an_end),
    ("station_comes_and_goes", of::station_comes_and_goes),
    ("second_daemon_is_refused", of::second_daemon_is_refused),
    ("privilege_is_needed", of::privilege_is_needed),
    ("renamed_access_point_is_put_back", of::renamed_access_point_is_put_back),
    ("removed_radio_is_waited_for", of::removed_radio_is_waited_for),
    ("aggregates_are_told", of::aggregates_are_told),
    ("countrys_limits_are_predicted", of::countrys_limits_are_predicted),
    ("row_of_access_points_begins", shares::row_of_access_points_begins),
    ("longer_window_has_the_smaller_share", shares::longer_window_has_the_smaller_share),
    ("middle_gains_by_the_outer_laws", shares::middle_gains_by_the_outer_laws),
    ("operators_page_is_followed", page::operators_page_is_followed),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [role, count] = &words[..]
        && role == "medium"
    {
        let served = medium::Row::new(count.parse().expect("a number")).and_then(|mut row| row.serve());
        println!("medium: {served:?}");
        return ExitCode::FAILURE;
    }
    lab::shell("modprobe mac80211_hwsim radios=2");
    lab::shell("mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing");
    std::sync::LazyLock::force(&lab::PROBE);
    let begun = Instant::now();
    let is_wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let wanted = TESTS.iter().filter(|(name, _)| is_wanted(name));
    let mut count = 0;
    for (name, test) in wanted {
        let at = Instant::now();
        test();
        println!("test {name} ... ok ({:.1} s)", at.elapsed().as_secs_f64());
        count += 1;
    }
    println!("{count} tests passed in {:.1} s", begun.elapsed().as_secs_f64());
    ExitCode::SUCCESS
}
