//! An emulation from its beginning to its end.

use crate::address::Addresses;
use crate::drive::{Drive, RealFlow, Strays};
use crate::hosts::{self, HostOptions, Hosts, RouterSpec};
use crate::lateness::Lateness;
use crate::programs::{NotStarted, Program, Programs};
use crate::scheduling::{self, DrivesThread, Scheduling};
use crate::traffic::{self, RealSpec, Tally, Traffic as RealTraffic};
use crate::ways::Ways;
use evenair_laws::Parameters;
use evenair_laws::connections::ConnectionLaw;
use evenair_laws::flow::{FlowRole, check_needs};
use evenair_linux::link::RouteOptions;
use evenair_linux::uplink::{self, Uplink};
use evenair_netsim::{
    FlowResult, Histogram, MacSpec, Network, NetworkSpec, Pattern, RunResult, RunSpec, TcpSpec, Times,
    Traffic, TransferResult, Watchers,
};
use evenair_tcp::Recovery;
use evenair_topology::Router;
use evenair_units::{Bytes, Duration, Instant};
use evenair_wifi::BROADCAST;
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fmt, io};

/// How a network is emulated.
#[derive(Debug, Default)]
pub struct Options<'a> {
    /// Programs at nodes; the last is in the foreground, and its end is the end of all.
    pub programs: &'a [Program],
    /// Real sockets carry the network's own flows, as far as Linux can; the others are simulated.
    pub with_flows: bool,
    /// Nodes whose kernels forward what passes them.
    pub routers: &'a [u32],
    /// A router that is the way to everywhere else, and what carries it there.
    pub uplink: Option<(u32, &'a Uplink)>,
    /// End where a packet is later than this.
    pub abort_late: Option<Duration>,
}

/// What came of an emulation.
#[derive(Debug)]
pub struct Emulated {
    /// The network's result, in which real flows count as their sockets have counted.
    pub result: RunResult,
    /// How late packets were.
    pub lateness: Lateness,
    /// Packets that did not pass through the network.
    pub strays: Strays,
    /// The kernels of the hosts.
    pub host: HostReport,
    /// The status of the program in the foreground, as a shell has it.
    pub status: Option<u8>,
}

/// What the hosts' kernels are, for whoever wants to have the same.
#[derive(Clone, Debug, Serialize)]
pub struct HostReport {
    /// The kernel's release.
    pub kernel: String,
    /// Its congestion controls.
    pub congestion_controls: Vec<String>,
    /// Settings that it does not have, or did not take.
    pub unset: Vec<String>,
    /// How all this was scheduled.
    pub scheduling: Scheduling,
    /// Flows that real sockets carry.
    pub real_flows: Vec<String>,
    /// Those of them of which not every connection could be opened, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_flows: Vec<String>,
}

/// Why there is no emulation, or why it ended early.
#[derive(Debug)]
pub enum Problem {
    /// A node's namespace or device could not be had.
    Host(io::Error),
    /// A flow's sockets could not be had.
    Flow {
        /// The flow.
        name: String,
        /// What the kernel says.
        error: io::Error,
    },
    /// There is no way to the machine's own network.
    Uplink(io::Error),
    /// A program did not start.
    Program(NotStarted),
    /// A packet was later than allowed.
    Late(Duration),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                write!(
                    f,
                    "cannot make a node's device: {error}; /dev/net/tun must be readable and writable for you"
                )
            }
            Self::Host(error) if error.kind() == io::ErrorKind::NotFound => {
                write!(f, "cannot make a node's device: {error}; load the kernel's module: modprobe tun")
            }
            Self::Host(error) => write!(f, "cannot make a node's host: {error}"),
            Self::Uplink(error) => {
                write!(f, "cannot connect to the machine's network by {}: {error}", uplink::PROGRAM)
            }
            Self::Flow { name, error } => write!(f, "flow {name}: {error}"),
            Self::Program(NotStarted { program, error }) => write!(f, "cannot start {program}: {error}"),
            Self::Late(late) => write!(
                f,
                "a packet was {:.1} ms late: this machine cannot keep up; simulate less, or allow more by --abort-late",
                late.as_secs_f64() * 1e3
            ),
        }
    }
}

