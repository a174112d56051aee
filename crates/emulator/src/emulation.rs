//! An emulation from its beginning to its end.

use crate::address::Addresses;
use crate::drive::{Drive, RealFlow};
use crate::gateway::RealGateway;
use crate::hosts::{self, HostOptions, Hosts, RouterSpec};
use crate::programs::{NotStarted, Program, Programs};
use crate::rehearsal::rehearse;
use crate::routes::Routes;
use crate::scheduling::{self, DrivesThread};
use crate::traffic::{self, Board, RealSpec, Tally, Traffic as RealTraffic};
use evenair_kernel::law::{self, Law};
use evenair_kernel::pins::Pinned;
use evenair_laws::Parameters;
use evenair_laws::connections::ConnectionLaw;
use evenair_laws::flow::{FlowRole, check_needs};
use evenair_laws::window::WindowParams;
use evenair_linux::NetworkNamespace;
use evenair_linux::link::RouteOptions;
use evenair_linux::uplink::{self, Uplink};
use evenair_multiconn::control::why_not;
use evenair_netsim::{
    FlowResult, MacSpec, Network, NetworkSpec, RunResult, RunSpec, Source, Stack, TcpSpec, Times, Traffic,
    TransferResult, Watchers,
};
use evenair_results::{HostReport, LiveRecord, Scheduling, Strays};
use evenair_tcp::Recovery;
use evenair_topology::Router;
use evenair_units::{Bytes, Duration, Instant};
use evenair_wifi::BROADCAST;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fmt, io};

/// The options of an emulation.
#[derive(Debug, Default)]
pub struct Options<'a> {
    /// Programs at nodes; the last is in the foreground, and its end is the end of the run.
    pub programs: &'a [Program],
    /// Whether real sockets carry the network's own flows, as far as Linux can; the others are simulated.
    pub with_flows: bool,
    /// Nodes with forwarding kernels.
    pub routers: &'a [u32],
    /// A router that leads to all other addresses, and the uplink that it uses.
    pub uplink: Option<(u32, &'a Uplink)>,
    /// Ends the run if a packet is later than this.
    pub abort_late: Option<Duration>,
    /// Whether packets without room at their node stay with their kernel, until its device is full, like a
    /// radio's. Otherwise they are lost at the node, as a simulated flow's are.
    pub backpressure: bool,
}

impl Options<'_> {
    /// Returns the node through which the machine's own network is reached.
    fn uplink_node(&self) -> Option<u32> {
        self.uplink.map(|(node, _)| node)
    }
}

/// The result of an emulation.
#[derive(Debug)]
pub struct Emulated {
    /// The network's result, with the counters of their sockets for real flows.
    pub result: RunResult,
    /// The record of lateness, and of the machine.
    pub live: LiveRecord,
    /// The status of the program in the foreground, as in a shell.
    pub status: Option<u8>,
}

/// The reason why an emulation failed or ended early.
#[derive(Debug)]
pub enum Problem {
    /// A node's namespace or device could not be created.
    Host(io::Error),
    /// A flow's sockets could not be created.
    Flow {
        /// The flow.
        name: String,
        /// The kernel's error.
        error: io::Error,
    },
    /// The gateway's daemon cannot implement the scenario, or the kernel refused a request of it.
    Gateway(String),
    /// The machine's own network cannot be reached.
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
            Self::Gateway(why) => {
                write!(f, "gateway: {why}; or have it simulated (gateway.stack = \"simulated\")")
            }
            Self::Program(NotStarted { program, error }) => write!(f, "cannot start {program}: {error}"),
            Self::Late(late) => write!(
                f,
                "a packet was {:.3} ms late: this machine cannot keep up; simulate less, or allow more by --abort-late",
                late.as_secs_f64() * 1e3
            ),
        }
    }
}

impl std::error::Error for Problem {}

