//! The tests' common parts: the shell, hostapd, stations in namespaces of their own, the daemon as a process.

use crate::probe::Probe;
use evenair_access::config::STATE;
use evenair_access::radio::{Linux, Radio as _};
use evenair_access::restore;
use evenair_access::status::{Status, ask};
use evenair_laws::backoff::{Category, Registers};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::{self, File};
use std::net::UdpSocket;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

/// The longest wait of a socket.
const SHORT: Duration = Duration::from_millis(200);
/// Where stations receive.
const PORT: u16 = 9000;

/// The access point that most tests are about.
pub(crate) const FIRST: &str = "wlan0";

/// hostapd's lines of a channel of 802.11g.
pub(crate) const OF_24_GHZ: &str = "hw_mode=g\nchannel=1\n";

/// The registers of best effort that hostapd sets.
pub(crate) const HOSTAPDS: Registers = restore::default(Category::BestEffort);

/// The registers that have reached drivers.
pub(crate) static PROBE: LazyLock<Probe> = LazyLock::new(|| Probe::new("tests"));

/// Returns the registers of the first access point.
pub(crate) fn seen() -> Vec<Registers> {
    PROBE.seen(FIRST)
}

/// Runs words of the shell.
pub(crate) fn output(words: &str) -> Output {
    // BusyBox takes its own ip for the one on the path.
    let words = &format!("ip() {{ /usr/sbin/ip \"$@\"; }}; {words}");
    Command::new("sh").args(["-c", words]).output().expect("a shell")
}

/// Runs words of the shell; they must succeed.
pub(crate) fn shell(words: &str) -> String {
    let output = output(words);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{words}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Runs words that must fail; returns their status and their errors.
pub(crate) fn refused(words: &str) -> (Option<i32>, String) {
    let output = output(words);
    assert!(!output.status.success(), "{words}");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Waits for something, a minute at most: the machine is emulated, and slow.
pub(crate) fn wait_for<T>(what: &str, mut there: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = there() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "no {what} within a minute");
        sleep(Duration::from_millis(50));
    }
}

/// Returns the first access point's radio.
pub(crate) fn radio() -> Linux {
    radio_of(FIRST)
}

/// Returns an access point's radio.
pub(crate) fn radio_of(interface: &str) -> Linux {
    let mut radio = Linux::new(interface, Category::BestEffort).expect("nl80211");
    assert!(radio.find().expect("interfaces").is_some());
    radio
}

/// Starts hostapd on an interface, and waits until it has set its registers.
pub(crate) fn hostapd(interface: &str, more: &str) {
    hostapd_with(interface, more, HOSTAPDS);
}

/// The same with registers of its own.
pub(crate) fn hostapd_with(interface: &str, more: &str, own: Registers) {
    let text = format!(
        "interface={interface}\ndriver=nl80211\nctrl_interface=/run/hostapd\nssid={interface}\nwmm_enabled=1\n{more}"
    );
    fs::write(format!("/tmp/{interface}.conf"), text).expect("a file");
    PROBE.clear();
    shell(&format!("hostapd -B -P /tmp/{interface}.pid /tmp/{interface}.conf"));
    wait_for("registers of hostapd", || PROBE.seen(interface).contains(&own).then_some(()));
}

pub(crate) fn stop_hostapd(interface: &str) {
    let file = format!("/tmp/{interface}.pid");
    shell(&format!("[ ! -e {file} ] || kill $(cat {file})"));
    wait_for("end of hostapd", || (!Path::new(&file).exists()).then_some(()));
}

/// Puts a radio into a namespace of its own with the address 10.0.K.2, and lets it join the access point `wlanK`, which has
/// 10.0.K.1.
pub(crate) fn join(k: u32, station: &str, frequency_mhz: u32) {
    if !Path::new(&format!("/run/netns/{station}")).exists() {
        shell(&format!(
            "mkdir -p /run/netns; ip netns add {station}; \
            P=$(iw dev {station} info | sed -n 's/.*wiphy \\([0-9]*\\)/phy\\1/p'); iw phy $P set netns name {station}; \
            ip netns exec {station} ip link set {station} up; \
            ip netns exec {station} ip addr add 10.0.{k}.2/24 dev {station}"
        ));
    }
    let connect = format!("ip netns exec {station} iw dev {station} connect -w wlan{k} {frequency_mhz}");
    wait_for("association", || output(&connect).status.success().then_some(()));
    shell(&format!("ip addr replace 10.0.{k}.1/24 dev wlan{k}"));
    let ping = format!("ping -c 1 -W 2 10.0.{k}.2");
    wait_for("answer of the station", || output(&ping).status.success().then_some(()));
    // A flow that starves is to keep its way.
    shell(&format!(
        "ip neigh replace 10.0.{k}.2 nud permanent dev wlan{k} lladdr \
        $(ip neigh show 10.0.{k}.2 dev wlan{k} | sed 's/.*lladdr \\([^ ]*\\).*/\\1/')"
    ));
}

