//! Registers that can be set, and other programs that set them.

use crate::lab::{
    Daemon, FIRST, HOSTAPDS, OF_24_GHZ, PROBE, hostapd, join, radio, refused, seen, shell, status,
    stop_hostapd, wait_for,
};
use evenair_access::config::STATE;
use evenair_access::radio::Radio as _;
use evenair_laws::backoff::{RegisterLimits, Registers};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

const ASKED: Registers = Registers { window_min: 7, window_max: 15, aifsn: 2, txop_units: 47 };

/// Sets registers of the first interface; returns the error's kind.
fn set() -> Result<(), ErrorKind> {
    radio().set(ASKED).map_err(|error| error.kind())
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
        let found = radio().find().expect("interfaces").expect("it is there");
        assert!(found.against().is_some_and(|why| why.contains("access points only")));
        shell(&format!("iw dev wlan0 {end}"));
    }
    shell("ip link set wlan0 down; iw dev wlan0 set type __ap");
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
    stop_hostapd(FIRST);
    hostapd(FIRST, OF_24_GHZ);
    join(0, "wlan1", 2412);
    let daemon = Daemon::enforce();
    let _ = daemon.accepted();
    daemon.stands();
    daemon.kill();
    assert!(Path::new(STATE).join("wlan0.json").exists(), "registers are to be put back");
    PROBE.clear();
    let next = Daemon::start(FIRST, "");
    wait_for("updates", || next.status().filter(|told| told.updates > 1));
    next.stop();
    assert_eq!(seen(), [HOSTAPDS], "put back, and nothing else");
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
    daemon.stop();
    fs::write(Path::new(STATE).join("wlan0.json"), "{\"category\":").expect("a file");
    let (_, why) = refused("evenair backoff run wlan0");
    assert!(why.contains("wlan0.json: ") && why.contains("remove the file and restart hostapd"), "{why}");
    fs::remove_file(Path::new(STATE).join("wlan0.json")).expect("it is there");
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
    shell("ip netns del wlan1; rmmod mac80211_hwsim");
    let why = wait_for("daemon that waits", || daemon.status()?.waits.filter(|why| why.contains("no such")));
    assert_eq!(why, "wlan0: no such interface");
    shell("modprobe mac80211_hwsim radios=2");
    wait_for("radios", || Path::new("/sys/class/net/wlan1").exists().then_some(()));
    hostapd(FIRST, OF_24_GHZ);
    join(0, "wlan1", 2412);
    let _ = daemon.accepted();
    daemon.stands();
    daemon.stop();
    assert!(status(FIRST).is_none());
}
