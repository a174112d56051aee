//! Shares of the air among real mac80211 stations, on the medium of this program. Never rates: the machine is emulated.

use crate::lab::{
    Daemon, FIRST, HOSTAPDS, Source, helper, hostapd_with, join, radio_of, shell, stop_hostapd, wait_for,
};
use crate::medium::SLOWNESS;
use evenair_access::radio::Radio as _;
use evenair_laws::backoff::Registers;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

/// Access points in the row.
const COUNT: u32 = 3;

/// The channel and the only rate of all, in a country without limits of registers.
const CHANNEL: &str = "hw_mode=a\nchannel=36\ncountry_code=US\nieee80211d=1\nsupported_rates=60\nbasic_rates=60\ntx_queue_data2_cwmax=1023\ndisassoc_low_ack=0\nbeacon_int=1000\n";

/// hostapd's registers by those lines.
const OWN: Registers = Registers { window_max: 1023, ..HOSTAPDS };

/// Loads six radios: three access points in a row, each with a station.
pub(crate) fn row_of_access_points_begins() {
    stop_hostapd(FIRST);
    shell("rmmod mac80211_hwsim; modprobe mac80211_hwsim radios=6");
    wait_for("radios", || Path::new("/sys/class/net/wlan5").exists().then_some(()));
    // The middle access point's beacons starve, too, and its station is to stay.
    shell("echo 1000000 > /sys/module/mac80211/parameters/beacon_loss_count");
    // It ends with the machine.
    let _ = helper(&["medium", &COUNT.to_string()]);
    wait_for("medium", || Path::new("/sys/kernel/tracing/instances/medium").exists().then_some(()));
    shell("iw reg set US");
    println!("| scene | packets of the first | of the second | of the third | share of the second |");
    println!("|---|---|---|---|---|");
    for k in 0..COUNT {
        hostapd_with(&format!("wlan{k}"), CHANNEL, OWN);
        join(k, &station(k), 5180);
    }
}

fn station(k: u32) -> String {
    format!("wlan{}", COUNT + k)
}

/// Begins to send from some access points to their stations.
fn begin<const N: usize>() -> [Source; N] {
    std::array::from_fn(|k| Source::start(k as u32, &station(k as u32)))
}

/// Returns the packets that each station receives in some seconds.
fn measure<const N: usize>(sources: &[Source; N], seconds: u64) -> [u64; N] {
    let before = sources.each_ref().map(Source::received);
    sleep(Duration::from_secs(seconds));
    std::array::from_fn(|k| sources[k].received() - before[k])
}

/// Prints a row of the table that `validation/record.py access-shares cargo xtask foreign` keeps.
fn show<const N: usize>(scene: &str, packets: [u64; N]) {
    let cells: Vec<String> =
        (0..COUNT as usize).map(|k| packets.get(k).map_or("-".into(), u64::to_string)).collect();
    println!("| {scene} | {} | {:.3} |", cells.join(" | "), share(packets));
}

/// Returns the second access point's part of all packets.
fn share<const N: usize>(packets: [u64; N]) -> f64 {
    packets[1] as f64 / packets.iter().sum::<u64>() as f64
}

/// Two neighbours, one with `CWmin` 255: its mean back-off is 17 times as long.
pub(crate) fn longer_window_has_the_smaller_share() {
    let sources = begin::<2>();
    sleep(Duration::from_secs(1));
    let alike = measure(&sources, 3);
    let pinned = Registers { window_min: 255, window_max: 1023, aifsn: 3, txop_units: 0 };
    let mut radio = radio_of(FIRST);
    radio.set(pinned).expect("it is an access point");
    sleep(Duration::from_secs(1));
    let pinned = measure(&sources, 4);
    radio.set(OWN).expect("it is an access point");
    drop(sources);
    show("two that send, alike", alike);
    show("two, CWmin 255 at the first", pinned);
    let of_other = |[first, second]: [u64; 2]| first as f64 / second as f64;
    assert!((0.5..2.0).contains(&of_other(alike)), "alike");
    assert!(of_other(pinned) < 0.3, "the first has less than 0.3 of the other's");
}

/// [Lee12]'s flow in the middle: it starves between two that do not hear each other, until these run virtual queues.
pub(crate) fn middle_gains_by_the_outer_laws() {
    let sources = begin::<3>();
    sleep(Duration::from_secs(2));
    let before = measure(&sources, 4);
    // V = 500 per 10 simulated ms, and a start near the fixed point: from 1 it takes minutes in slow motion.
    let law = format!("--enforce --set aifsn=3 --set v={} --set vq_start=250", 5000 / SLOWNESS);
    let laws = ["wlan0", "wlan2"].map(|interface| Daemon::start(interface, &law));
    let _ = laws.each_ref().map(Daemon::accepted);
    sleep(Duration::from_secs(4));
    let during = measure(&sources, 12);
    let stations = radio_of("wlan1").stations().expect("stations").len();
    assert_eq!(stations, 1, "the middle one's station stays");
    let told = laws.each_ref().map(|law| law.status().expect("it runs"));
    laws.into_iter().for_each(Daemon::stop);
    drop(sources);
    show("three, alike", before);
    show("three, virtual queues at the first and third", during);
    for told in told {
        println!("  {}: aggressiveness {:?}, {:?}", told.interface, told.aggressiveness, told.accepted);
    }
    assert!(share(before) < 0.05, "the middle starves");
    assert!(share(during) > 2.0 * share(before) && share(during) > 0.05, "the middle gains");
}
