//! A simulated access point and a Linux one: the observations of the first, as counters of mac80211, give through the daemon's sensor and the
//! law the registers that the first executed, bit for bit.

use evenair_access::Sensor;
use evenair_access::tape::Decider;
use evenair_laws::backoff::{
    BackoffAnswer, BackoffParams, BackoffTold, Category, LinkView, OwnBackoff, RegisterLimits, Registers,
};
use evenair_laws::tape::{Record, Recorder, Tape};
use evenair_linux::wireless::{Queue, Station};
use evenair_netsim::Network;
use evenair_scenario::Resolved;
use evenair_units::{Instant, Volume};
use std::sync::{Arc, Mutex};

type Backoffs = Record<BackoffTold, BackoffAnswer>;

/// The tapes of a law and of all its copies, one for each queue.
#[derive(Debug)]
struct Reel {
    all: Arc<Mutex<Vec<Vec<Backoffs>>>>,
    own: usize,
}

impl Clone for Reel {
    fn clone(&self) -> Self {
        let mut all = self.all.lock().expect("no panic");
        let copy = all[self.own].clone();
        all.push(copy);
        Self { all: Arc::clone(&self.all), own: all.len() - 1 }
    }
}

impl Tape<Backoffs> for Reel {
    fn add(&mut self, record: Backoffs) {
        self.all.lock().expect("no panic")[self.own].push(record);
    }
}

/// The tapes of [Lee12]'s three links, with senders that are access points and run the law, for 20 s.
fn tapes(law: &str) -> (BackoffParams, Vec<Vec<Backoffs>>) {
    let changes = [
        "queues=[{ nodes = ['1', '3', '5'], backoff = 'edca' }]".into(),
        format!("backoff={{ law = '{law}', execution = 'hardware', interval = '100 ms', aifsn = 3 }}"),
        "duration=20 s".into(),
        "warmup=1 s".into(),
    ];
    let text = evenair_study::builtin_scenario("lee12/fim").expect("built in");
    let mut scenario = Resolved::parse("fim", text, &changes).expect("it is right").written_out();
    let params = scenario.backoff.clone();
    let all = Arc::new(Mutex::new(vec![Vec::new()]));
    let reel = Reel { all: Arc::clone(&all), own: 0 };
    scenario.backoff = OwnBackoff::new(Recorder::new(params.clone(), reel)).into();
    let scenario = scenario.resolve().expect("it is right");
    Network::run(scenario.network(), scenario.run_spec(1));
    let tapes = std::mem::take(&mut *all.lock().expect("no panic"));
    (params, tapes.into_iter().filter(|tape| tape.len() > 100).collect())
}

/// mac80211's counters of one station, which packets of a simulated link drive.
#[derive(Default)]
struct Counters {
    queue: Queue,
    backlog: Volume,
}

impl Counters {
    fn count(&mut self, link: &LinkView) {
        let LinkView { arrivals, service, backlog, .. } = link;
        // Packets that came, were not served and do not wait were given up.
        let failed = |came: u64, served: u64, before: u64, now: u64| came + before - served - now;
        let packets = failed(arrivals.packets, service.packets, self.backlog.packets, backlog.packets);
        let bytes = failed(arrivals.bytes, service.bytes, self.backlog.bytes, backlog.bytes);
        let short = |count: u64| count as u32; // it wraps, as theirs
        self.queue.sent += service.packets + packets;
        self.queue.failed += packets;
        self.queue.has_queue = true;
        self.queue.taken_packets = self.queue.taken_packets.wrapping_add(short(service.packets + packets));
        self.queue.taken_bytes = self.queue.taken_bytes.wrapping_add(short(service.bytes + bytes));
        self.queue.backlog_packets = short(backlog.packets);
        self.queue.backlog_bytes = short(backlog.bytes);
        self.backlog = *backlog;
    }

    fn station(&self, link: &LinkView) -> Station {
        let rate_100kbps = (link.data_rate.as_bps() / 100_000) as u32;
        let mut station = Station { rate_100kbps, ..Station::default() };
        station.queues[2] = self.queue;
        station
    }
}

/// Gives a link's tape to the daemon's sensor and law; returns the registers, and how many differ from one another.
fn agree(params: &BackoffParams, tape: &[Backoffs]) -> usize {
    let mut sensor = Sensor::new(Category::BestEffort);
    // The counters may be anywhere when the daemon begins: these wrap soon.
    let queue = Queue { taken_packets: u32::MAX - 100, taken_bytes: u32::MAX - 9, ..Queue::default() };
    let mut counters = Counters { queue, ..Counters::default() };
    let mut decider = None;
    let mut all = Vec::new();
    for (number, Record { told, answer }) in tape.iter().enumerate() {
        let registers = Registers::of(&answer.access, answer.space).expect("registers");
        let entry = match told {
            BackoffTold::Begin(role) => {
                counters.queue.has_queue = true;
                sensor.look(Instant::ZERO, &[counters.station(&LinkView::default())]);
                decider.insert(Decider::begin(params, role)).beginning(role, &RegisterLimits::VALID)
            }
            BackoffTold::OnUpdate { link } => {
                counters.count(link);
                let view = sensor.look(link.now, &[counters.station(link)]);
                assert_eq!(
                    (
                        view.interval,
                        view.service.packets,
                        view.arrivals.packets,
                        view.backlog,
                        view.data_rate
                    ),
                    (
                        link.interval,
                        link.service.packets,
                        link.arrivals.packets,
                        link.backlog,
                        link.data_rate
                    ),
                    "update {number}"
                );
                decider.as_mut().expect("it has begun").decide(view, &RegisterLimits::VALID)
            }
            other => panic!("{other:?}"),
        };
        let entry = entry.expect("registers");
        assert_eq!(entry.wanted, registers, "update {number}");
        assert_eq!(entry.answer.aggressiveness.map(f64::to_bits), answer.aggressiveness.map(f64::to_bits));
        if !all.contains(&registers) {
            all.push(registers);
        }
    }
    all.len()
}

#[test]
fn linux_access_point_decides_as_simulated_one() {
    for law in ["virtual-queue", "optimal", "queueing-delay", "adaptive"] {
        let (params, tapes) = tapes(law);
        assert!(tapes.len() >= 3, "{law}: {} tapes", tapes.len());
        let different = tapes.iter().map(|tape| agree(&params, tape)).max();
        assert!(different >= Some(3), "{law}: registers change: {different:?}");
    }
}