impl std::error::Error for Problem {}

/// Lets a network pass in real time, between hosts with this machine's kernel; `asked_to_stop` ends it early.
///
/// The calling thread must be in a sandbox ([`evenair_linux::sandbox::enter`]).
///
/// # Errors
/// If hosts, sockets or programs cannot be had, or a packet is too late; everything is taken down again.
pub fn emulate(
    spec: &NetworkSpec,
    run: RunSpec,
    options: &Options<'_>,
    asked_to_stop: &AtomicBool,
    watchers: &mut Watchers<'_>,
) -> Result<Emulated, Problem> {
    let real = if options.with_flows { real_flows(spec) } else { Vec::new() };
    check_laws(&real)?;
    let spec = with_outside(spec, &real, options.with_flows);
    let nodes = spec.nodes.len() as u32;
    let uplink = options.uplink.map(|(node, _)| node);
    let routers: BTreeSet<u32> = options.routers.iter().copied().chain(uplink).collect();
    let ways = Ways::of(&spec, &routers);
    let router = |&node: &u32| RouterSpec { is_uplink: uplink == Some(node), ..router(&spec, &ways, node) };
    let routers: Vec<RouterSpec> = routers.iter().map(router).collect();
    let sides =
        |router: &RouterSpec| router.wires.iter().map(|&(to, _)| (router.node, to)).collect::<Vec<_>>();
    let sides = routers.iter().flat_map(sides).collect();
    let (_until_the_end, scheduling) = DrivesThread::begin();
    let settings = HostOptions { real_time: scheduling.real_time.is_some(), ..host_options(&real) };
    let mut hosts = Hosts::new(nodes, &routers, &settings).map_err(Problem::Host)?;
    let mut report = HostReport {
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        congestion_controls: evenair_linux::tcp::available().unwrap_or_default(),
        unset: hosts.unset.clone(),
        scheduling,
        real_flows: real.iter().map(|flow| flow.name.clone()).collect(),
        failed_flows: Vec::new(),
    };
    let mut network = Network::new(&spec, run);
    if watchers.frames.is_some() {
        network.see_all_frames();
    }
    let end = if options.programs.is_empty() { network.end() } else { Instant::NEVER };
    let namespaces = hosts.take_namespaces();
    if let Some((node, uplink)) = options.uplink {
        uplink.connect(&namespaces[node as usize]).map_err(Problem::Uplink)?;
    }
    let programs = scheduling::behind(|| Programs::start(options.programs, &namespaces));
    let mut programs = programs.map_err(Problem::Program)?;
    let clock = hosts.start();
    let (sockets, done) = ((clock, Addresses::of(nodes)), AtomicBool::new(false));
    let started = RealTraffic::new(real.clone(), run.warmup, sockets, &namespaces);
    let traffic = started.map_err(|(name, error)| Problem::Flow { name, error })?;
    let mut drive = Drive::new(&spec, network, (ways, sides, uplink), hosts);
    for flow in &real {
        let scenario = flow.traffic.tcp().map(|tcp| tcp.headers);
        let more = scenario.map_or(0, |headers| {
            headers.count().wrapping_sub(real_headers(&flow.traffic).count()).cast_signed()
        });
        let way = spec.flows[flow.number as usize].path.clone();
        drive.add_flow(flow.port, RealFlow { number: flow.number, way, more });
    }
    let (mut status, mut too_late) = (None, None);
    let (ended, unread, tallies) = std::thread::scope(|scope| {
        let sending = scope.spawn(|| {
            scheduling::sockets();
            if real.is_empty() { Vec::new() } else { traffic.run(&namespaces, &done) }
        });
        let mut looked = Instant::ZERO;
        let ended = drive.run(end, watchers, |now, clockwork| {
            let most = clockwork.most();
            too_late = options.abort_late.filter(|&late| most > late).map(|_| most);
            if now.since(looked) >= Duration::from_millis(5) {
                looked = now;
                status = programs.ended();
            }
            too_late.is_some() || status.is_some() || asked_to_stop.load(Ordering::Relaxed)
        });
        let unread = hosts::unread(&namespaces); // before sockets and programs go on with nobody to read
        done.store(true, Ordering::Relaxed);
        (ended, unread, sending.join().expect("the thread of the flows' sockets ends well"))
    });
    drop(programs);
    if let Some(late) = too_late {
        return Err(Problem::Late(late));
    }
    let (network, clockwork, strays) = drive.finish();
    let mut result = network.finish_at(ended);
    for (tally, flow) in tallies.iter().zip(&real) {
        count(&mut result.flows[tally.number as usize], tally, flow, result.measured_s);
        report.failed_flows.extend(tally.failed.as_ref().map(|why| format!("{}: {why}", flow.name)));
    }
    Ok(Emulated {
        result,
        lateness: clockwork.result(),
        strays: Strays { unread, ..strays },
        host: report,
        status,
    })
}

