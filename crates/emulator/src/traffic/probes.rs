//! Probes of a flow's path by UDP: small packets that the destination sends back.

use evenair_laws::connections::ConnectionParams;
use evenair_laws::flow::{FlowRole, Signal};
use evenair_laws::{Parameters, connections::ConnectionLaw};
use evenair_netsim::{ProbeResult, ProbeSpec, Prober, Traffic};
use evenair_units::{Bytes, Duration, Instant};
use std::net::UdpSocket;

/// A probe's data: the time of sending \[ns\]. The scenario sets its size on the air.
const STAMP: usize = size_of::<u64>();
/// IP's and UDP's headers, and the stamp \[bytes\].
pub(crate) const REAL_BYTES: Bytes = Bytes::new(28 + STAMP as u32);
/// The distance from a flow's port to that of its probes.
const PORTS_ABOVE: u16 = 20_000;

/// Returns the port of a flow's probes.
pub(crate) const fn port(of_flow: u16) -> u16 {
    of_flow + PORTS_ABOVE
}

/// Returns the settings of a flow's probes, if its law of connections needs them.
pub(crate) fn wanted(traffic: &Traffic) -> Option<ProbeSpec> {
    let needs = |law: &ConnectionParams| law.begin(&FlowRole { payload: traffic.payload() }).needs();
    let probed = traffic.connections().is_some_and(|law| needs(law).contains(&Signal::RoundTripOfProbes));
    traffic.probes().filter(|_| probed)
}

/// The probes of a flow, and their counts at the end of the warm-up.
#[derive(Debug)]
pub(super) struct Probes {
    spec: ProbeSpec,
    prober: Prober,
    /// Data packets counted so far.
    told: u64,
    at_warmup: (u64, u64),
}

impl Probes {
    pub(super) fn of(traffic: &Traffic) -> Option<Self> {
        let spec = wanted(traffic)?;
        Some(Self { spec, prober: Prober::default(), told: 0, at_warmup: (0, 0) })
    }

    /// Begins with the flow, after `data` earlier data packets.
    pub(super) const fn begin(&mut self, now: Instant, data: u64) {
        self.told = data;
        self.prober.begin(now);
    }

    /// Sends the next probe, if one is due after `data` data packets in all; returns the time of the next
    /// call.
    pub(super) fn send(&mut self, now: Instant, data: u64, socket: &UdpSocket, stamp: Instant) -> Instant {
        self.prober.count_data(u32::try_from(data.saturating_sub(self.told)).unwrap_or(u32::MAX));
        self.told = data;
        let (sends, again) = self.prober.next(now, self.spec.most_per_second);
        if sends {
            let _ = socket.send(&stamp.as_nanos().to_ne_bytes());
        }
        again
    }

    /// Reads the returned ones.
    pub(super) fn read(&mut self, now: Instant, socket: &UdpSocket, is_measured: bool) {
        let mut stamp = [0; STAMP];
        while let Ok(STAMP) = socket.recv(&mut stamp) {
            let sent = Instant::from_nanos(u64::from_ne_bytes(stamp));
            self.prober.come_back(now.since(sent), is_measured);
        }
    }

    /// Returns arrived probes to the sender, at the destination.
    pub(super) fn answer(&mut self, socket: &UdpSocket) {
        let mut stamp = [0; STAMP];
        while let Ok((STAMP, from)) = socket.recv_from(&mut stamp) {
            self.prober.arrive();
            let _ = socket.send_to(&stamp, from);
        }
    }

    /// Returns the mean round trip since the last call.
    pub(super) fn take_mean(&mut self) -> Option<Duration> {
        self.prober.take_mean()
    }

    /// Begins to measure at the end of the warm-up.
    pub(super) const fn start_measuring(&mut self) {
        self.at_warmup = (self.prober.sent(), self.prober.came());
    }

    /// Returns their result, beside `data` data packets of this size, and the number that reached the
    /// destination.
    pub(super) fn result(&self, data: u64, size: Bytes) -> (ProbeResult, u64) {
        let (sent, came) = self.at_warmup;
        let bytes = |packets: u64, size: Bytes| packets as f64 * f64::from(size.count());
        let sent = self.prober.sent() - sent;
        let own = bytes(sent, self.spec.size);
        let share = own / (own + bytes(data, size)).max(1.0);
        let round_trip_s = self.prober.measured().map(Duration::as_secs_f64);
        (ProbeResult { sent, share, round_trip_s }, self.prober.came() - came)
    }
}
