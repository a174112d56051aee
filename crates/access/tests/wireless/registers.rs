//! Registers that can be set, and other programs that set them.

use crate::lab::{
    Daemon, FIRST, HOSTAPDS, OF_24_GHZ, PROBE, hostapd, join, output, radio, refused, seen, shell, status,
    stop_hostapd, wait_for,
};
use evenair_access::config::STATE;
use evenair_access::radio::Radio as _;
use evenair_laws::backoff::{RegisterLimits, Registers};
use evenair_linux::hwsim::join_without_80211n;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

const ASKED: Registers = Registers { window_min: 7, window_max: 15, aifsn: 2, txop_units: 47 };

/// Sets registers of the first interface; returns the error's kind.
fn set() -> Result<(), ErrorKind> {
    radio().set(ASKED).map_err(|error| error.kind())
}

/// `check` fails, and a run waits and sets nothing.
fn is_no_access_point() {
    let (status, why) = refused("evenair backoff check wlan0");
    assert_eq!(status, Some(2), "{why}");
    assert!(why.contains("access points only"), "{why}");
    PROBE.clear();
    let told = shell("evenair backoff run wlan0 --enforce --for '100 ms'");
    assert!(told.contains("waiting: wlan0 is "), "{told}");
    assert_eq!(seen(), []);
    assert!(!state().exists(), "nothing is left to put back");
}

/// The file of the registers to put back.
fn state() -> PathBuf {
    Path::new(STATE).join("wlan0.json")
}

/// Stations, ad hoc networks, meshes: EINVAL. An access point that is down: ENETDOWN.
pub(crate) fn other_kinds_of_interfaces_are_refused() {
    shell("ip link set wlan0 up");
    assert_eq!(set(), Err(ErrorKind::InvalidInput), "a client");
    for (kind, begin, end) in
        [("ibss", "ibss join cell 2412", "ibss leave"), ("mp", "mesh join m freq 2412", "mesh leave")]
    {
        shell(&format!(
            "ip link set wlan0 down; iw dev wlan0 set type {kind}; ip link set wlan0 up; iw dev wlan0 {begin}"
        ));
        assert_eq!(set(), Err(ErrorKind::InvalidInput), "{kind}");
        is_no_access_point();
        shell(&format!("iw dev wlan0 {end}"));
    }
    shell("ip link set wlan0 down; iw dev wlan0 set type monitor; ip link set wlan0 up");
    is_no_access_point();
    // Without hostapd an access point has no channel.
    shell("ip link set wlan0 down; iw dev wlan0 set type __ap");
    let (_, why) = refused("evenair backoff check wlan0");
    assert!(why.contains("wlan0 has no channel yet; start hostapd"), "{why}");
    let (_, why) = refused("evenair backoff check wlan7");
    assert!(why.contains("wlan7: no such Wi-Fi interface; there are wlan0, "), "{why}");
    assert_eq!(set(), Err(ErrorKind::NetworkDown));
    shell("ip link set wlan0 up");
    PROBE.clear();
    assert_eq!(set(), Ok(()), "an access point that is up");
    assert_eq!(seen(), [ASKED]);
    shell("ip link set wlan0 down; iw dev wlan0 set type managed");
}

/// The daemon counts time by a clock that no change of the date moves.
pub(crate) fn registers_reach_the_driver() {
    hostapd(FIRST, OF_24_GHZ);
    join(0, "wlan1", 2412);
    PROBE.clear();
    let daemon = Daemon::enforce();
    let first = daemon.accepted();
    assert_eq!(first.aifsn, 5, "{first}");
    daemon.stands();
    shell("date -s 2031-01-01; ping -c 20 -i 0.05 -W 2 10.0.0.2; date -s 2021-01-01");
    let before = daemon.status().expect("it runs").updates;
    let told = wait_for("updates", || daemon.status().filter(|told| told.updates > before + 3));
    assert!(told.aggressiveness > Some(0.0), "{told:?}");
    assert_eq!(told.waits, None);
    daemon.stands();
    daemon.stop();
    assert_eq!(seen().last(), Some(&HOSTAPDS), "put back");
}