/// The flows that real sockets can carry: TCP under a window law that Linux has, and datagrams at a constant rate.
fn real_flows(spec: &NetworkSpec) -> Vec<RealSpec> {
    let mut real = Vec::new();
    for (number, flow) in spec.flows.iter().enumerate() {
        let carried = match &flow.traffic {
            Traffic::Tcp(tcp) => !tcp.resequence && traffic::congestion_control(&tcp.window).is_ok(),
            Traffic::Datagrams { pattern: Pattern::Constant { .. }, .. } => flow.path[1] != BROADCAST,
            _ => false,
        };
        if carried {
            real.push(RealSpec {
                name: flow.name.clone(),
                number: number as u32,
                source: flow.path[0],
                destination: flow.path[flow.path.len() - 1],
                port: traffic::FIRST_PORT + real.len() as u16,
                traffic: flow.traffic.clone(),
                active: flow.active.clone(),
            });
        }
    }
    real
}

/// Refuses a window law that this kernel lacks, and a law of connections that must know what Linux does not tell.
fn check_laws(real: &[RealSpec]) -> Result<(), Problem> {
    let there = evenair_linux::tcp::available().map_err(Problem::Host)?;
    for flow in real {
        let Traffic::Tcp(tcp) = &flow.traffic else { continue };
        let refused = |why: String| Problem::Flow {
            name: flow.name.clone(),
            error: io::Error::new(io::ErrorKind::Unsupported, why),
        };
        let name = traffic::congestion_control(&tcp.window).unwrap_or_default();
        if !there.iter().any(|control| control == name) {
            let there = there.join(", ");
            return Err(refused(format!(
                "this kernel has no congestion control {name}; it has {there}. Load it (modprobe tcp_{name}), or set tcp.window"
            )));
        }
        if let Some(law) = &tcp.connections {
            let needs = law.begin(&FlowRole { payload: tcp.payload }).needs();
            check_needs(&needs, traffic::why_not)
                .map_err(|untold| refused(format!("connections: {untold}")))?;
        }
    }
    Ok(())
}

/// The network with real flows' packets from outside, without its own flows where they are not wanted, and with ways between
/// all nodes.
fn with_outside(spec: &NetworkSpec, real: &[RealSpec], with_flows: bool) -> NetworkSpec {
    let mut spec = spec.clone();
    if with_flows {
        for flow in real {
            let traffic = &mut spec.flows[flow.number as usize].traffic;
            *traffic = Traffic::Outside { size: traffic.size() };
        }
    } else {
        spec.flows.clear();
        spec.gateway = None;
        spec.source_limits.clear();
    }
    let wires: Vec<(u32, u32)> = spec.wires.iter().map(|wire| (wire.from, wire.to)).collect();
    let router = Router::with_wires(&spec.medium, &wires);
    let nodes = spec.nodes.len() as u32;
    for from in 0..nodes {
        for to in from + 1..nodes {
            spec.routes.extend(router.route(from, to));
        }
        if matches!(spec.mac, MacSpec::Dcf { .. }) && !spec.medium.hearers(from as usize).is_empty() {
            spec.routes.push(vec![from, BROADCAST]);
        }
    }
    spec
}

