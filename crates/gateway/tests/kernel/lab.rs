//! A gateway between a mesh and the Internet, in namespaces: the gateway is in the calling thread's
//! own.

use evenair_gateway::config::{Config, LastLeases};
use evenair_gateway::kernel::Kernel;
use evenair_gateway::{Daemon, Kept, Linux, Subscribers};
use evenair_linux::link::{LinkOptions, RouteOptions};
use evenair_linux::{NetworkNamespace, Rtnetlink, sysctl};
use evenair_units::{Duration, Instant};
use rustix::time::{ClockId, clock_gettime};
use std::cell::Cell;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

/// The folders of the tools.
pub(crate) const PATHS: &str = "/usr/sbin:/sbin:/usr/bin:/bin";

/// The network around a gateway.
pub(crate) struct Lab {
    mesh: NetworkNamespace,
    internet: NetworkNamespace,
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// A bridge between a subscriber (10.0.0.11) and a server (10.0.0.2), with the ports `mesh0` and
/// `wan0`.
pub(crate) struct BridgeLab {
    mesh: NetworkNamespace,
    internet: NetworkNamespace,
}

impl BridgeLab {
    pub(crate) fn new() -> Self {
        let [mesh, internet] = [(); 2].map(|()| NetworkNamespace::new().expect("a namespace"));
        let mut netlink = Rtnetlink::new().expect("netlink");
        netlink.add_bridge("br0").expect("a kernel with bridges");
        let bridge = up(&mut netlink, "br0", &[]);
        for (port, place, own) in
            [("mesh0", &mesh, ["10.0.0.11", "fd00::11"]), ("wan0", &internet, ["10.0.0.2", "fd00::2"])]
        {
            netlink.add_pair(port, "eth0", place).expect("a pair of devices");
            let index = netlink.index(port).expect("it is there");
            netlink.set_master(index, bridge).expect("a port");
            up(&mut netlink, port, &[]);
            let far = || {
                let mut netlink = Rtnetlink::new().expect("netlink");
                up(&mut netlink, "eth0", &[(own[0].into(), 24), (own[1].into(), 64)]);
            };
            place.within(far).expect("it can be entered");
        }
        Self { mesh, internet }
    }

    /// Starts a server's transfer to the subscriber, as fast as possible.
    pub(crate) fn download(&self, to: &str) -> Flow {
        download((&self.mesh, &self.internet), to)
    }
}

/// Sets up a device with addresses.
fn up(netlink: &mut Rtnetlink, device: &str, addresses: &[(String, u8)]) -> u32 {
    let index = netlink.index(device).expect("it is there");
    for (own, prefix) in addresses {
        netlink.add_address(index, address(own), *prefix).expect("an address");
    }
    netlink.set_up(index, LinkOptions::default()).expect("it can be up");
    index
}

fn default_by(netlink: &mut Rtnetlink, index: u32, gateway: &str) {
    let gateway = address(gateway);
    let all = if gateway.is_ipv4() { "0.0.0.0" } else { "::" };
    let options = RouteOptions { gateway: Some(gateway), ..RouteOptions::default() };
    netlink.add_route(index, (address(all), 0), None, &options).expect("a route");
}

impl Lab {
    /// Creates mesh and Internet with a gateway between; subscriber k has the address 10 + k, and a
    /// prefix k.
    pub(crate) fn new(subscribers: u8) -> Self {
        let [mesh, internet] = [(); 2].map(|()| NetworkNamespace::new().expect("a namespace"));
        let mut netlink = Rtnetlink::new().expect("netlink");
        netlink.add_pair("wan0", "eth0", &internet).expect("a pair of devices");
        up(&mut netlink, "wan0", &[("192.0.2.1".into(), 24), ("2001:db8::1".into(), 64)]);
        sysctl::set("ipv4/ip_forward", "1").expect("IPv4 is forwarded");
        sysctl::set("ipv6/conf/all/forwarding", "1").expect("IPv6 is forwarded");
        let abroad = || {
            let mut netlink = Rtnetlink::new().expect("netlink");
            let index = up(&mut netlink, "eth0", &[("192.0.2.2".into(), 24), ("2001:db8::2".into(), 64)]);
            default_by(&mut netlink, index, "192.0.2.1");
            default_by(&mut netlink, index, "2001:db8::1");
        };
        internet.within(abroad).expect("the Internet");
        let lab = Self { mesh, internet };
        lab.join_mesh(subscribers);
        lab
    }

    /// Adds the device towards the mesh.
    pub(crate) fn join_mesh(&self, subscribers: u8) {
        self.join_mesh_by("mesh0", "eth0", subscribers);
    }

