//! A host for each node: a network namespace with one device, which is the air.

use crate::address::{Addresses, IPV4, IPV6};
use crate::drive::{Ports, Ready};
use evenair_linux::link::{self, LinkOptions, RouteOptions, Rtnetlink};
use evenair_linux::{NetworkNamespace, Tun, sysctl};
use evenair_units::{Bytes, Duration, Instant};
use rustix::event::{Timespec, epoll};
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

/// The device's name in every namespace.
pub(crate) const DEVICE: &str = "air0";

/// Returns the name of a router's device for one of its wires.
pub(crate) fn wire(number: usize) -> String {
    format!("wire{number}")
}

/// A node with a forwarding kernel: its wires, in order, and the nodes that it reaches over each.
#[derive(Clone, Debug, Default)]
pub(crate) struct RouterSpec {
    /// Whether it also leads to all other addresses.
    pub(crate) is_uplink: bool,
    pub(crate) node: u32,
    pub(crate) wires: Vec<(u32, Vec<u32>)>,
}

impl RouterSpec {
    /// Iterates over its wires, each as this node and the one at the other end.
    pub(crate) fn sides(&self) -> impl Iterator<Item = (u32, u32)> {
        self.wires.iter().map(|&(to, _)| (self.node, to))
    }
}

/// This long before an instant the drive stops sleeping, and polls: a sleeper wakes late.
const SPIN: Duration = Duration::from_micros(200);

/// A real-time drive that has been awake this long lets others run for a [`REST`] of it. So the machine stays
/// responsive under any load, and the kernel, which allows 950 ms a second, never throttles it.
const AWAKE_MAX: Duration = Duration::from_millis(1);
/// The divisor of that time.
const REST: u64 = 16;
/// A wait that took this long was a sleep.
const SLEEP: Duration = Duration::from_micros(50);

/// The most packets of a node that wait to be read. They wait only while the drive is late or a program
/// floods: 40 ms at 100 000 packets a second, several windows of TCP. So the simulated queue decides, and a
/// flood at every one of 100 nodes holds a gigabyte.
pub(crate) const UNREAD_MAX: u32 = 4096;

/// The same if the simulated queue holds packets back: Linux' value for radio devices (`txqueuelen`).
pub(crate) const HELD_MAX: u32 = 1000;

/// The settings of every node's kernel.
#[derive(Clone, Debug)]
pub(crate) struct HostOptions {
    /// Whether the calling thread has real-time scheduling.
    pub(crate) real_time: bool,
    /// The largest packet.
    pub(crate) mtu: Bytes,
    /// The most packets that wait in a device.
    pub(crate) unread_max: u32,
    /// The options of all routes.
    pub(crate) route: RouteOptions,
    /// Further settings beside those that every host has.
    pub(crate) settings: Vec<(String, String)>,
}

/// The settings of every host, with reasons; set before there is a device, since a new one gets those of
/// `default`.
const SETTINGS: [(&str, &str); 12] = [
    // Connections would inherit windows and thresholds of earlier ones.
    ("ipv4/tcp_no_metrics_save", "1"),
    // There is no router to answer, and an idle device would send.
    ("ipv6/conf/default/router_solicitations", "0"),
    ("ipv6/conf/default/accept_ra", "0"),
    ("ipv6/conf/default/accept_dad", "0"),
    // Every node is a neighbour by its address.
    ("ipv4/conf/all/send_redirects", "0"),
    ("ipv4/conf/default/send_redirects", "0"),
    ("ipv4/conf/default/rp_filter", "0"),
    // A node reports a missing route to itself.
    ("ipv4/conf/default/accept_local", "1"),
    // The remains of a connection would hold the namespace for minutes. Live connections keep the defaults,
    // since one may starve.
    ("ipv4/tcp_orphan_retries", "1"),
    ("ipv4/tcp_fin_timeout", "1"),
    // For an ordinary user's servers, and ping.
    ("ipv4/ip_unprivileged_port_start", "0"),
    ("ipv4/ping_group_range", "0 2147483647"),
];

/// The further settings of a router.
const ROUTERS_SETTINGS: [(&str, &str); 3] =
    [("ipv4/ip_forward", "1"), ("ipv6/conf/all/forwarding", "1"), ("ipv6/conf/default/forwarding", "1")];

/// The further settings of the uplink's node: hosts beyond it request each node's hardware address, not only
/// its own.
const UPLINKS_SETTINGS: [(&str, &str); 1] = [("ipv4/conf/default/proxy_arp", "1")];