/// hwsim has queues in mac80211 from Linux 6.2 on. Without them `check` names the law that is left, and others end.
pub(crate) fn laws_of_queues_need_queues() {
    let told = shell("evenair backoff check wlan0");
    let stations = radio().stations().expect("stations");
    if stations.iter().any(|station| station.queues[2].has_queue) {
        assert!(told.contains("every law can run"), "{told}");
        let taken = |at: usize| radio().stations().expect("stations")[at].queues[2].taken_packets;
        let before = taken(0);
        for law in ["optimal", "queueing-delay", "adaptive"] {
            let daemon = Daemon::start(FIRST, &format!("--enforce --law {law}"));
            daemon.stands();
            shell("ping -c 10 -i 0.05 -W 2 10.0.0.2");
            let begun = daemon.status().expect("it runs").updates;
            wait_for("updates", || daemon.status().filter(|told| told.updates > begun + 3));
            daemon.stop();
        }
        assert!(taken(0) >= before + 30, "each ping passes its queue");
        return;
    }
    assert!(told.contains("only law = \"virtual-queue\" by packets can run"), "{told}");
    for law in ["optimal", "queueing-delay", "adaptive"] {
        PROBE.clear();
        let (status, why) = refused(&format!("evenair backoff run wlan0 --enforce --law {law}"));
        assert_eq!(status, Some(3), "{why}");
        assert!(why.contains("has no queues in mac80211"), "{why}");
        assert_eq!(seen(), [], "{law} sets nothing");
    }
}

pub(crate) fn hostapds_restart_is_made_good() {
    let daemon = Daemon::enforce();
    let _ = daemon.accepted();
    stop_hostapd(FIRST);
    wait_for("daemon that waits", || daemon.status()?.waits);
    hostapd(FIRST, OF_24_GHZ);
    join(0, "wlan1", 2412);
    let _ = daemon.accepted();
    daemon.stands();
    daemon.kill();
    assert!(shell("evenair backoff restore wlan0").starts_with("put back: "));
    assert_eq!(seen().last(), Some(&HOSTAPDS));
}

/// The kernel's own registers come back with the link. A channel switch leaves registers, and has other limits.
pub(crate) fn links_and_channels_changes_are_news() {
    let daemon = Daemon::enforce();
    let wanted = daemon.accepted();
    let looks = || daemon.status().map(|told| told.looks).unwrap_or_default();
    let before = looks();
    shell("ip link set wlan0 down");
    PROBE.clear();
    shell("ip link set wlan0 up");
    wait_for("kernel's registers", || seen().iter().any(|one| one.aifsn != wanted.aifsn).then_some(()));
    daemon.stands();
    wait_for("looks after the link's messages", || (looks() > before).then_some(()));
    // hostapd's beacons end with the link.
    stop_hostapd(FIRST);
    hostapd(FIRST, OF_24_GHZ);
    join(0, "wlan1", 2412);
    let before = looks();
    shell("hostapd_cli -p /run/hostapd -i wlan0 chan_switch 5 2437");
    wait_for("other channel", || (radio().find().ok()??.interface.frequency_mhz == Some(2437)).then_some(()));
    wait_for("look after the switch", || (looks() > before).then_some(()));
    daemon.stands();
    daemon.stop();
}

pub(crate) fn killed_daemon_is_put_right() {
    // A link that is down has no registers of ours.
    let daemon = Daemon::enforce();
    let _ = daemon.accepted();
    daemon.kill();
    shell("ip link set wlan0 down");
    let told = shell("evenair backoff restore wlan0");
    assert!(told.starts_with("nothing to put back: the interface is down"), "{told}");
    stop_hostapd(FIRST);
    hostapd(FIRST, OF_24_GHZ);
    join(0, "wlan1", 2412);
    let daemon = Daemon::enforce();
    let _ = daemon.accepted();
    daemon.stands();
    daemon.kill();
    assert!(state().exists(), "registers are to be put back");
    PROBE.clear();
    let next = Daemon::start(FIRST, "");
    wait_for("updates", || next.status().filter(|told| told.updates > 1));
    next.stop();
    assert_eq!(seen(), [HOSTAPDS], "put back, and nothing else");
    PROBE.clear();
    let told = shell("evenair backoff restore wlan0");
    assert!(told.starts_with("nothing to put back: no run has left registers of wlan0"), "{told}");
    assert_eq!(seen(), [], "without a state nothing is set");
}

/// Killed at any time of its beginning, and in the middle of a trial.
pub(crate) fn killed_in_any_phase_is_put_right() {
    let put_back = |phase: &str| {
        let left = state().exists();
        let told = shell("evenair backoff restore wlan0");
        assert_eq!(told.starts_with("put back: "), left, "{phase}: {told}");
        assert!(seen().last().is_none_or(|last| *last == HOSTAPDS), "{phase}: {:?}", seen());
        assert!(!state().exists());
        left
    };
    for ms in [50, 200, 400, 800] {
        PROBE.clear();
        let daemon = Daemon::enforce();
        sleep(Duration::from_millis(ms));
        daemon.kill();
        put_back(&format!("{ms} ms"));
    }
    let daemon = Daemon::enforce();
    let _ = daemon.accepted();
    daemon.kill();
    assert!(put_back("registers are set"));
    PROBE.clear();
    let trial = Daemon::by_shell(FIRST, "evenair backoff check wlan0 --trial --yes");
    wait_for("largest windows", || seen().last().filter(|last| last.window_min == 1023).copied());
    trial.kill();
    assert!(put_back("trial"));
}