    /// Adds a device towards the mesh, through which all subscribers are reached from now on.
    pub(crate) fn join_mesh_by(&self, device: &str, far: &str, subscribers: u8) {
        let mut netlink = Rtnetlink::new().expect("netlink");
        netlink.add_pair(device, far, &self.mesh).expect("a pair of devices");
        up(&mut netlink, device, &[("10.0.0.1".into(), 16), ("fd00::1".into(), 32)]);
        let own = |k: u8| [(format!("10.0.0.{}", 10 + k), 16), (format!("fd00:0:{k:x}::1"), 32)];
        let at_home = || {
            let mut netlink = Rtnetlink::new().expect("netlink");
            let all: Vec<_> = (1..=subscribers).flat_map(own).collect();
            let index = up(&mut netlink, far, &all);
            default_by(&mut netlink, index, "10.0.0.1");
            default_by(&mut netlink, index, "fd00::1");
        };
        self.mesh.within(at_home).expect("the mesh");
    }

    /// Adds a VLAN of this number on the link towards the mesh: 10.N.0.1 at the gateway's end and
    /// 10.N.0.2 at the other.
    pub(crate) fn tag(&self, number: u8) {
        let tag = |device: &str, host: u8| {
            told("ip", &format!("address add 10.{number}.0.{host}/24 dev {device}"));
            told("ip", &format!("link set {device} up"));
        };
        tag(&format!("mesh0.{number}"), 1);
        let far = || {
            told("ip", &format!("link add link eth0 name eth0.{number} type vlan id {number}"));
            tag(&format!("eth0.{number}"), 2);
        };
        self.mesh.within(far).expect("the mesh");
    }

    /// Routes 10.1.0.0/16 and 172.16.0.0/16 to the mesh, too.
    pub(crate) fn widen(&self) {
        for prefix in ["10.1.0.0/16", "172.16.0.0/16"] {
            told("ip", &format!("route add {prefix} via 10.0.0.11"));
            let local = || told("ip", &format!("route add local {prefix} dev eth0"));
            self.mesh.within(local).expect("the mesh");
        }
    }

    /// Runs a function on the mesh's side.
    pub(crate) fn in_mesh<T>(&self, act: impl FnOnce() -> T) -> T {
        self.mesh.within(act).expect("the mesh")
    }

    /// Runs a function on the Internet's side.
    pub(crate) fn abroad<T>(&self, act: impl FnOnce() -> T) -> T {
        self.internet.within(act).expect("the Internet")
    }

    /// Sends a datagram to the Internet from each of these addresses behind the mesh.
    pub(crate) fn greet(&self, addresses: impl Iterator<Item = Ipv4Addr>) {
        self.in_mesh(|| {
            for address in addresses {
                let socket = UdpSocket::bind((address, 0)).expect("a local address");
                socket.send_to(b"hello", "192.0.2.2:9").expect("a way out");
            }
        });
    }

    /// Sends datagrams of 64 bytes from the Internet to these addresses in turn, as fast as possible,
    /// while `meanwhile` runs the daemon. Returns the packets per CPU-second of sending and forwarding,
    /// and the packets received per second.
    pub(crate) fn flood(&self, addresses: &[Ipv4Addr], meanwhile: impl FnOnce()) -> (f64, f64) {
        let socket = self.abroad(|| UdpSocket::bind("192.0.2.2:0")).expect("a port");
        let ends = Arc::new(AtomicBool::new(false));
        let (ended, addresses) = (Arc::clone(&ends), addresses.to_vec());
        let came = || self.in_mesh(|| received("eth0"));
        let send = thread::spawn(move || {
            let (begin, mut sent) = (processor(), 0_u32);
            for address in addresses.iter().cycle() {
                // A full queue refuses some.
                sent += u32::from(socket.send_to(&[0; 64 - 28], (*address, 9)).is_ok());
                if ended.load(Ordering::Relaxed) {
                    break;
                }
            }
            f64::from(sent) / (processor() - begin).as_secs_f64()
        });
        thread::sleep(std::time::Duration::from_millis(200));
        let (before, begin) = (came(), now());
        meanwhile();
        let rate = (came() - before) as f64 / now().since(begin).as_secs_f64();
        ends.store(true, Ordering::Relaxed);
        (send.join().expect("it sends to its end"), rate)
    }

    /// Starts a server's transfer to a subscriber's address, as fast as possible.
    pub(crate) fn download(&self, to: &str) -> Flow {
        download((&self.mesh, &self.internet), to)
    }