/// The hosts of all nodes.
pub(crate) struct Hosts {
    namespaces: Vec<NetworkNamespace>,
    devices: Vec<Tun>,
    events: OwnedFd,
    found: Vec<epoll::Event>,
    buffer: Vec<u8>,
    clock: Clock,
    /// The time before an instant from which it polls: with a single processor it leaves that to the others.
    spin: Duration,
    /// Whether only a rest lets others run, and the time at which the last sleep ended.
    real_time: bool,
    slept: Instant,
    /// Settings that a kernel rejected.
    pub(crate) unset: Vec<String>,
}

impl Hosts {
    pub(crate) fn new(nodes: u32, routers: &[RouterSpec], options: &HostOptions) -> io::Result<Self> {
        let addresses = Addresses::of(nodes);
        let events = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut hosts = Self {
            namespaces: Vec::new(),
            devices: Vec::new(),
            events,
            found: Vec::with_capacity(nodes as usize),
            buffer: vec![0; evenair_linux::PACKET_MAX],
            clock: Clock::started(),
            spin: if std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1) {
                SPIN
            } else {
                Duration::ZERO
            },
            real_time: options.real_time,
            slept: Instant::ZERO,
            unset: Vec::new(),
        };
        for node in 0..nodes {
            let namespace = NetworkNamespace::new()?;
            let router = routers.iter().find(|router| router.node == node);
            let has_uplink = routers.iter().any(|router| router.is_uplink);
            let (device, unset) =
                namespace.within(|| host(addresses, node, (router, has_uplink), options))??;
            hosts.unset = unset;
            hosts.namespaces.push(namespace);
            hosts.devices.push(device);
        }
        for router in routers {
            let namespace = &hosts.namespaces[router.node as usize];
            hosts.devices.extend(namespace.within(|| wires(addresses, router, options))??);
        }
        for (device, port) in hosts.devices.iter().zip(0_u64..) {
            epoll::add(&hosts.events, device, epoll::EventData::new_u64(port), epoll::EventFlags::IN)?;
        }
        Ok(hosts)
    }

    /// Returns the namespaces, which hold the sockets created in them; the devices stay.
    pub(crate) fn take_namespaces(&mut self) -> Vec<NetworkNamespace> {
        std::mem::take(&mut self.namespaces)
    }

    /// Starts the network's clock.
    pub(crate) fn start(&mut self) -> Clock {
        self.clock = Clock::started();
        self.slept = Instant::ZERO;
        self.clock
    }
}

/// Returns the packets that devices have dropped since too many waited to be read.
pub(crate) fn unread(namespaces: &[NetworkNamespace]) -> u64 {
    let devices = || std::iter::once(DEVICE.to_owned()).chain((0..).map(wire));
    let dropped = || devices().map_while(|device| link::dropped(&device).ok()).sum::<u64>();
    namespaces.iter().filter_map(|host| host.within(dropped).ok()).sum()
}

/// Sets the calling thread's namespace up as a node's; returns its device, and the settings that its kernel
/// lacks.
fn host(
    addresses: Addresses,
    node: u32,
    (router, has_uplink): (Option<&RouterSpec>, bool),
    options: &HostOptions,
) -> io::Result<(Tun, Vec<String>)> {
    let own = options.settings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let is_uplink = router.is_some_and(|router| router.is_uplink);
    let routers = ROUTERS_SETTINGS.into_iter().filter(|_| router.is_some());
    let routers = routers.chain(UPLINKS_SETTINGS.into_iter().filter(|_| is_uplink));
    let unset = SETTINGS
        .into_iter()
        .chain(routers)
        .chain(own)
        .filter(|(key, value)| sysctl::set(key, value).is_err());
    let unset = unset.map(|(key, _)| key.to_owned()).collect();
    let mut netlink = Rtnetlink::new()?;
    let loopback = netlink.index("lo")?;
    netlink.set_up(loopback, LinkOptions::default())?;
    let (device, air) = device(&mut netlink, DEVICE, options)?;
    let (own4, own6) = (addresses.ipv4(node).into(), addresses.ipv6(node).into());
    netlink.add_address(air, own4, 32)?;
    netlink.add_route(air, (IPV4.0.into(), IPV4.1), Some(own4), &options.route)?;
    if has_uplink && !is_uplink {
        netlink.add_route(air, ([0, 0, 0, 0].into(), 0), Some(own4), &options.route)?;
    }
    let multicast: IpAddr = [224, 0, 0, 0].into();
    netlink.add_route(air, (multicast, 4), Some(own4), &RouteOptions::default())?;
    // A host may be without IPv6, and IPv6 without packets of 1280 bytes (RFC 8200 section 5).
    if options.mtu >= Bytes::new(1280) && netlink.add_address(air, own6, 128).is_ok() {
        netlink.add_route(air, (IPV6.0.into(), IPV6.1), Some(own6), &options.route)?;
    }
    Ok((device, unset))
}

