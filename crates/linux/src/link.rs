//! Devices, addresses and routes of a network namespace (rtnetlink(7)).

use crate::NetworkNamespace;
use crate::netlink::attributes::{Attributes, text, u16_at, u32_at, u32_of};
use crate::netlink::message::Message;
use crate::netlink::{Socket, malformed};
use evenair_units::{Bytes, Duration};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};

/// A connection to the kernel's devices, addresses, routes and queues, of the network namespace in which it
/// was created.
#[derive(Debug)]
pub struct Rtnetlink {
    pub(crate) socket: Socket,
}

/// Settings of a device; those not given keep the kernel's values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkOptions {
    /// The largest packet.
    pub mtu: Option<Bytes>,
    /// The most packets that wait to be sent \[packets\]; of a TUN device, to be read.
    pub queue: Option<u32>,
    /// The most segments that TCP passes down in one piece, to be cut before the device.
    pub segments: Option<u32>,
}

/// The state of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Whether it is set up.
    pub is_up: bool,
    /// Whether it is up and has a carrier; the kernel may take a second to notice one.
    pub is_running: bool,
    /// The kind of a virtual device: `veth`, `bridge`, `tun`; empty for others.
    pub kind: String,
    /// The bridge, or other device, of which it is a port.
    pub master: Option<u32>,
    /// Whether it is a link of the point-to-point protocol (`ppp`).
    pub is_ppp: bool,
    /// Whether a program receives its packets before the kernel does (XDP).
    pub has_program: bool,
    /// The switch of which it is a port, by the hardware's own number.
    pub switch: Option<Vec<u8>>,
    /// The largest packet.
    pub mtu: Bytes,
    /// The most segments that TCP passes down in one piece.
    pub segments: Option<u32>,
}

/// Options of a route, and of TCP on it; those not given keep the kernel's values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteOptions {
    /// The router on the device's link that packets go to; without one they go to their destination directly.
    pub gateway: Option<IpAddr>,
    /// The congestion control of connections that set none themselves.
    pub congestion_control: Option<String>,
    /// The least retransmission time-out.
    pub least_rto: Option<Duration>,
    /// The first congestion window \[segments\].
    pub first_window: Option<u32>,
    /// The first slow-start threshold \[segments\]; used if `tcp_no_ssthresh_metrics_save` is 0.
    pub first_threshold: Option<u32>,
    /// The largest segment announced to the peer \[bytes of data\].
    pub segment: Option<Bytes>,
}

const CREATE: i32 = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
/// Linux' `VETH_INFO_PEER`.
const PEER: u16 = 1;
/// Linux' `IFLA_XDP_ATTACHED`.
const XDP_ATTACHED: u16 = 2;
/// Linux' `IFA_F_NODAD`.
const WITHOUT_DETECTION: u32 = 0x02;

impl Rtnetlink {
    /// Connects to the kernel.
    ///
    /// # Errors
    /// If the process has no descriptors left.
    pub fn new() -> io::Result<Self> {
        Ok(Self { socket: Socket::new(None)? })
    }

