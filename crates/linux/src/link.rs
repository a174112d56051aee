//! Devices, addresses and routes of the calling thread's network namespace, over netlink (RFC 3549).

use evenair_units::{Bytes, Duration};
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage, AddressScope};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope,
    RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use rustix::net::{RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

/// A connection to the kernel, of the network namespace in which it was made.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

/// How a device is set: what is not given is the kernel's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkOptions {
    /// The largest packet.
    pub mtu: Option<Bytes>,
    /// Packets that wait to be sent \[packets\]; of a TUN device, to be read.
    pub queue: Option<u32>,
    /// Segments that TCP hands down in one piece, to be cut before the device.
    pub segments: Option<u32>,
}

/// How TCP behaves on a route: what is not given is the kernel's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteOptions {
    /// Congestion control of connections that choose none themselves.
    pub congestion_control: Option<String>,
    /// The least retransmission time-out.
    pub least_rto: Option<Duration>,
    /// The first congestion window \[segments\].
    pub first_window: Option<u32>,
    /// The first slow-start threshold \[segments\]; taken where `tcp_no_ssthresh_metrics_save` is 0.
    pub first_threshold: Option<u32>,
    /// The largest segment that is asked for \[bytes of data\].
    pub segment: Option<Bytes>,
}

impl Netlink {
    /// Connects to the kernel.
    ///
    /// # Errors
    /// If the process has no descriptors left.
    pub fn new() -> io::Result<Self> {
        let family = rustix::net::AddressFamily::NETLINK;
        let socket = socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        Ok(Self { socket, sequence: 0 })
    }

    /// The number of a device.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn index(&mut self, device: &str) -> io::Result<u32> {
        Ok(rustix::net::netdevice::name_to_index(&self.socket, device)?)
    }

    /// Sets a device up.
    ///
    /// # Errors
    /// If it is gone, or the largest packet is not one that it can have.
    pub fn set_up(&mut self, index: u32, options: LinkOptions) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
        message.attributes.extend(options.mtu.map(|mtu| LinkAttribute::Mtu(mtu.count())));
        message.attributes.extend(options.queue.map(LinkAttribute::TxQueueLen));
        message.attributes.extend(options.segments.map(LinkAttribute::GsoMaxSegs));
        self.ask(RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Gives a device an address with a prefix of this many bits.
    ///
    /// # Errors
    /// If it has that already.
    pub fn add_address(&mut self, index: u32, address: IpAddr, prefix: u8) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = prefix;
        message.header.scope = AddressScope::Universe;
        message.header.index = index;
        // IPv4 tells its own end apart; IPv6 skips the search for duplicates, since nobody else is on the device.
        message.attributes.push(AddressAttribute::Local(address));
        message.attributes.push(AddressAttribute::Address(address));
        if address.is_ipv6() {
            message
                .attributes
                .push(AddressAttribute::Flags(netlink_packet_route::address::AddressFlags::Nodad));
        }
        self.ask(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL)
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
        let mut message = RouteMessage::default();
        message.header.address_family = family(to);
        message.header.destination_prefix_length = prefix;
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Static;
        message.header.scope = if to.is_ipv4() { RouteScope::Link } else { RouteScope::Universe };
        message.header.kind = RouteType::Unicast;
        message.attributes.push(RouteAttribute::Destination(route_address(to)));
        message.attributes.push(RouteAttribute::Oif(index));
        message.attributes.extend(source.map(|source| RouteAttribute::PrefSource(route_address(source))));
        let metrics = options.metrics();
        if !metrics.is_empty() {
            message.attributes.push(RouteAttribute::Metrics(metrics));
        }
        self.ask(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_REPLACE)
    }

    /// Sends a request and waits for the kernel's answer to it.
    fn ask(&mut self, request: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.sequence += 1;
        let mut message = NetlinkMessage::from(request);
        message.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        message.header.sequence_number = self.sequence;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        send(&self.socket, &bytes, SendFlags::empty())?;
        let mut buffer = [0; 8192];
        loop {
            let (length, _) = recv(&self.socket, &mut buffer[..], RecvFlags::empty())?;
            let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&buffer[..length])
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
            if answer.header.sequence_number != self.sequence {
                continue;
            }
            let NetlinkPayload::Error(told) = answer.payload else { continue };
            return match told.code {
                None => Ok(()),
                Some(code) => Err(io::Error::from_raw_os_error(-code.get())),
            };
        }
    }
}

/// Packets that a device of the calling thread's network namespace was to send and dropped; of a TUN device, since too many waited to
/// be read.
///
/// # Errors
/// If there is none of this name, or /proc is not mounted.
pub fn dropped(device: &str) -> io::Result<u64> {
    let devices = std::fs::read_to_string("/proc/thread-self/net/dev")?;
    let own = devices.lines().find_map(|line| line.trim_start().strip_prefix(device)?.strip_prefix(':'));
    // Eight numbers of what was received, then packets and bytes sent, errors, drops (proc(5)).
    let drops = own.and_then(|numbers| numbers.split_whitespace().nth(8 + 3)?.parse().ok());
    drops.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("no counts of a device {device}")))
}

/// The number of the route's metric (`RTAX_RTO_MIN`).
const RTO_MIN: u32 = 13;

impl RouteOptions {
    fn metrics(&self) -> Vec<RouteMetric> {
        let milliseconds = |time: Duration| time.as_nanos().div_ceil(1_000_000) as u32;
        let control = self.congestion_control.clone().map(RouteMetric::CcAlgo);
        let rto = self.least_rto.map(|time| RouteMetric::RtoMin(milliseconds(time)));
        let window = self.first_window.map(RouteMetric::InitCwnd);
        let threshold = self.first_threshold.map(RouteMetric::SsThresh);
        let segment = self.segment.map(|segment| RouteMetric::Advmss(segment.count()));
        // Linux heeds a least time-out only where the metric is locked.
        let lock = rto.as_ref().map(|_| RouteMetric::Lock(1 << RTO_MIN));
        [control, rto, lock, window, threshold, segment].into_iter().flatten().collect()
    }
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn route_address(address: IpAddr) -> RouteAddress {
    match address {
        IpAddr::V4(address) => RouteAddress::Inet(address),
        IpAddr::V6(address) => RouteAddress::Inet6(address),
    }
}