/// Creates a device and sets it up.
fn device(netlink: &mut Rtnetlink, name: &str, options: &HostOptions) -> io::Result<(Tun, u32)> {
    let device = Tun::new(name)?;
    device.outlive()?; // in a namespace of its own
    let index = netlink.index(name)?;
    // With pieces of one segment no connection has more data ready than intended.
    let device_options =
        LinkOptions { mtu: Some(options.mtu), queue: Some(options.unread_max), segments: Some(1) };
    netlink.set_up(index, device_options)?;
    Ok((device, index))
}

/// Gives a router's namespace, the calling thread's, a device for each of its wires, with routes to the nodes
/// behind.
fn wires(addresses: Addresses, router: &RouterSpec, options: &HostOptions) -> io::Result<Vec<Tun>> {
    let mut netlink = Rtnetlink::new()?;
    let own = (addresses.ipv4(router.node), addresses.ipv6(router.node));
    let mut devices = Vec::new();
    for (number, (_, behind)) in router.wires.iter().enumerate() {
        let (device, index) = device(&mut netlink, &wire(number), options)?;
        for &node in behind {
            let to = addresses.ipv4(node).into();
            netlink.add_route(index, (to, 32), Some(own.0.into()), &options.route)?;
            let to = addresses.ipv6(node).into();
            // As on the first device, IPv6 may be missing.
            let _ = netlink.add_route(index, (to, 128), Some(own.1.into()), &options.route);
        }
        devices.push(device);
    }
    Ok(devices)
}

/// The emulation's time, for all its threads: by the machine's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// That clock's reading at the network's beginning.
    epoch: std::time::Duration,
}

impl Clock {
    /// Returns a clock that begins now.
    fn started() -> Self {
        Self { epoch: Self::reading() }
    }

    pub(crate) fn now(self) -> Instant {
        Instant::from_nanos(Self::reading().saturating_sub(self.epoch).as_nanos() as u64)
    }

    /// Returns the machine's monotonic time.
    pub(crate) fn monotonic() -> Instant {
        Instant::from_nanos(Self::reading().as_nanos() as u64)
    }

    /// Converts an instant of that clock into the emulation's time.
    pub(crate) fn since_start(self, at: Instant) -> Instant {
        Instant::ZERO + at.since(Instant::from_nanos(self.epoch.as_nanos() as u64))
    }

    fn reading() -> std::time::Duration {
        let now = clock_gettime(ClockId::Monotonic);
        std::time::Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
    }
}

/// Returns a time in the kernel's form.
pub(crate) const fn timespec(time: Duration) -> Timespec {
    const SECOND: u64 = 1_000_000_000;
    let nanos = time.as_nanos();
    Timespec { tv_sec: (nanos / SECOND).cast_signed(), tv_nsec: (nanos % SECOND).cast_signed() }
}

impl Ports for Hosts {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn wait(&mut self, until: Instant, ready: &mut Ready) {
        let began = self.now();
        let awake = began.since(self.slept);
        if self.real_time && awake > AWAKE_MAX {
            std::thread::sleep(std::time::Duration::from_nanos(awake.as_nanos() / REST));
        }
        let timeout = timespec(until.since(self.now()).saturating_sub(self.spin));
        self.found.clear();
        let found =
            epoll::wait(&self.events, rustix::buffer::spare_capacity(&mut self.found), Some(&timeout));
        if found.is_ok() {
            ready.extend(self.found.iter().map(|event| event.data.u64() as u32));
        }
        let ended = self.now();
        if ended.since(began) >= SLEEP {
            self.slept = ended;
        }
    }

    fn read(&mut self, port: u32, packet: &mut Vec<u8>) -> bool {
        let Ok(Some(bytes)) = self.devices[port as usize].read(&mut self.buffer) else { return false };
        packet.extend_from_slice(bytes);
        true
    }

    fn hold(&mut self, port: u32, held: bool) {
        let flags = if held { epoll::EventFlags::empty() } else { epoll::EventFlags::IN };
        let _ = epoll::modify(
            &self.events,
            &self.devices[port as usize],
            epoll::EventData::new_u64(port.into()),
            flags,
        );
    }

    fn write(&mut self, port: u32, packet: &[u8]) -> bool {
        self.devices[port as usize].write(packet)
    }
}