/// The time between two checks of whether a program has ended, and between two progress reports.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Runs a network in real time, between hosts with this machine's kernel; returns no result if a watcher ends
/// it.
///
/// The calling thread must be in a sandbox ([`evenair_linux::sandbox::enter`]).
///
/// # Errors
/// If hosts, sockets or programs cannot be created, or a packet is too late; everything is removed again.
pub fn emulate(
    spec: &NetworkSpec,
    run: RunSpec,
    options: &Options<'_>,
    watchers: &mut Watchers<'_>,
) -> Result<Option<Emulated>, Problem> {
    let real = if options.with_flows { real_flows(spec, run.seed)? } else { Vec::new() };
    check_laws(&real)?;
    let gateway = real_gateway(spec, options)?;
    let (spec, routes, routers) = grounds(spec, &real, (options, gateway.as_ref()));
    let nodes = spec.nodes.len() as u32;
    let sides = routers.iter().flat_map(RouterSpec::sides).collect();
    let (_until_the_end, scheduling) = DrivesThread::begin();
    let settings = host_options(&real, &scheduling, options.backpressure);
    let mut hosts = Hosts::new(nodes, &routers, &settings).map_err(Problem::Host)?;
    let report = report(&hosts, scheduling, &real, options.backpressure);
    let mut network = network(&spec, run, watchers);
    let end = if options.programs.is_empty() { network.end() } else { Instant::NEVER };
    let namespaces = connected(&mut hosts, &real, &settings, options)?;
    let programs = scheduling::behind(|| Programs::start(options.programs, &namespaces));
    let mut programs = programs.map_err(Problem::Program)?;
    let clock = hosts.start();
    let (sockets, done) = ((clock, Addresses::of(nodes)), AtomicBool::new(false));
    let board = board(&real, &mut network).map_err(Problem::Host)?;
    let started = RealTraffic::new(real.clone(), run.warmup, sockets, Arc::clone(&board), &namespaces);
    let traffic = started.map_err(|(name, error)| Problem::Flow { name, error })?;
    let mut drive = Drive::new(&spec, network, (routes, sides, options.uplink_node()), hosts, board);
    prepare(&mut drive, &spec, &real, options.backpressure);
    let (mut status, mut too_late, mut is_stopped) = (None, None, false);
    let mut progress = watchers.progress.take();
    let (ended, unread, tallies, shaped) = std::thread::scope(|scope| {
        let shaping = gateway.map(|gateway| scope.spawn(|| gateway.run(&namespaces, clock, &done)));
        let sending = scope.spawn(|| {
            scheduling::sockets();
            if real.is_empty() { Vec::new() } else { traffic.run(&namespaces, &done) }
        });
        let mut looked = Instant::ZERO;
        let ended = drive.run(end, watchers, |now, clockwork| {
            let most = clockwork.most();
            too_late = options.abort_late.filter(|&late| most > late).map(|_| most);
            if now.since(looked) >= LOOK_EVERY {
                (looked, status) = (now, programs.ended());
                is_stopped = progress.as_mut().is_some_and(|progress| progress(now).is_break());
            }
            too_late.is_some() || status.is_some() || is_stopped || done.load(Ordering::Relaxed)
        });
        let unread = hosts::unread(&namespaces); // before sockets and programs continue without a reader
        done.store(true, Ordering::Relaxed);
        let tallies = sending.join().expect("the thread of the flows' sockets ends well");
        let shaped = shaping.map(|shaping| shaping.join().expect("the gateway's thread ends well"));
        (ended, unread, tallies, shaped)
    });
    drop(programs);
    let shaped = shaped.transpose().map_err(|failure| Problem::Gateway(failure.to_string()))?;
    if let Some(late) = too_late {
        return Err(Problem::Late(late));
    }
    if is_stopped {
        return Ok(None);
    }
    let (network, clockwork, strays) = drive.finish();
    let mut result = network.finish_watched(ended, watchers);
    result.gateway = shaped.map(|record| record.result(&spec.nodes, (run.warmup, ended))).or(result.gateway);
    let strays = Strays { unread, ..strays };
    let failed_flows = count_all(&mut result, &tallies, &real);
    let host = HostReport { failed_flows, ..report };
    let live = LiveRecord { lateness: clockwork.result(), strays, host };
    Ok(Some(Emulated { result, live, status }))
}

/// Returns the hosts' namespaces, ready for connections, and with an uplink if requested.
fn connected(
    hosts: &mut Hosts,
    real: &[RealSpec],
    settings: &HostOptions,
    options: &Options<'_>,
) -> Result<Vec<NetworkNamespace>, Problem> {
    let namespaces = hosts.take_namespaces();
    if settings.route.first_threshold.is_some() {
        let addresses = Addresses::of(namespaces.len() as u32);
        rehearse(hosts, addresses, &namespaces, pairs(real)).map_err(Problem::Host)?;
    }
    if let Some((node, uplink)) = options.uplink {
        uplink.connect(&namespaces[node as usize]).map_err(Problem::Uplink)?;
    }
    Ok(namespaces)
}

