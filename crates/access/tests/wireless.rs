//! The daemon on a stock kernel, with hostapd and simulated radios (`mac80211_hwsim`): `lab/wireless.sh` boots one in qemu, and
//! this program is all that runs there.
//!
//! The driver's values are read by an event probe on mac80211's `drv_conf_tx`, behind the kernel's own limits. Nothing is
//! measured: hwsim has no carrier sense and no EDCA.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, clippy::zombie_processes, reason = "a program of a machine of its own")]

use evenair_access::radio::{Linux, Radio};
use evenair_access::run::{RunOptions, restore, run};
use evenair_access::status::{Status, ask};
use evenair_access::{Config, Mode};
use evenair_laws::backoff::{Category, RegisterLimits, Registers};
use evenair_linux::confinement::give_up_capabilities;
use evenair_units::Duration as Time;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Child, Command, ExitCode};
use std::thread::sleep;
use std::time::{Duration, Instant};

const TRACING: &str = "/sys/kernel/tracing";
const ACCESS_POINT: &str = "wlan0";

/// The daemon's folder, on a file system of its own.
const STATE: &str = "/run/evenair-backoff";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["run", mode, for_s] => daemon(mode, for_s.parse().expect("seconds")),
        _ => {
            prepare();
            let tests: [(&str, fn()); 7] = [
                ("other_kinds_of_interfaces_are_refused", other_kinds_of_interfaces_are_refused),
                ("registers_reach_the_driver", registers_reach_the_driver),
                ("hostapds_restart_is_made_good", hostapds_restart_is_made_good),
                ("link_down_and_up_is_made_good", link_down_and_up_is_made_good),
                ("killed_daemon_is_put_right", killed_daemon_is_put_right),
                ("privilege_is_needed", privilege_is_needed),
                ("countrys_limits_are_predicted", countrys_limits_are_predicted),
            ];
            for (name, test) in tests {
                let begun = Instant::now();
                test();
                println!("test {name} ... ok ({:.1} s)", begun.elapsed().as_secs_f64());
            }
            println!("{} tests passed", tests.len());
            ExitCode::SUCCESS
        }
    }
}

/// Runs the daemon in this process, as the command does.
fn daemon(mode: &str, for_s: u64) -> ExitCode {
    let mut config = config();
    config.mode = if mode == "observe" { Mode::Observe } else { Mode::Enforce };
    if mode == "unprivileged" {
        give_up_capabilities().expect("capabilities are dropped");
    }
    let options = RunOptions { ends_after: Some(Time::from_secs(for_s)), tape: None };
    match run(&config, &options, |said| println!("  daemon: {said}")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("  daemon: {error}");
            ExitCode::from(if error.kind() == ErrorKind::PermissionDenied { 77 } else { 1 })
        }
    }
}

fn config() -> Config {
    let text = format!(
        "interface = '{ACCESS_POINT}'\nstate = '{STATE}'\nlaw = {{ law = 'virtual-queue', aifsn = 5 }}"
    );
    Config::parse("test", &text).expect("a file")
}

/// Starts the daemon as a process of its own.
fn start(mode: &str, for_s: u32) -> Child {
    let own = std::env::current_exe().expect("this program");
    Command::new(own).args(["run", mode, &for_s.to_string()]).spawn().expect("it starts")
}

/// Runs words of the shell; they must succeed.
fn shell(words: &str) -> String {
    // BusyBox takes its own ip for the one on the path.
    let words = &format!("ip() {{ /usr/sbin/ip \"$@\"; }}; {words}");
    let output = Command::new("sh").args(["-c", words]).output().expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{words}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Waits for something, half a minute at most: the machine is emulated, and slow.
fn wait_for<T>(what: &str, mut there: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = there() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "no {what} within 30 s");
        sleep(Duration::from_millis(50));
    }
}