/// A router, with the wires at which it stands.
fn router(spec: &NetworkSpec, ways: &Ways, node: u32) -> RouterSpec {
    let ends: BTreeSet<u32> =
        spec.wires.iter().filter(|wire| wire.from == node).map(|wire| wire.to).collect();
    let nodes = 0..spec.nodes.len() as u32;
    let behind = |end: u32| nodes.clone().filter(|&to| ways.next(node, to) == Some(end)).collect();
    RouterSpec { node, is_uplink: false, wires: ends.into_iter().map(|end| (end, behind(end))).collect() }
}

/// Headers of a real packet with data: IP's and TCP's, with timestamps where they are on.
fn real_headers(traffic: &Traffic) -> Bytes {
    let timestamps = traffic.tcp().is_some_and(|tcp| tcp.sender.timestamps);
    Bytes::new(if timestamps { 52 } else { 40 })
}

/// Settings that make the hosts' TCP what the scenario's is. They are of all connections; the first flow's decide.
fn host_options(real: &[RealSpec]) -> HostOptions {
    let flows: Vec<&TcpSpec> = real.iter().filter_map(|flow| flow.traffic.tcp()).collect();
    let largest = real.iter().map(|flow| flow.traffic.size()).max().unwrap_or_default();
    let mut options = HostOptions {
        real_time: false,
        mtu: largest.max(Bytes::new(1500)),
        route: RouteOptions::default(),
        settings: Vec::new(),
    };
    let Some(tcp) = flows.first() else { return options };
    options.route.least_rto = Some(tcp.sender.rto.min);
    options.route.first_window = Some(tcp.sender.start.initial_window as u32);
    options.route.congestion_control = traffic::congestion_control(&tcp.window).ok().map(String::from);
    let sack = matches!(tcp.sender.recovery, Recovery::Sack);
    for (key, on) in [
        ("ipv4/tcp_sack", sack),
        ("ipv4/tcp_dsack", sack),
        ("ipv4/tcp_timestamps", tcp.sender.timestamps),
        ("ipv4/tcp_ecn", tcp.sender.ecn),
        ("ipv4/tcp_recovery", tcp.sender.rack),
    ] {
        options.settings.push((key.into(), u8::from(on).to_string()));
    }
    options
}

/// A real flow's result: what its sockets have counted stands for what the network saw of its packets.
fn count(result: &mut FlowResult, tally: &Tally, flow: &RealSpec, measured_s: f64) {
    result.sent = tally.sent;
    let Traffic::Tcp(tcp) = &flow.traffic else { return };
    result.retransmitted = tally.retransmitted;
    result.unit_bytes = tcp.payload.count();
    result.goodput_bps = if measured_s > 0.0 { tally.delivered_bytes as f64 * 8.0 / measured_s } else { 0.0 };
    result.goodput_pps = result.goodput_bps / 8.0 / f64::from(result.unit_bytes);
    result.round_trip_s = tally.round_trip_s;
    result.connections = tally.connections;
    result.congestion_window = tally.congestion_window;
    result.offered_pps = None;
    if let evenair_netsim::Source::Segments(_) = tcp.source {
        let took = tally.took.map(|took| {
            let mut histogram = Histogram::default();
            histogram.add(took);
            let s = took.as_secs_f64();
            Times { count: 1, mean_s: s, p50_s: Some(s), p95_s: Some(s), p99_s: Some(s), histogram }
        });
        let completed = took.as_ref().map_or(0, |took| took.count);
        result.transfers = Some(TransferResult { requests: 1, completed, took });
    }
}