/// Returns the routes of all packets, and the nodes with kernels on them.
fn grounds(
    spec: &NetworkSpec,
    real: &[RealSpec],
    (options, gateway): (&Options<'_>, Option<&RealGateway>),
) -> (NetworkSpec, Routes, Vec<RouterSpec>) {
    let mut spec = with_outside(spec, real, options.with_flows);
    let uplink = options.uplink_node();
    let mut routers: BTreeSet<u32> = options.routers.iter().copied().chain(uplink).collect();
    if let Some(gateway) = gateway {
        routers.insert(gateway.node);
        spec.gateway = None;
    }
    let routes = Routes::of(&spec, &routers);
    let router = |&node: &u32| RouterSpec { is_uplink: uplink == Some(node), ..router(&spec, &routes, node) };
    let routers = routers.iter().map(router).collect();
    if options.programs.is_empty() {
        spec.routes.clear(); // only flows send, so that laws can compute a queue's load
    }
    (spec, routes, routers)
}

/// Returns the properties of the hosts, before the run.
fn report(hosts: &Hosts, scheduling: Scheduling, real: &[RealSpec], backpressure: bool) -> HostReport {
    HostReport {
        kernel: evenair_linux::kernel(),
        congestion_controls: evenair_linux::tcp::available().unwrap_or_default(),
        unset: hosts.unset.clone(),
        scheduling,
        real_flows: real.iter().map(|flow| flow.name.clone()).collect(),
        failed_flows: Vec::new(),
        backpressure,
    }
}

/// Returns a network at its beginning, with frames recorded if a watcher needs them.
fn network(spec: &NetworkSpec, run: RunSpec, watchers: &Watchers<'_>) -> Network {
    let mut network = Network::new(spec, run);
    if watchers.frames.is_some() {
        network.see_all_frames();
    }
    network
}

/// Returns the board that lets saturated sources send when their packets have left.
fn board(real: &[RealSpec], network: &mut Network) -> io::Result<Arc<Board>> {
    let saturated = real.iter().filter(|flow| flow.is_saturated()).map(|flow| flow.number);
    let board = Board::new(saturated)?;
    board.watch(network);
    Ok(Arc::new(board))
}

/// Returns the ends of all flows over TCP.
fn pairs(real: &[RealSpec]) -> BTreeSet<(u32, u32)> {
    let over_tcp = real.iter().filter(|flow| flow.traffic.tcp().is_some());
    over_tcp.map(|flow| (flow.source, flow.destination)).collect()
}

/// Configures the drive: the flows of packets, and the treatment of packets without room.
fn prepare(drive: &mut Drive<Hosts>, spec: &NetworkSpec, real: &[RealSpec], backpressure: bool) {
    if backpressure {
        drive.hold_back();
    }
    real.iter().for_each(|flow| tell_apart(drive, flow, &spec.flows[flow.number as usize].path));
}

/// Registers the packets of a flow and of its probes with the drive.
fn tell_apart(drive: &mut Drive<Hosts>, flow: &RealSpec, way: &[u32]) {
    let more = |on_the_air: Bytes, real: Bytes| on_the_air.count().wrapping_sub(real.count()).cast_signed();
    let headers = flow.traffic.tcp().map(|tcp| more(tcp.plain_headers(), real_headers(&flow.traffic)));
    let told = |more, is_probes| RealFlow { number: flow.number, way: way.to_vec(), more, is_probes };
    drive.add_flow(flow.port, told(headers.unwrap_or_default(), false));
    if let Some(probes) = traffic::wanted_probes(&flow.traffic) {
        let more = more(probes.size, traffic::PROBE_BYTES);
        drive.add_flow(traffic::probe_port(flow.port), told(more, true));
    }
}

/// Returns the flows that real sockets carry: all that Linux supports, except those that are to be simulated.
fn real_flows(spec: &NetworkSpec, seed: u64) -> Result<Vec<RealSpec>, Problem> {
    let mut real = Vec::new();
    for (number, flow) in (0..).zip(&spec.flows) {
        match (flow.stack, traffic::why_simulated(&flow.traffic)) {
            (Some(Stack::Linux), Some(why)) => {
                let why = format!("stack = \"linux\": {why}. Leave stack out, or set it to \"simulated\"");
                return Err(refused(&flow.name, why));
            }
            (Some(Stack::Simulated), _) | (None, Some(_)) => (),
            (Some(Stack::Linux) | None, None) => {
                let port = traffic::FIRST_PORT + real.len() as u16;
                real.push(RealSpec::new(flow, number, port, seed));
            }
        }
    }
    Ok(real)
}

/// Returns the error of a flow that real sockets cannot carry.
fn refused(flow: &str, why: String) -> Problem {
    Problem::Flow { name: flow.into(), error: io::Error::new(io::ErrorKind::Unsupported, why) }
}

/// Returns the gateway that a daemon implements, if the scenario has one.
fn real_gateway(spec: &NetworkSpec, options: &Options<'_>) -> Result<Option<RealGateway>, Problem> {
    let wanted = spec.gateway.as_ref().filter(|gateway| gateway.stack == Some(Stack::Linux));
    let Some(gateway) = wanted.filter(|_| options.with_flows) else { return Ok(None) };
    RealGateway::new(spec, gateway).map(Some).map_err(Problem::Gateway)
}

/// Refuses a window law that this kernel lacks, and a law of connections that needs a quantity that Linux
/// does not report.
fn check_laws(real: &[RealSpec]) -> Result<(), Problem> {
    let there = evenair_linux::tcp::available().map_err(Problem::Host)?;
    for flow in real {
        let Some(tcp) = flow.traffic.tcp() else { continue };
        let name = traffic::congestion_control(&tcp.window).unwrap_or_default();
        if !there.iter().any(|control| control == name) {
            let there = there.join(", ");
            let load = Law::of(&tcp.window).map_or_else(
                || format!("modprobe tcp_{name}"),
                |law| format!("evenair cc load {}", law.name()),
            );
            let why = format!(
                "this kernel has no congestion control {name}; it has {there}. Load it ({load}), set tcp.window, or have the flow simulated (stack = \"simulated\")"
            );
            return Err(refused(&flow.name, why));
        }
        check_parameters(flow, &tcp.window)?;
        if let Some(law) = &tcp.connections {
            let needs = law.begin(&FlowRole { payload: tcp.payload }).needs();
            check_needs(&needs, why_not).map_err(|untold| {
                refused(
                    &flow.name,
                    format!("connections: {untold}; or have the flow simulated (stack = \"simulated\")"),
                )
            })?;
        }
    }
    Ok(())
}

/// Refuses parameters that differ from those of the law in the kernel, if this process may read these.
fn check_parameters(flow: &RealSpec, wanted: &WindowParams) -> Result<(), Problem> {
    let Some(law) = Law::of(wanted) else { return Ok(()) };
    let Ok(there) = Pinned::open(law).and_then(|pinned| pinned.params()) else { return Ok(()) };
    let wanted_there = law::encode(wanted).map_err(|bad| refused(&flow.name, bad.to_string()))?;
    if law::encode(&there).is_ok_and(|there| there == wanted_there) {
        return Ok(());
    }
    let why = format!(
        "the kernel's {} has {}: evenair cc set {} {}",
        law.control(),
        law::words(&there),
        law.name(),
        law::change(&there, wanted)
    );
    Err(refused(&flow.name, why))
}

/// Returns the network with real flows' packets from outside, and routes between all nodes. Its own flows are
/// removed if not wanted.
fn with_outside(spec: &NetworkSpec, real: &[RealSpec], with_flows: bool) -> NetworkSpec {
    let mut spec = spec.clone();
    if with_flows {
        for flow in real {
            let traffic = &mut spec.flows[flow.number as usize].traffic;
            *traffic = Traffic::Outside(Box::new(traffic.clone()));
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

/// Returns a router with its wires.
fn router(spec: &NetworkSpec, routes: &Routes, node: u32) -> RouterSpec {
    let ends: BTreeSet<u32> =
        spec.wires.iter().filter(|wire| wire.from == node).map(|wire| wire.to).collect();
    let nodes = 0..spec.nodes.len() as u32;
    let behind = |end: u32| nodes.clone().filter(|&to| routes.next(node, to) == Some(end)).collect();
    RouterSpec { node, is_uplink: false, wires: ends.into_iter().map(|end| (end, behind(end))).collect() }
}

/// Returns the headers of a real packet with data: IP's and TCP's, with timestamps if enabled.
fn real_headers(traffic: &Traffic) -> Bytes {
    let timestamps = traffic.tcp().is_some_and(|tcp| tcp.sender.timestamps);
    Bytes::new(if timestamps { 52 } else { 40 })
}

/// A threshold that no window reaches \[segments\].
const LARGE_THRESHOLD: u32 = 1 << 20;

/// Returns the settings that make the hosts' TCP the scenario's. They apply to all connections: the first
/// flow's decide, and a loss recovery that any flow's law uses is enabled for all.
fn host_options(real: &[RealSpec], scheduling: &Scheduling, backpressure: bool) -> HostOptions {
    let flows: Vec<&TcpSpec> = real.iter().filter_map(|flow| flow.traffic.tcp()).collect();
    let largest = real.iter().map(|flow| flow.traffic.largest()).max().unwrap_or_default();
    let mut options = HostOptions {
        real_time: scheduling.real_time.is_some(),
        unread_max: if backpressure { hosts::HELD_MAX } else { hosts::UNREAD_MAX },
        mtu: largest.max(Bytes::new(1500)),
        route: RouteOptions::default(),
        settings: Vec::new(),
    };
    let Some(tcp) = flows.first() else { return options };
    options.route.least_rto = Some(tcp.sender.rto.min);
    options.route.first_window = Some(tcp.sender.start.initial_window as u32);
    // Linux' default is unbounded, as in a scenario without one.
    let threshold = tcp.sender.start.initial_ssthresh;
    if threshold < f64::from(LARGE_THRESHOLD) {
        options.route.first_threshold = Some(threshold as u32);
        options.settings.push(("ipv4/tcp_no_ssthresh_metrics_save".into(), "0".into()));
    }
    options.route.congestion_control = traffic::congestion_control(&tcp.window).ok().map(String::from);
    let sack = flows.iter().any(|tcp| tcp.sender.recovery == Recovery::Sack);
    let rack = flows.iter().any(|tcp| tcp.sender.rack);
    for (key, on) in [
        ("ipv4/tcp_sack", sack),
        ("ipv4/tcp_dsack", sack),
        ("ipv4/tcp_timestamps", tcp.sender.timestamps),
        ("ipv4/tcp_ecn", tcp.sender.ecn),
        ("ipv4/tcp_recovery", rack),
    ] {
        options.settings.push((key.into(), u8::from(on).to_string()));
    }
    options
}

/// Fills in the results of real flows; returns those that lack a connection, with the reason.
fn count_all(result: &mut RunResult, tallies: &[Tally], real: &[RealSpec]) -> Vec<String> {
    for (tally, flow) in tallies.iter().zip(real) {
        count(&mut result.flows[tally.number as usize], tally, flow, result.measured_s);
    }
    let failed =
        |(tally, flow): (&Tally, &RealSpec)| Some(format!("{}: {}", flow.name, tally.failed.as_ref()?));
    tallies.iter().zip(real).filter_map(failed).collect()
}

/// Fills in a real flow's result: the counters of its sockets replace the network's counts of its packets.
fn count(result: &mut FlowResult, tally: &Tally, flow: &RealSpec, measured_s: f64) {
    result.sent = tally.sent;
    let Some(tcp) = flow.traffic.tcp() else {
        // All its bytes are data; a broadcast is delivered once by each receiver.
        result.goodput_bps = result.goodput_pps * 8.0 * f64::from(result.unit_bytes);
        (result.ack_queue, result.ack_queueing_delay_s) = (None, None);
        return;
    };
    // The waiting time of a segment's data at its ends is unknown outside of the applications: the network
    // has only packets.
    (result.delay, result.jitter_s) = (None, None);
    result.silence_s = tally.silence.as_secs_f64();
    (result.retransmitted, result.timeouts) = (tally.retransmitted, tally.timeouts);
    if let Some((probes, came)) = tally.probes {
        result.arrived = result.arrived.saturating_sub(came);
        result.probes = Some(probes);
    }
    result.unit_bytes = tcp.payload.count();
    result.goodput_bps = if measured_s > 0.0 { tally.delivered_bytes as f64 * 8.0 / measured_s } else { 0.0 };
    result.goodput_pps = result.goodput_bps / 8.0 / f64::from(result.unit_bytes);
    result.round_trip_s = tally.round_trip_s;
    result.connections = tally.connections;
    result.congestion_window = tally.congestion_window;
    result.offered_pps = None;
    if flow.traffic.web().is_some() || matches!(tcp.source, Source::Segments(_)) {
        let took = Times::of_each(&tally.took);
        let completed = tally.took.len() as u64;
        result.transfers = Some(TransferResult { requests: tally.requests, completed, took });
    }
}