/// The reader of its output is gone, then its terminal: SIGHUP.
pub(crate) fn closed_terminal_is_an_end() {
    let mut child = Command::new("evenair")
        .args(["backoff", "run", FIRST, "--enforce", "--set", "aifsn=5"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    wait_for("registers", || seen().last().filter(|last| last.aifsn == 5).copied());
    shell(&format!("kill -HUP {}", child.id()));
    assert!(child.wait().expect("it ends").success());
    assert_eq!(seen().last(), Some(&HOSTAPDS));
    assert!(!state().exists());
}

/// A station that leaves takes its counters with it; one that comes again begins them at zero.
pub(crate) fn station_comes_and_goes() {
    let daemon = Daemon::enforce();
    let _ = daemon.accepted();
    shell("ip netns exec wlan1 iw dev wlan1 disconnect");
    wait_for("end of the station", || radio().stations().ok().filter(Vec::is_empty));
    let before = daemon.status().expect("it runs");
    let later = wait_for("updates", || daemon.status().filter(|told| told.updates > before.updates + 3));
    assert_eq!((later.waits, later.backlog_packets), (None, 0));
    join(0, "wlan1", 2412);
    daemon.stands();
    daemon.stop();
}

/// In DE on channel 36 the kernel cuts silently: registers within our limits reach the driver unchanged.
pub(crate) fn countrys_limits_are_predicted() {
    stop_hostapd(FIRST);
    shell("iw reg set DE");
    hostapd(FIRST, "hw_mode=a\nchannel=36\ncountry_code=DE\nieee80211d=1\n");
    let mut radio = radio();
    let found = radio.find().expect("interfaces").expect("it is there");
    // wireless-regdb: best effort of clients in ETSI's countries.
    let etsi = RegisterLimits { window_min: 15, window_max: 1023, aifsn: 3, txop_units: 187 };
    assert_eq!(found.limits, Some(etsi));
    assert_eq!(found.interface.frequency_mhz, Some(5180));
    let asked = [
        Registers { window_min: 3, window_max: 7, aifsn: 1, txop_units: 200 },
        Registers { window_min: 31, window_max: 255, aifsn: 9, txop_units: 0 },
        Registers { window_min: 1023, window_max: 1023, aifsn: 2, txop_units: 255 },
    ];
    for asked in asked {
        let wanted = asked.within(&etsi);
        PROBE.clear();
        radio.set(wanted).expect("it is an access point");
        assert_eq!(seen(), [wanted], "{asked}");
        // Without our limits the kernel cuts to those of access points, which are not stricter.
        PROBE.clear();
        radio.set(asked).expect("it is an access point");
        let [cut] = seen()[..] else { panic!("{:?}", seen()) };
        assert_eq!(cut, asked.within(&RegisterLimits { window_max: 63, ..etsi }), "{asked}");
    }
    stop_hostapd(FIRST);
}

/// Another user gets EPERM, and has set nothing that would be put back.
pub(crate) fn privilege_is_needed() {
    fs::write("/etc/passwd", "root:x:0:0::/:/bin/sh\nnobody:x:1000:1000::/:/bin/sh\n").expect("a file");
    shell("mkdir -p /tmp/nobody && chown 1000:1000 /tmp/nobody");
    PROBE.clear();
    let run = "evenair backoff run wlan0 --enforce --state /tmp/nobody";
    let (_, why) = refused(&format!("su nobody -s /bin/sh -c '{run}'"));
    assert!(why.contains("needs CAP_NET_ADMIN"), "{why}");
    assert_eq!(seen(), []);
    assert!(!Path::new("/tmp/nobody/wlan0.json").exists(), "nothing is to be put back");
    assert!(shell("su nobody -s /bin/sh -c 'evenair backoff check wlan0'").contains("an access point"));
}

/// One daemon an interface; a damaged state is named.
pub(crate) fn second_daemon_is_refused() {
    let daemon = Daemon::enforce();
    let _ = daemon.accepted();
    let (_, why) = refused("evenair backoff run wlan0 --enforce");
    assert!(why.contains("another evenair backoff runs on wlan0"), "{why}");
    let (_, why) = refused("evenair backoff restore wlan0");
    assert!(why.contains("another evenair backoff runs on wlan0"), "{why}");
    // Another folder is no way around it, but for a run that only observes.
    for command in ["run wlan0 --enforce", "check wlan0 --trial --yes"] {
        let (_, why) = refused(&format!("evenair backoff {command} --state /run/other"));
        assert!(why.contains("another process sets registers of wlan0, with another --state"), "{why}");
    }
    let told = shell("evenair backoff run wlan0 --for '100 ms' --state /run/other");
    assert!(told.contains("it observes and sets nothing"), "{told}");
    assert!(!Path::new("/run/other/wlan0.json").exists());
    daemon.stands();
    daemon.stop();
    PROBE.clear();
    fs::write(state(), "{\"category\":").expect("a file");
    for command in ["run wlan0 --enforce", "restore wlan0", "check wlan0 --trial --yes"] {
        let (_, why) = refused(&format!("evenair backoff {command}"));
        assert!(why.contains("wlan0.json: ") && why.contains("remove the file and restart hostapd"), "{why}");
    }
    fs::remove_file(state()).expect("it is there");
    let (_, why) = refused("evenair backoff run wlan0 --enforce --state /sys/x");
    assert!(why.contains("cannot use the folder /sys/x: ") && why.contains("--state FOLDER"), "{why}");
    assert_eq!(seen(), []);
}

/// A new name is followed, and registers are put back there.
pub(crate) fn renamed_access_point_is_put_back() {
    let daemon = Daemon::enforce();
    daemon.stands();
    shell("ip link set wlan0 down; ip link set wlan0 name ap0; ip link set ap0 up");
    PROBE.clear();
    wait_for("registers of the new name", || {
        PROBE.seen("ap0").iter().any(|one| one.aifsn == 5).then_some(())
    });
    daemon.stop();
    assert_eq!(PROBE.seen("ap0").last(), Some(&HOSTAPDS));
    shell("ip link set ap0 down; ip link set ap0 name wlan0; ip link set wlan0 up");
}

/// The daemon waits for a radio that is taken away, and goes on with the next of its name.
pub(crate) fn removed_radio_is_waited_for() {
    stop_hostapd(FIRST);
    hostapd(FIRST, OF_24_GHZ);
    join(0, "wlan1", 2412);
    let daemon = Daemon::enforce();
    daemon.stands();
    stop_hostapd(FIRST);
    let index = || fs::read_to_string("/sys/class/net/wlan0/ifindex").expect("an interface");
    let before = index();
    shell("ip netns del wlan1; rmmod mac80211_hwsim");
    let why = wait_for("daemon that waits", || daemon.status()?.waits.filter(|why| why.contains("no such")));
    assert_eq!(why, "wlan0: no such interface");
    shell("modprobe mac80211_hwsim radios=3");
    wait_for("radios", || Path::new("/sys/class/net/wlan2").exists().then_some(()));
    assert_ne!(index(), before);
    hostapd(FIRST, OF_24_GHZ);
    join(0, "wlan1", 2412);
    let _ = daemon.accepted();
    daemon.stands();
    daemon.stop();
    assert!(status(FIRST).is_none());
}

/// A device from before 802.11n beside one with aggregates.
pub(crate) fn aggregates_are_told() {
    stop_hostapd(FIRST);
    hostapd(FIRST, &format!("{OF_24_GHZ}ieee80211n=1\n"));
    // The kernel joins by a beacon that it has seen in the last 30 s, and earlier ones had no rates of 802.11n.
    let _ = output("ip netns exec wlan1 iw dev wlan1 scan freq 2412 flush");
    join(0, "wlan1", 2412);
    shell("ip link set wlan2 up");
    let index = fs::read_to_string("/sys/class/net/wlan2/ifindex").expect("an interface");
    let index = index.trim().parse().expect("a number");
    wait_for("second station", || {
        let _ = join_without_80211n(index, FIRST, 2412);
        radio().stations().ok().filter(|stations| stations.len() == 2)
    });
    shell("ip neigh replace 10.0.0.3 lladdr $(cat /sys/class/net/wlan2/address) nud permanent dev wlan0");
    let told = wait_for("rates of both stations", || {
        // The second one has no address, and does not answer.
        shell("ping -c 10 -i 0.02 -W 2 10.0.0.2; ping -c 10 -i 0.02 -w 1 10.0.0.3 || true");
        Some(shell("evenair backoff check wlan0"))
            .filter(|told| told.contains("\nstations at rates of 802.11n or later, with aggregates: 1\n"))
    });
    assert!(told.contains("\nstations: 2; "), "{told}");
    assert!(told.contains("\nan access with TXOP 0: one aggregate: up to "), "{told}");
    assert!(told.contains("; the law counts one packet of 1500 bytes, "), "{told}");
    let daemon = Daemon::enforce();
    daemon.stands();
    assert!(daemon.status().is_some_and(|told| told.aggregates));
    assert!(shell("evenair backoff status wlan0").contains("TXOP 0 is one aggregate"));
    daemon.stop();
    assert_eq!(seen().last(), Some(&HOSTAPDS));
}