/// Loads two radios, and has the kernel log each value that reaches their driver.
fn prepare() {
    shell("modprobe mac80211_hwsim radios=2");
    shell("mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing");
    let probe = "e:evenair/conf mac80211.drv_conf_tx ac=$ac:u16 cw_min=$cw_min:u16 cw_max=$cw_max:u16 aifs=$aifs:u8 \
        txop=$txop:u16 vif=$vif_name:string\n";
    fs::write(format!("{TRACING}/dynamic_events"), probe).expect("event probes");
    fs::write(format!("{TRACING}/events/evenair/conf/enable"), "1").expect("it is enabled");
}

/// Clears the log.
fn clear() {
    fs::write(format!("{TRACING}/trace"), "").expect("a trace");
}

/// Returns the registers of best effort that reached the access point's driver, in order.
fn seen() -> Vec<Registers> {
    let trace = fs::read_to_string(format!("{TRACING}/trace")).expect("a trace");
    let of = |line: &str| {
        let number = |key: &str| -> Option<u32> {
            line.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('=')?.parse().ok())
        };
        (number("ac")? == 2 && line.contains(&format!("vif=\"{ACCESS_POINT}\""))).then_some(Registers {
            window_min: number("cw_min")?,
            window_max: number("cw_max")?,
            aifsn: number("aifs")?,
            txop_units: number("txop")?,
        })
    };
    trace.lines().filter_map(of).collect()
}

fn radio() -> Linux {
    Linux::new(ACCESS_POINT, Category::BestEffort).expect("nl80211")
}

const ASKED: Registers = Registers { window_min: 7, window_max: 15, aifsn: 2, txop_units: 47 };

/// Sets registers of an interface; returns the error's kind.
fn set() -> Result<(), ErrorKind> {
    let mut radio = radio();
    assert!(radio.find().expect("interfaces").is_some());
    radio.set(ASKED).map_err(|error| error.kind())
}

/// Stations, ad hoc networks, meshes: EINVAL. An access point that is down: ENETDOWN.
fn other_kinds_of_interfaces_are_refused() {
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
    clear();
    assert_eq!(set(), Ok(()), "an access point that is up");
    assert_eq!(seen(), [ASKED]);
    shell("ip link set wlan0 down; iw dev wlan0 set type managed");
}

/// Starts hostapd, and waits until it has set its registers.
fn hostapd(more: &str) {
    let text = format!(
        "interface=wlan0\ndriver=nl80211\nctrl_interface=/run/hostapd\nssid=lab\nwmm_enabled=1\n{more}"
    );
    fs::write("/tmp/hostapd.conf", text).expect("a file");
    clear();
    shell("hostapd -B -P /tmp/hostapd.pid /tmp/hostapd.conf");
    let own = evenair_access::restore::default(Category::BestEffort);
    wait_for("registers of hostapd", || seen().contains(&own).then_some(()));
}

fn stop_hostapd() {
    shell("kill $(cat /tmp/hostapd.pid)");
    wait_for("end of hostapd", || (!Path::new("/tmp/hostapd.pid").exists()).then_some(()));
}

/// Puts the second radio into a namespace of its own, and lets it join.
fn join() {
    if !Path::new("/run/netns/sta").exists() {
        shell("mkdir -p /run/netns; ip netns add sta");
        shell(
            "P=$(iw dev wlan1 info | sed -n 's/.*wiphy \\([0-9]*\\)/phy\\1/p'); iw phy $P set netns name sta",
        );
        shell("ip netns exec sta ip link set wlan1 up; ip netns exec sta ip addr add 10.0.0.2/24 dev wlan1");
    }
    shell("ip netns exec sta iw dev wlan1 connect -w lab 2412");
    shell("ip addr replace 10.0.0.1/24 dev wlan0");
    wait_for("answer of the station", || {
        Command::new("sh")
            .args(["-c", "ping -c 1 -W 2 10.0.0.2"])
            .status()
            .is_ok_and(|done| done.success())
            .then_some(())
    });
}