/// A daemon in a process of its own: `evenair backoff run`.
pub(crate) struct Daemon {
    child: Child,
    interface: String,
}

impl Daemon {
    /// Starts it with more words of the command.
    pub(crate) fn start(interface: &str, more: &str) -> Self {
        let words = format!("backoff run {interface} {more}");
        let child = Command::new("evenair").args(words.split_whitespace()).spawn().expect("it starts");
        Self { child, interface: interface.into() }
    }

    /// Starts it by a line of the shell.
    pub(crate) fn by_shell(interface: &str, line: &str) -> Self {
        let child = Command::new("sh").args(["-c", &format!("exec {line}")]).spawn().expect("it starts");
        Self { child, interface: interface.into() }
    }

    /// Starts it on the first access point, which it sets.
    pub(crate) fn enforce() -> Self {
        Self::start(FIRST, "--enforce --set aifsn=5")
    }

    /// Waits until its registers have been accepted, and returns them.
    pub(crate) fn accepted(&self) -> Registers {
        wait_for("accepted registers", || self.status()?.accepted)
    }

    /// Waits until the driver's last registers are its own.
    pub(crate) fn stands(&self) {
        wait_for("driver with the law's registers", || {
            (PROBE.seen(&self.interface).last()? == &self.status()?.accepted?).then_some(())
        });
    }

    pub(crate) fn status(&self) -> Option<Status> {
        status(&self.interface)
    }

    /// Ends it as a service manager does; it must succeed.
    pub(crate) fn stop(mut self) {
        shell(&format!("kill {}", self.child.id()));
        assert!(self.child.wait().expect("it ends").success());
        assert!(self.status().is_none(), "no status without a daemon");
        assert!(
            !Path::new(STATE).join(format!("{}.json", self.interface)).exists(),
            "nothing is left to put back"
        );
    }

    /// Kills it.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it runs");
        let _ = self.child.wait();
    }
}

/// Asks a daemon for its status.
pub(crate) fn status(interface: &str) -> Option<Status> {
    ask(Path::new(STATE), interface).ok()
}

/// A program that sends as much to a station as its radio takes, and the station's end, which counts. The kernel holds the
/// sender by the room of its socket.
pub(crate) struct Source {
    ends: Arc<AtomicBool>,
    received: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Source {
    /// Sends from the access point `wlanK` to its station.
    pub(crate) fn start(k: u32, station: &str) -> Self {
        let socket = |address: String, port: u16| {
            let socket = UdpSocket::bind((address.as_str(), port)).expect("an address");
            socket.set_write_timeout(Some(SHORT)).expect("a time-out");
            socket.set_read_timeout(Some(SHORT)).expect("a time-out");
            socket
        };
        let namespace = File::open(format!("/run/netns/{station}")).expect("the station's namespace");
        // A socket stays in the namespace of the thread that made it.
        let sink = spawn(move || {
            let kind = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(namespace.as_fd(), kind).expect("it is entered");
            socket(format!("10.0.{k}.2"), PORT)
        });
        let sink = sink.join().expect("it is made");
        let source = socket(format!("10.0.{k}.1"), 0);
        // Some 25 packets: fewer than the medium keeps.
        rustix::net::sockopt::set_socket_send_buffer_size(&source, 28 << 10).expect("an option");
        let (ends, received) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stop, also, count) = (Arc::clone(&ends), Arc::clone(&ends), Arc::clone(&received));
        let to = format!("10.0.{k}.2:{PORT}");
        let sends = move || {
            while !stop.load(Relaxed) {
                let _ = source.send_to(&[0; 1400], &to);
            }
        };
        let receives = move || {
            while !also.load(Relaxed) {
                count.fetch_add(u64::from(sink.recv(&mut [0; 1500]).is_ok()), Relaxed);
            }
        };
        Self { ends, received, threads: vec![spawn(sends), spawn(receives)] }
    }

    /// Returns the packets that the station has received.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Relaxed)
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.ends.store(true, Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// Starts a program of this test's own.
pub(crate) fn helper(words: &[&str]) -> Child {
    let own = std::env::current_exe().expect("this program");
    Command::new(own).args(words).stdin(Stdio::null()).spawn().expect("it starts")
}