    /// Returns the number of a device.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn index(&self, device: &str) -> io::Result<u32> {
        self.socket.index(device)
    }

    /// Returns all devices.
    ///
    /// # Errors
    /// If they change during each of several attempts.
    pub fn links(&mut self) -> io::Result<Vec<Link>> {
        let mut links = Vec::new();
        self.socket.dump(&of_device(libc::RTM_GETLINK, 0, 0, 0), &mut links, Link::read)?;
        Ok(links)
    }

    /// Returns the state of a device.
    ///
    /// # Errors
    /// If it is gone.
    pub fn link(&mut self, index: u32) -> io::Result<Link> {
        self.socket.get(of_device(libc::RTM_GETLINK, 0, index, 0), Link::read)
    }

    /// Sets a device up.
    ///
    /// # Errors
    /// If it is gone, or does not support this largest packet.
    pub fn set_up(&mut self, index: u32, options: LinkOptions) -> io::Result<()> {
        let mut message = of_device(libc::RTM_SETLINK, 0, index, libc::IFF_UP as u32);
        for (kind, value) in [
            (libc::IFLA_MTU, options.mtu.map(Bytes::count)),
            (libc::IFLA_TXQLEN, options.queue),
            (libc::IFLA_GSO_MAX_SEGS, options.segments),
        ] {
            value.map(|value| message.put_u32(kind, value));
        }
        self.socket.ask(message)
    }

    /// Creates two devices that are the ends of one wire (veth(4)), the second in another namespace; both are
    /// down.
    ///
    /// # Errors
    /// If a name is taken or longer than 15 bytes.
    pub fn add_pair(&mut self, name: &str, peer: &str, peers: &NetworkNamespace) -> io::Result<()> {
        let mut message = of_device(libc::RTM_NEWLINK, CREATE, 0, 0);
        message.put_text(libc::IFLA_IFNAME, name).nest(libc::IFLA_LINKINFO, |info| {
            info.put_text(libc::IFLA_INFO_KIND, "veth").nest(libc::IFLA_INFO_DATA, |data| {
                data.nest(PEER, |other| {
                    other.put_raw(&[0; 16]).put_text(libc::IFLA_IFNAME, peer);
                    other.put(libc::IFLA_NET_NS_FD, &peers.as_fd().as_raw_fd().to_ne_bytes());
                });
            });
        });
        self.socket.ask(message)
    }

    /// Creates a bridge, down and without ports.
    ///
    /// # Errors
    /// If the name is taken or longer than 15 bytes, or the kernel has no bridges.
    pub fn add_bridge(&mut self, name: &str) -> io::Result<()> {
        let mut message = of_device(libc::RTM_NEWLINK, CREATE, 0, 0);
        message.put_text(libc::IFLA_IFNAME, name).nest(libc::IFLA_LINKINFO, |info| {
            info.put_text(libc::IFLA_INFO_KIND, "bridge");
        });
        self.socket.ask(message)
    }

    /// Makes a device a port of a bridge.
    ///
    /// # Errors
    /// If either is gone.
    pub fn set_master(&mut self, index: u32, bridge: u32) -> io::Result<()> {
        let mut message = of_device(libc::RTM_SETLINK, 0, index, 0);
        message.put_u32(libc::IFLA_MASTER, bridge);
        self.socket.ask(message)
    }

    /// Gives a device an address with a prefix of this many bits.
    ///
    /// # Errors
    /// If it has that already.
    pub fn add_address(&mut self, index: u32, address: IpAddr, prefix: u8) -> io::Result<()> {
        // `struct ifaddrmsg`.
        let mut own = [family(address), prefix, 0, libc::RT_SCOPE_UNIVERSE, 0, 0, 0, 0];
        own[4..].copy_from_slice(&index.to_ne_bytes());
        let mut message = Message::new(libc::RTM_NEWADDR, CREATE, &own);
        // IPv4 has the local end as a separate attribute; IPv6 skips the search for duplicates, since no
        // other host is on the device.
        message.put(libc::IFA_LOCAL, &octets(address)).put(libc::IFA_ADDRESS, &octets(address));
        if address.is_ipv6() {
            message.put_u32(libc::IFA_FLAGS, WITHOUT_DETECTION);
        }
        self.socket.ask(message)
    }

    /// Removes an address from a device. Its connections can no longer send, and get no error.
    ///
    /// # Errors
    /// If the device does not have it.
    pub fn remove_address(&mut self, index: u32, address: IpAddr, prefix: u8) -> io::Result<()> {
        // `struct ifaddrmsg`.
        let mut own = [family(address), prefix, 0, 0, 0, 0, 0, 0];
        own[4..].copy_from_slice(&index.to_ne_bytes());
        let mut message = Message::new(libc::RTM_DELADDR, 0, &own);
        message.put(libc::IFA_LOCAL, &octets(address)).put(libc::IFA_ADDRESS, &octets(address));
        self.socket.ask(message)
    }

    /// Routes a prefix over a device, from this source address.
    ///
    /// # Errors
    /// If the device is down, or the kernel does not have an option.
    pub fn add_route(
        &mut self,
        index: u32,
        (to, prefix): (IpAddr, u8),
        source: Option<IpAddr>,
        options: &RouteOptions,
    ) -> io::Result<()> {
        let is_on_link = to.is_ipv4() && options.gateway.is_none();
        let scope = if is_on_link { libc::RT_SCOPE_LINK } else { libc::RT_SCOPE_UNIVERSE };
        // `struct rtmsg`.
        let (table, protocol, kind) = (libc::RT_TABLE_MAIN, libc::RTPROT_STATIC, libc::RTN_UNICAST);
        let own = [family(to), prefix, 0, 0, table, protocol, scope, kind, 0, 0, 0, 0];
        let mut message = Message::new(libc::RTM_NEWROUTE, libc::NLM_F_CREATE | libc::NLM_F_REPLACE, &own);
        message.put(libc::RTA_DST, &octets(to)).put_u32(libc::RTA_OIF, index);
        source.map(|source| message.put(libc::RTA_PREFSRC, &octets(source)));
        options.gateway.map(|gateway| message.put(libc::RTA_GATEWAY, &octets(gateway)));
        let metrics = options.metrics();
        if !metrics.is_empty() {
            message.nest(libc::RTA_METRICS, |nest| {
                for (kind, value) in &metrics {
                    nest.put(*kind, value);
                }
            });
        }
        self.socket.ask(message)
    }
}