    /// Starts the first subscriber's transfer to a server, as fast as possible.
    pub(crate) fn upload(&self) -> Flow {
        download((&self.internet, &self.mesh), "192.0.2.2")
    }
}

fn download((mesh, internet): (&NetworkNamespace, &NetworkNamespace), to: &str) -> Flow {
    let place = SocketAddr::new(address(to), 0);
    let listener = mesh.within(|| TcpListener::bind(place)).expect("the mesh").expect("a port");
    let place = listener.local_addr().expect("an address");
    let connect = || std::net::TcpStream::connect(place);
    // Reno on every machine: BBR, where it is the default, follows a rising ceiling only by its probes
    // (0.78 to 0.94 of the limit).
    internet
        .within(|| sysctl::set("ipv4/tcp_congestion_control", "reno"))
        .expect("the Internet")
        .expect("Reno");
    // While others fill the device before their limits are down, an ARP request may be lost.
    let stream = internet.within(|| connect().or_else(|_| connect())).expect("the Internet");
    let mut stream = stream.expect("a way through the gateway");
    let (mut client, _) = listener.accept().expect("a connection");
    let (got, ends) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let ended = Arc::clone(&ends);
    let send =
        thread::spawn(
            move || while !ended.load(Ordering::Relaxed) && stream.write_all(&[0; 16_384]).is_ok() {},
        );
    let counted = Arc::clone(&got);
    let receive = thread::spawn(move || {
        let mut buffer = vec![0; 65_536];
        while let Ok(length @ 1..) = client.read(&mut buffer) {
            counted.fetch_add(length as u64, Ordering::Relaxed);
        }
    });
    Flow { got, ends, threads: vec![send, receive] }
}

/// A transfer that runs until it is dropped.
pub(crate) struct Flow {
    got: Arc<AtomicU64>,
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Flow {
    pub(crate) fn bytes(&self) -> u64 {
        self.got.load(Ordering::Relaxed)
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(drop);
    }
}

/// Returns the CPU time of a call, including the kernel's work for it. Other programs do not lengthen
/// it.
pub(crate) fn cost<T>(act: impl FnOnce() -> T) -> (T, Duration) {
    let begin = processor();
    let done = act();
    (done, processor() - begin)
}

/// Returns the CPU time of the calling thread.
pub(crate) fn processor() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::from_nanos(time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned())
}

/// Returns the packets that a device of the calling thread's namespace received.
fn received(device: &str) -> u64 {
    let devices = std::fs::read_to_string("/proc/thread-self/net/dev").expect("it is there");
    let own = devices.lines().find_map(|line| line.trim_start().strip_prefix(device)?.strip_prefix(':'));
    own.and_then(|numbers| numbers.split_whitespace().nth(1)?.parse().ok()).expect("a number of packets")
}

/// Returns a gateway's configuration.
pub(crate) fn config(rest: &str) -> Config {
    Config::parse("gateway.toml", &format!("mesh = \"mesh0\"\nuplink = \"wan0\"\nmode = \"enforce\"\n{rest}"))
        .expect("a file without mistakes")
}

/// Returns the subscribers of a gateway's file.
pub(crate) fn subscribers_of(config: &Config) -> Subscribers {
    let read = config.subscribers_of(("gateway.toml", ""), None, 0, &mut LastLeases::default());
    read.expect("subscribers without mistakes").0
}

/// Returns a started gateway.
pub(crate) fn begun(config: &Config, kept: Option<Kept>, takes_over: bool) -> Daemon<Linux> {
    begun_with(config, subscribers_of(config), kept, takes_over)
}

pub(crate) fn begun_with(
    config: &Config,
    subscribers: Subscribers,
    kept: Option<Kept>,
    takes_over: bool,
) -> Daemon<Linux> {
    let kernel = Linux::new(config).expect("the kernel");
    let mut daemon =
        Daemon::new(now(), config, subscribers, kernel, (kept, takes_over)).expect("devices that are free");
    daemon.begin(now()).expect("a tree");
    daemon
}

thread_local! {
    /// The daemon's time minus the clock.
    static AHEAD: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Returns the daemon's time.
pub(crate) fn now() -> Instant {
    evenair_gateway::run::now() + AHEAD.get()
}

/// Advances the daemon's time at once, for its decisions alone: packets take real time.
pub(crate) fn pass<K: Kernel>(daemon: &mut Daemon<K>, time: Duration) {
    let end = now() + time;
    while now() < end {
        let next = daemon.due().max(now() + Duration::from_millis(1)).min(end);
        AHEAD.set(AHEAD.get() + next.since(now()));
        daemon.step(now());
    }
}

/// Runs the gateway for a time.
pub(crate) fn work<K: Kernel>(daemon: &mut Daemon<K>, for_: Duration) {
    let end = now() + for_;
    while now() < end {
        let wait = daemon.due().min(end).since(now()).min(Duration::from_millis(10));
        thread::sleep(std::time::Duration::from_nanos(wait.as_nanos()));
        daemon.step(now());
    }
}

/// Returns the bytes that left a device through a subscriber's class, from `tc`. The bytes that the
/// application read do not serve: when a gap is filled, TCP delivers all that waited behind it at once.
pub(crate) fn passed(device: &str, subscriber: usize) -> u64 {
    let classes = told("tc", &format!("-s class show dev {device}"));
    let own = classes
        .split("class htb ")
        .find(|class| class.starts_with(&format!("e7a1:{:x} ", 0x10 + subscriber)));
    let sent = own.and_then(|class| class.split("Sent ").nth(1)?.split(' ').next()?.parse().ok());
    sent.expect("a class and its bytes")
}

/// Returns the bytes that a law allowed each of the first subscribers in some seconds, and the bytes
/// that passed a device. Rates change in between, and a busy machine makes each second a little longer.
/// So the allowed bytes are the larger rate at both ends times the real time.
pub(crate) fn given_and_got(
    daemon: &mut Daemon<Linux>,
    device: &str,
    subscribers: usize,
    seconds: u32,
) -> Vec<[f64; 2]> {
    let all = |of: &dyn Fn(usize) -> u64| (0..subscribers).map(of).collect::<Vec<u64>>();
    let mut sums = vec![[0.0; 2]; subscribers];
    for _ in 0..seconds {
        let before = crate::ceilings(daemon);
        let (begin, then) = (now(), all(&|of| passed(device, of)));
        work(daemon, Duration::from_secs(1));
        let (got, took) = (all(&|of| passed(device, of)), now().since(begin).as_secs_f64());
        let after = crate::ceilings(daemon);
        for (i, sum) in sums.iter_mut().enumerate() {
            sum[0] += before[i].max(after[i]).as_bps() as f64 / 8.0 * took;
            sum[1] += (got[i] - then[i]) as f64;
        }
    }
    sums
}

/// Asserts that a flow gets most of its limit, and no more except for the bucket's content. How closely
/// TCP fills the limit depends on the machine, and is recorded in docs/notes/performance.md.
pub(crate) fn assert_fills(&[given, got]: &[f64; 2]) {
    assert!((0.5..1.02).contains(&(got / given)), "{got:.0} bytes of {given:.0}");
}

/// Returns whether the first subscriber is busy in one of ten seconds. An epoch in which a busy machine
/// lost packets has no busy time.
pub(crate) fn is_seen_busy(daemon: &mut Daemon<Linux>) -> bool {
    let is_busy = |daemon: &Daemon<Linux>| daemon.gateway().statuses()[0].busy.is_some_and(|busy| busy > 0.1);
    is_busy(daemon)
        || (0..10).any(|_| {
            work(daemon, Duration::from_secs(1));
            is_busy(daemon)
        })
}

/// Returns the time that a call takes.
pub(crate) fn timed<T>(act: impl FnOnce() -> T) -> (T, Duration) {
    let begin = evenair_gateway::run::now();
    let done = act();
    (done, evenair_gateway::run::now().since(begin))
}

/// Returns the output of a program, which reads the kernel's state independently.
pub(crate) fn told(program: &str, arguments: &str) -> String {
    let run = Command::new(program).args(arguments.split_whitespace()).env("PATH", PATHS).output();
    let output = run.expect("tc, nft and ip are installed");
    assert!(output.status.success(), "{program} {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Returns all state that a gateway may change, and more, as the tools print it.
pub(crate) fn everything() -> String {
    // New devices have other states for a second; their permanent settings are in the other lines.
    let links = told("ip", "-details link show");
    let mut all: String = links.lines().filter(|line| !line.contains(" state ")).collect();
    all += &told("nft", "list ruleset");
    for device in ["mesh0", "wan0"] {
        for what in ["qdisc", "class", "filter"] {
            all += &told("tc", &format!("{what} show dev {device}"));
        }
        if Command::new("ethtool").arg("--version").env("PATH", PATHS).output().is_ok() {
            all += &told("ethtool", &format!("-k {device}"));
        } else {
            evenair_needs::skip_part("ethtool", "settings of large segments are not compared");
        }
    }
    settings(Path::new("/proc/sys/net"), &mut all);
    all
}

/// Settings that are counters, or that belong to the whole machine, and may change at any time.
const OTHERS: [&str; 3] =
    ["nf_conntrack_count", "tcp_allowed_congestion_control", "tcp_available_congestion_control"];

/// Appends the kernel's settings below a folder.
fn settings(folder: &Path, all: &mut String) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            settings(&path, all);
        } else if !OTHERS.iter().any(|name| path.ends_with(name))
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            *all += &format!("{} {text}", path.display());
        }
    }
}