fn status() -> Option<Status> {
    ask(Path::new(STATE), ACCESS_POINT).ok()
}

/// Waits until the daemon has had its registers accepted, and returns them.
fn accepted() -> Registers {
    wait_for("accepted registers", || status()?.accepted)
}

/// Waits until the driver's last registers are the daemon's.
fn stands() {
    wait_for("driver with the law's registers", || (seen().last()? == &status()?.accepted?).then_some(()));
}

fn registers_reach_the_driver() {
    hostapd("hw_mode=g\nchannel=1\n");
    join();
    clear();
    let mut child = start("enforce", 8);
    let first = accepted();
    assert_eq!(first.aifsn, 5, "{first}");
    stands();
    shell("ping -c 20 -i 0.05 -W 2 10.0.0.2 > /dev/null");
    stands();
    let told = status().expect("it runs");
    assert!(told.aggressiveness > Some(0.0) && told.updates > 3, "{told:?}");
    assert_eq!(told.waits, None);
    assert!(child.wait().expect("it ends").success());
    let own = evenair_access::restore::default(Category::BestEffort);
    assert_eq!(seen().last(), Some(&own), "put back");
    assert!(status().is_none(), "nobody answers");
    assert!(!Path::new(STATE).join("wlan0.json").exists());
}

fn hostapds_restart_is_made_good() {
    let mut child = start("enforce", 20);
    let _ = accepted();
    stop_hostapd();
    wait_for("daemon that waits", || status()?.waits);
    hostapd("hw_mode=g\nchannel=1\n");
    join();
    let _ = accepted();
    stands();
    child.kill().expect("it runs");
    let _ = child.wait();
    assert!(restore(&config()).expect("put back").starts_with("put back: "));
}

/// The kernel's own registers come back with the link, and nothing tells of it.
fn link_down_and_up_is_made_good() {
    let mut child = start("enforce", 12);
    let wanted = accepted();
    shell("ip link set wlan0 down");
    clear();
    shell("ip link set wlan0 up");
    wait_for("kernel's registers", || seen().iter().any(|one| one.aifsn != wanted.aifsn).then_some(()));
    stands();
    assert!(child.wait().expect("it ends").success());
}

fn killed_daemon_is_put_right() {
    stop_hostapd();
    hostapd("hw_mode=g\nchannel=1\n");
    join();
    let mut child = start("enforce", 20);
    let _ = accepted();
    stands();
    child.kill().expect("it runs");
    let _ = child.wait();
    assert!(Path::new(STATE).join("wlan0.json").exists(), "what is to be put back");
    clear();
    assert!(start("observe", 2).wait().expect("it ends").success());
    assert_eq!(
        seen(),
        [evenair_access::restore::default(Category::BestEffort)],
        "put back, and nothing else"
    );
    assert!(!Path::new(STATE).join("wlan0.json").exists());
}

fn privilege_is_needed() {
    clear();
    assert_eq!(start("unprivileged", 5).wait().expect("it ends").code(), Some(77));
    assert_eq!(seen(), []);
    assert!(!Path::new(STATE).join("wlan0.json").exists(), "nothing is to be put back");
}

/// In DE on channel 36 the kernel cuts silently: registers within our limits reach the driver unchanged.
fn countrys_limits_are_predicted() {
    stop_hostapd();
    shell("iw reg set DE");
    sleep(Duration::from_secs(1));
    hostapd("hw_mode=a\nchannel=36\ncountry_code=DE\nieee80211d=1\n");
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
        clear();
        radio.set(wanted).expect("it is an access point");
        assert_eq!(seen(), [wanted], "{asked}");
        // Without our limits the kernel cuts to those of access points, which are not stricter.
        clear();
        radio.set(asked).expect("it is an access point");
        let [cut] = seen()[..] else { panic!("{:?}", seen()) };
        assert_eq!(cut, asked.within(&RegisterLimits { window_max: 63, ..etsi }), "{asked}");
    }
    stop_hostapd();
}