impl Link {
    /// Reads a message about a device; messages about other objects return none.
    fn read(kind: u16, payload: &[u8]) -> io::Result<Option<Self>> {
        if kind != libc::RTM_NEWLINK {
            return Ok(None);
        }
        let short = || malformed("a device without a header");
        let attributes = Attributes::new(payload.get(16..).ok_or_else(short)?);
        let number = |kind| attributes.find(kind).and_then(u32_of);
        let flags = u32_at(payload, 8).ok_or_else(short)?;
        Ok(Some(Self {
            index: u32_at(payload, 4).ok_or_else(short)?,
            name: attributes.find(libc::IFLA_IFNAME).map(text).unwrap_or_default(),
            is_up: flags & libc::IFF_UP as u32 != 0,
            is_running: flags & libc::IFF_RUNNING as u32 != 0,
            kind: attributes
                .within(libc::IFLA_LINKINFO)
                .find(libc::IFLA_INFO_KIND)
                .map(text)
                .unwrap_or_default(),
            master: number(libc::IFLA_MASTER),
            is_ppp: u16_at(payload, 2) == Some(libc::ARPHRD_PPP),
            has_program: attributes
                .within(libc::IFLA_XDP)
                .find(XDP_ATTACHED)
                .is_some_and(|attached| attached != [0]),
            switch: attributes.find(libc::IFLA_PHYS_SWITCH_ID).map(<[u8]>::to_vec),
            mtu: Bytes::new(number(libc::IFLA_MTU).unwrap_or_default()),
            segments: number(libc::IFLA_GSO_MAX_SEGS),
        }))
    }
}

/// Returns the number of packets that a device of the calling thread's network namespace dropped instead of
/// sending. A TUN device drops a packet if too many wait to be read.
///
/// # Errors
/// If there is none of this name, or /proc is not mounted.
pub fn dropped(device: &str) -> io::Result<u64> {
    let devices = std::fs::read_to_string("/proc/thread-self/net/dev")?;
    let own = devices.lines().find_map(|line| line.trim_start().strip_prefix(device)?.strip_prefix(':'));
    // Eight numbers of received traffic, then packets and bytes sent, errors, drops (proc(5)).
    let drops = own.and_then(|numbers| numbers.split_whitespace().nth(8 + 3)?.parse().ok());
    drops.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("no counts of a device {device}")))
}

/// Metrics of a route (`RTAX_LOCK` and so on).
mod metric {
    pub(super) const LOCK: u16 = 1;
    pub(super) const THRESHOLD: u16 = 6;
    pub(super) const SEGMENT: u16 = 8;
    pub(super) const FIRST_WINDOW: u16 = 11;
    pub(super) const LEAST_RTO: u16 = 13;
    pub(super) const CONGESTION_CONTROL: u16 = 16;
}

impl RouteOptions {
    fn metrics(&self) -> Vec<(u16, Vec<u8>)> {
        let milliseconds = |time: Duration| time.as_nanos().div_ceil(1_000_000) as u32;
        // Linux uses a least time-out only if the metric is locked.
        let numbers = [
            (metric::LEAST_RTO, self.least_rto.map(milliseconds)),
            (metric::LOCK, self.least_rto.map(|_| 1 << metric::LEAST_RTO)),
            (metric::FIRST_WINDOW, self.first_window),
            (metric::THRESHOLD, self.first_threshold),
            (metric::SEGMENT, self.segment.map(Bytes::count)),
        ];
        let numbers =
            numbers.iter().filter_map(|(kind, value)| Some((*kind, value.as_ref()?.to_ne_bytes().to_vec())));
        let control = self.congestion_control.iter();
        control
            .map(|name| (metric::CONGESTION_CONTROL, [name.as_bytes(), &[0]].concat()))
            .chain(numbers)
            .collect()
    }
}

/// Returns a message about a device (`struct ifinfomsg`) that sets flags.
fn of_device(kind: u16, flags: i32, index: u32, set: u32) -> Message {
    let mut own = [0; 16];
    own[4..8].copy_from_slice(&index.to_ne_bytes());
    own[8..12].copy_from_slice(&set.to_ne_bytes());
    own[12..16].copy_from_slice(&set.to_ne_bytes());
    Message::new(kind, flags, &own)
}

fn family(address: IpAddr) -> u8 {
    (if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 }) as u8
}

/// Returns an address in network byte order.
pub(crate) fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}
