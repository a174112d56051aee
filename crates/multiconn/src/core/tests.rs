//! Two state machines with connections that lose, delay and break as a property test directs: every byte
//! arrives once and in order.

mod behind;
mod bounded;
mod connections;
mod costs;
mod credits;
mod lossy;
mod numbers;
mod slow_start;
mod told;

use super::*;
use crate::budget::Share;
use crate::frame::CHUNK_MAX;
use proptest::prelude::*;

/// The bytes in transit on a connection, each way.
type Wire = [VecDeque<u8>; 2];

/// Two sides, and the connections between them.
struct Pair {
    cores: [Core; 2],
    wires: BTreeMap<SubflowId, Wire>,
    next_subflow: SubflowId,
    now: Instant,
}

fn limits(window: u64) -> Limits {
    Limits { own_streams: 8, their_streams: 8, window, window_most: 4 * window, held_most: 4 * window }
}

impl Pair {
    fn new(window: u64) -> Self {
        let now = Instant::from_nanos(1);
        let core = |side| Core::new(side, limits(window), Budget::new(1 << 24), now);
        let mut pair = Self {
            cores: [core(Side::Client), core(Side::Relay)],
            wires: BTreeMap::new(),
            next_subflow: 1,
            now,
        };
        pair.open_subflow();
        pair
    }

    /// Returns a pair with four connections, all wanted, and a stream that the client opened.
    fn of_four(limits: Limits, memory: u64) -> (Self, StreamId, Vec<SubflowId>) {
        let mut pair = Self::new(limits.window);
        let core = |side| Core::new(side, limits, Budget::new(memory), pair.now);
        (pair.cores, pair.wires) = ([core(Side::Client), core(Side::Relay)], BTreeMap::new());
        (0..4).for_each(|_| pair.open_subflow());
        pair.cores[0].set_wanted(4, pair.now);
        let stream = pair.cores[0].open(pair.now).unwrap();
        let subflows = pair.wires.keys().copied().collect();
        (pair, stream, subflows)
    }

    fn open_subflow(&mut self) {
        let subflow = self.next_subflow;
        self.next_subflow += 1;
        self.wires.insert(subflow, Wire::default());
        self.cores.iter_mut().for_each(|core| core.add_subflow(subflow, self.now));
    }

    fn subflow(&self, number: usize) -> Option<SubflowId> {
        let count = self.wires.len();
        (count > 0).then(|| *self.wires.keys().nth(number % count).unwrap())
    }

    fn pass(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
        for core in &mut self.cores {
            if core.timeout().is_some_and(|due| due <= self.now) {
                core.on_timeout(self.now);
            }
        }
    }

    /// Moves a side's next frames to a connection.
    fn pull(&mut self, from: usize, subflow: SubflowId) -> bool {
        let mut out = Vec::new();
        self.cores[from].pull(subflow, self.now, 2 * FRAME_MAX, &mut out);
        self.wires.get_mut(&subflow).unwrap()[from].extend(&out);
        !out.is_empty()
    }

    /// Fills the client's socket, which holds `held` bytes, up to `until`; returns the bytes held then.
    fn fill(&mut self, subflow: SubflowId, mut held: u64, until: u64) -> u64 {
        while held < until {
            let before = self.wires[&subflow][0].len();
            if !self.pull(0, subflow) {
                break;
            }
            held += (self.wires[&subflow][0].len() - before) as u64;
        }
        held
    }

    /// Delivers whole frames of up to `most` bytes at the other end, and one at least.
    fn deliver(&mut self, from: usize, subflow: SubflowId, most: usize) -> bool {
        self.come_out(from, subflow, |used, length| used == 0 || used + length <= most)
    }

    /// Delivers the whole frames among the first `count` bytes at the other end.
    fn deliver_within(&mut self, from: usize, subflow: SubflowId, count: usize) -> bool {
        self.come_out(from, subflow, |used, length| used + length <= count)
    }

    /// Delivers frames while `may` permits the next one, given the bytes delivered and the frame's length.
    fn come_out(&mut self, from: usize, subflow: SubflowId, may: impl Fn(usize, usize) -> bool) -> bool {
        let wire = &mut self.wires.get_mut(&subflow).unwrap()[from];
        let bytes = wire.make_contiguous();
        let mut used = 0;
        while let Ok(Some((frame, length))) = Frame::decode(&bytes[used..]) {
            if !may(used, length) {
                break;
            }
            self.cores[1 - from].frame(subflow, frame, self.now).expect("nobody breaks the protocol");
            used += length;
        }
        wire.drain(..used);
        used > 0
    }

    fn lose(&mut self, subflow: SubflowId) {
        self.wires.remove(&subflow);
        self.cores.iter_mut().for_each(|core| core.lost(subflow, self.now));
    }

    fn stick(&mut self, side: usize, subflow: SubflowId) {
        let waiting = Measured { waiting: 1, ..Measured::default() };
        self.cores[side].measured(subflow, waiting, self.now);
        self.pass(2000);
        self.cores[side].measured(subflow, waiting, self.now);
    }

    fn free(&mut self) {
        let subflows: Vec<_> = self.wires.keys().copied().collect();
        for subflow in subflows {
            self.cores.iter_mut().for_each(|core| core.measured(subflow, Measured::default(), self.now));
        }
    }

    /// Moves frames until none is left.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            let subflows: Vec<_> = self.wires.keys().copied().collect();
            let mut moved = false;
            for subflow in subflows {
                for side in 0..2 {
                    moved |= self.pull(side, subflow);
                    moved |= self.deliver(side, subflow, usize::MAX);
                }
            }
            if !moved {
                return;
            }
        }
        panic!("it never rests");
    }
}

fn byte(stream: StreamId, number: u64) -> u8 {
    (number.wrapping_mul(31).wrapping_add(number >> 8) as u8) ^ (stream as u8)
}

/// The bytes of a stream that one side wrote and read.
#[derive(Default)]
struct Progress {
    written: u64,
    read: u64,
    ended: bool,
    saw_end: bool,
}

/// Reads the available bytes and checks them.
fn read(
    pair: &mut Pair,
    progress: &mut BTreeMap<(usize, StreamId), Progress>,
    side: usize,
    stream: StreamId,
    most: usize,
) {
    let mut into = vec![0; most];
    loop {
        let at = pair.now;
        match pair.cores[side].read(stream, &mut into, at) {
            Ok(Read::Bytes(count)) => {
                let known = progress.entry((side, stream)).or_default();
                for (i, got) in into[..count].iter().enumerate() {
                    assert_eq!(
                        *got,
                        byte(stream, known.read + i as u64),
                        "stream {stream} at {}",
                        known.read
                    );
                }
                known.read += count as u64;
            }
            Ok(Read::End) => {
                progress.entry((side, stream)).or_default().saw_end = true;
                return;
            }
            Ok(Read::Wait) | Err(_) => return,
        }
    }
}

fn write(
    pair: &mut Pair,
    progress: &mut BTreeMap<(usize, StreamId), Progress>,
    side: usize,
    stream: StreamId,
    count: usize,
) {
    let known = progress.entry((side, stream)).or_default();
    if known.ended {
        return;
    }
    let bytes: Vec<u8> = (0..count as u64).map(|i| byte(stream, known.written + i)).collect();
    let at = pair.now;
    if let Ok(taken) = pair.cores[side].write(stream, &bytes, at) {
        known.written += taken as u64;
    }
}

#[derive(Clone, Debug)]
enum Act {
    Write(usize, usize, usize),
    Read(usize, usize),
    Pull(usize, usize),
    Deliver(usize, usize, usize),
    Lose(usize),
    OpenSubflow,
    Stick(usize, usize),
    Free,
    Pass(u64),
    Want(usize, u32),
    Retire(usize, usize),
    OpenStream,
    End(usize, usize),
}

fn acts() -> impl Strategy<Value = Act> {
    let (side, subflow) = (0..2_usize, 0..4_usize);
    prop_oneof![
        4 => (side.clone(), 0..4_usize, 1..3 * CHUNK_MAX).prop_map(|(s, n, c)| Act::Write(s, n, c)),
        3 => (side.clone(), 0..4_usize).prop_map(|(s, n)| Act::Read(s, n)),
        6 => (side.clone(), subflow.clone()).prop_map(|(s, l)| Act::Pull(s, l)),
        6 => (side.clone(), subflow.clone(), 1..40_000_usize).prop_map(|(s, l, c)| Act::Deliver(s, l, c)),
        1 => subflow.clone().prop_map(Act::Lose),
        2 => Just(Act::OpenSubflow),
        1 => (side.clone(), subflow.clone()).prop_map(|(s, l)| Act::Stick(s, l)),
        1 => Just(Act::Free),
        2 => (1..60_u64).prop_map(Act::Pass),
        1 => (side.clone(), 1..5_u32).prop_map(|(s, n)| Act::Want(s, n)),
        1 => (side.clone(), subflow).prop_map(|(s, l)| Act::Retire(s, l)),
        1 => Just(Act::OpenStream),
        1 => (side, 0..4_usize).prop_map(|(s, n)| Act::End(s, n)),
    ]
}

/// Performs one action, as far as possible.
fn act(
    pair: &mut Pair,
    progress: &mut BTreeMap<(usize, StreamId), Progress>,
    streams: &mut Vec<StreamId>,
    act: &Act,
) {
    let stream = |n: usize| streams[n % streams.len()];
    let at = pair.now;
    match *act {
        Act::Write(side, n, count) => write(pair, progress, side, stream(n), count),
        Act::Read(side, n) => read(pair, progress, side, stream(n), 5000),
        Act::Pull(side, subflow) => {
            if let Some(subflow) = pair.subflow(subflow) {
                pair.pull(side, subflow);
            }
        }
        Act::Deliver(side, subflow, most) => {
            if let Some(subflow) = pair.subflow(subflow) {
                pair.deliver(side, subflow, most);
            }
        }
        Act::Lose(subflow) => {
            if let Some(subflow) = pair.subflow(subflow) {
                pair.lose(subflow);
            }
        }
        Act::OpenSubflow if pair.wires.len() < 4 => pair.open_subflow(),
        Act::Stick(side, subflow) => {
            if let Some(subflow) = pair.subflow(subflow) {
                pair.stick(side, subflow);
            }
        }
        Act::Free => pair.free(),
        Act::Pass(ms) => pair.pass(ms),
        Act::Want(side, n) => pair.cores[side].set_wanted(n, at),
        Act::Retire(side, subflow) => {
            if let Some(subflow) = pair.subflow(subflow) {
                pair.cores[side].retire(subflow);
            }
        }
        Act::OpenStream if streams.len() < 4 => streams.push(pair.cores[0].open(at).unwrap()),
        Act::OpenSubflow | Act::OpenStream => {}
        Act::End(side, n) => {
            // A side can use a stream of the other's only once data of it has arrived.
            let known = side == 0 || progress.get(&(1, stream(n))).is_some_and(|progress| progress.read > 0);
            if known {
                progress.entry((side, stream(n))).or_default().ended = true;
                pair.cores[side].end(stream(n), at);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 2000, ..ProptestConfig::default() })]

    /// After any failures of connections, one working connection delivers all bytes, each once, in order, and
    /// the ends.
    #[test]
    fn every_byte_arrives_once_and_in_order(all in prop::collection::vec(acts(), 1..250), window in 2_000..100_000_u64) {
        let mut pair = Pair::new(window);
        let mut progress = BTreeMap::new();
        let mut streams = vec![pair.cores[0].open(pair.now).unwrap()];
        for one in &all {
            act(&mut pair, &mut progress, &mut streams, one);
        }
        // All connections are replaced; everything is written to its end and read.
        let subflows: Vec<_> = pair.wires.keys().copied().collect();
        subflows.into_iter().for_each(|subflow| pair.lose(subflow));
        pair.open_subflow();
        for side in 0..2 {
            pair.cores[side].set_wanted(1, pair.now);
        }
        for stream in &streams {
            write(&mut pair, &mut progress, 0, *stream, 10);
            progress.entry((0, *stream)).or_default().ended = true;
            pair.cores[0].end(*stream, pair.now);
        }
        let is_done = |progress: &BTreeMap<(usize, StreamId), Progress>| {
            streams.iter().all(|stream| (0..2).all(|side| progress.get(&(side, *stream)).is_some_and(|progress| progress.saw_end)))
        };
        for _ in 0..400 {
            pair.settle();
            for stream in &streams {
                for side in 0..2 {
                    read(&mut pair, &mut progress, side, *stream, 50_000);
                }
                if progress.get(&(1, *stream)).is_some_and(|progress| progress.saw_end) {
                    progress.entry((1, *stream)).or_default().ended = true;
                    pair.cores[1].end(*stream, pair.now);
                }
            }
            if is_done(&progress) {
                break;
            }
            pair.pass(30);
        }
        prop_assert!(is_done(&progress), "not all ends came");
        for stream in &streams {
            for side in 0..2 {
                let (there, here) = (&progress[&(side, *stream)], &progress[&(1 - side, *stream)]);
                prop_assert_eq!(there.written, here.read, "stream {} from side {}", stream, side);
            }
        }
        // Neither streams nor their memory remain.
        for _ in 0..3 {
            pair.settle();
            pair.pass(30);
        }
        for core in &mut pair.cores {
            streams.iter().for_each(|stream| core.release(*stream, pair.now));
            prop_assert_eq!((core.open_streams(), core.budget.taken(), core.streams.len()), (0, 0, 0));
            prop_assert!(core.ready.is_empty() || core.ready.iter().all(|id| !core.streams.contains_key(id)));
        }
    }
}

#[test]
fn silent_connection_gets_nothing() {
    let mut pair = Pair::new(1 << 20);
    pair.open_subflow();
    pair.cores[0].set_wanted(2, pair.now);
    let stream = pair.cores[0].open(pair.now).unwrap();
    let bytes = vec![7; 10 * CHUNK_MAX];
    assert_eq!(pair.cores[0].write(stream, &bytes, pair.now), Ok(bytes.len()));
    // The first connection takes two chunks and then nothing more; the second takes all the rest.
    assert!(pair.pull(0, 1));
    while pair.pull(0, 2) {}
    assert_eq!(pair.wires[&1][0].len(), 2 * FRAME_MAX);
    assert_eq!(pair.wires[&2][0].len(), 8 * FRAME_MAX);
    // The first connection's data goes out on the second once the first is stuck, and is received once.
    pair.deliver(0, 2, usize::MAX);
    pair.stick(0, 1);
    while pair.pull(0, 2) {}
    pair.deliver(0, 2, usize::MAX);
    let mut into = vec![0; bytes.len() + 1];
    assert_eq!(pair.cores[1].read(stream, &mut into, pair.now), Ok(Read::Bytes(bytes.len())));
    assert_eq!(pair.cores[0].counts().again, 2 * CHUNK_MAX as u64);
    pair.deliver(0, 1, usize::MAX);
    assert_eq!(pair.cores[1].read(stream, &mut into, pair.now), Ok(Read::Wait));
}

#[test]
fn slow_reader_bounds_sent_and_held() {
    let mut pair = Pair::new(64 << 10);
    let stream = pair.cores[0].open(pair.now).unwrap();
    let mut written = 0;
    for _ in 0..100 {
        written += pair.cores[0].write(stream, &[0; 10_000], pair.now).unwrap();
        pair.settle();
    }
    let counts = pair.cores[1].counts();
    assert_eq!(counts.received, 64 << 10, "the window and no more");
    assert!(written <= (64 << 10) * 5, "held at the sender: {written}");
    assert!(pair.cores[1].budget.taken() <= (64 << 10) + cost::STREAM);
}

#[test]
fn excess_over_credit_ends_session() {
    let mut pair = Pair::new(1000);
    let bytes = [0; 2000];
    let frame = Frame::Data { stream: 1, offset: 0, end: false, bytes: &bytes };
    assert_eq!(pair.cores[1].frame(1, frame, pair.now), Err(Closed::Protocol));
    // An acknowledgement of unsent data, or a frame about streams that this side never opened, ends the
    // session too.
    let mut pair = Pair::new(1000);
    let stream = pair.cores[0].open(pair.now).unwrap();
    let credit = Frame::Credit { stream, received: 1, limit: 1 };
    assert_eq!(pair.cores[0].frame(1, credit, pair.now), Err(Closed::Protocol));
    let mut pair = Pair::new(1000);
    assert_eq!(pair.cores[0].frame(1, Frame::Ask { stream: 1 }, pair.now), Err(Closed::Protocol));
}

#[test]
fn extra_stream_is_refused_others_go_on() {
    let mut pair = Pair::new(1000);
    // This client ignores its limit.
    pair.cores[0].limits.own_streams = 1000;
    let streams: Vec<_> = (0..30).map(|_| pair.cores[0].open(pair.now).unwrap()).collect();
    for stream in &streams {
        assert_eq!(pair.cores[0].write(*stream, b"hello", pair.now), Ok(5));
    }
    pair.settle();
    let mut into = [0; 10];
    let broken = |pair: &mut Pair, stream| pair.cores[0].read(stream, &mut [0; 10], pair.now).is_err();
    let refused = streams.iter().filter(|stream| broken(&mut pair, **stream)).count();
    assert_eq!(refused, 30 - (8 + 2 + 8), "a quarter and eight more are let pass");
    assert_eq!(pair.cores[1].read(streams[0], &mut into, pair.now), Ok(Read::Bytes(5)));
}

#[test]
fn broken_stream_breaks_at_both_ends() {
    let mut pair = Pair::new(1000);
    let stream = pair.cores[0].open(pair.now).unwrap();
    pair.cores[0].write(stream, b"x", pair.now).unwrap();
    pair.settle();
    pair.cores[0].reset(stream, Broken::Aborted, pair.now);
    assert!(pair.pull(0, 1), "it is said on a connection that is lost then");
    pair.lose(1);
    pair.open_subflow();
    pair.settle();
    assert_eq!(pair.cores[1].read(stream, &mut [0; 10], pair.now), Err(Broken::Aborted));
    assert!(pair.cores[0].resets.is_empty(), "the other side has said that it knows");
    assert_eq!((pair.cores[0].budget.taken(), pair.cores[1].budget.taken()), (0, 0));
}

#[test]
fn silence_is_asked_into_and_then_given_up() {
    let mut pair = Pair::new(1000);
    pair.pass(15_000);
    assert!(pair.pull(0, 1));
    let ping = Frame::decode(pair.wires.get_mut(&1).unwrap()[0].make_contiguous()).unwrap().unwrap().0;
    assert!(matches!(ping, Frame::Ping(_)), "{ping:?}");
    pair.settle();
    pair.pass(15_000);
    pair.pass(15_000);
    pair.pass(16_000);
    let events: Vec<_> = std::iter::from_fn(|| pair.cores[0].event()).collect();
    assert!(events.contains(&Event::GiveUp(1)), "{events:?}");
}

#[test]
fn swallowed_data_are_detected() {
    let mut pair = Pair::new(1 << 20);
    pair.open_subflow();
    let stream = pair.cores[0].open(pair.now).unwrap();
    pair.cores[0].write(stream, &[1; 1000], pair.now).unwrap();
    pair.pull(0, 1);
    // The kernel has nothing left to send, and nothing returns.
    let done = Measured { acknowledged: 1100, ..Measured::default() };
    for _ in 0..60 {
        pair.pass(50);
        pair.cores[0].measured(1, done, pair.now);
        pair.cores[0].heard(2, pair.now);
        pair.pull(0, 1);
    }
    assert!(pair.cores[0].subflows()[0].is_stuck);
    while pair.pull(0, 2) {}
    pair.deliver(0, 2, usize::MAX);
    assert_eq!(pair.cores[1].read(stream, &mut [0; 2000], pair.now), Ok(Read::Bytes(1000)));
}

/// A connection holds far more than the bound on copies: once no other data is to be sent, all of it goes out
/// on another one.
#[test]
fn stuck_connections_data_goes_out_last_resort() {
    let mut pair = Pair::new(4 << 20);
    pair.open_subflow();
    pair.cores[0].set_wanted(2, pair.now);
    let stream = pair.cores[0].open(pair.now).unwrap();
    let bytes = vec![7; 4 << 20];
    assert_eq!(pair.cores[0].write(stream, &bytes, pair.now), Ok(bytes.len()));
    while pair.pull(0, 1) {}
    assert_eq!(pair.cores[0].counts().sent, 4 << 20);
    let held = Measured { waiting: 1 << 20, ..Measured::default() };
    let mut into = vec![0; 4 << 20];
    let mut got = 0;
    for _ in 0..60 {
        pair.pass(50);
        pair.cores[0].measured(1, held, pair.now);
        while pair.pull(0, 2) {}
        pair.deliver(0, 2, usize::MAX);
        while let Ok(Read::Bytes(count)) = pair.cores[1].read(stream, &mut into, pair.now) {
            got += count;
        }
        pair.cores[0].heard(2, pair.now);
    }
    assert_eq!(got, 4 << 20);
}

/// Pings are repeated; acknowledgements by TCP alone do not prove a connection alive.
#[test]
fn silent_subflow_ends_after_twenty_seconds() {
    let mut pair = Pair::new(1000);
    let stream = pair.cores[0].open(pair.now).unwrap();
    pair.cores[0].write(stream, &[1; 1000], pair.now).unwrap();
    let mut acknowledged = 0;
    let given_up = (0..1000).find(|_| {
        let mut out = Vec::new();
        pair.cores[0].pull(1, pair.now, FRAME_MAX, &mut out);
        acknowledged += out.len() as u64;
        pair.pass(50);
        pair.cores[0].measured(1, Measured { acknowledged, ..Measured::default() }, pair.now);
        std::iter::from_fn(|| pair.cores[0].event()).any(|event| event == Event::GiveUp(1))
    });
    // Pinged after half a second of silence, and then for twenty.
    assert!(given_up.is_some_and(|looks| (400..425).contains(&looks)), "{given_up:?} looks of 50 ms");
}

#[test]
fn swallowed_acknowledgements_are_detected() {
    let mut pair = Pair::new(1 << 20);
    pair.open_subflow();
    let stream = pair.cores[0].open(pair.now).unwrap();
    pair.cores[0].set_wanted(2, pair.now);
    pair.cores[0].write(stream, &[1; 1000], pair.now).unwrap();
    pair.cores[0].end(stream, pair.now);
    pair.pull(0, 2);
    pair.deliver(0, 2, usize::MAX);
    assert!(pair.pull(1, 1), "received bytes are reported on the first connection, where they are lost");
    pair.wires.get_mut(&1).unwrap()[1].clear();
    for _ in 0..60 {
        pair.pass(50);
        pair.cores[1].measured(1, Measured::default(), pair.now);
        pair.cores[1].heard(2, pair.now);
        pair.pull(1, 1);
    }
    assert!(pair.cores[1].subflows()[0].is_stuck, "nobody answers there");
    while pair.pull(1, 2) {}
    pair.deliver(1, 2, usize::MAX);
    assert!(!pair.cores[0].streams[&stream].send.is_in_doubt(), "it was reported again");
}

#[test]
fn mutually_retired_connection_has_served() {
    let mut pair = Pair::new(1 << 20);
    pair.open_subflow();
    let stream = pair.cores[0].open(pair.now).unwrap();
    pair.cores[0].write(stream, &[1; 1000], pair.now).unwrap();
    pair.pull(0, 1);
    pair.cores[0].retire(1);
    pair.settle();
    let served = |core: &mut Core| std::iter::from_fn(|| core.event()).any(|event| event == Event::Served(1));
    assert!(served(&mut pair.cores[0]) && served(&mut pair.cores[1]));
    pair.lose(1);
    pair.settle();
    assert_eq!((pair.cores[0].counts().again, pair.cores[0].counts().lost), (0, 0));
    assert_eq!(pair.cores[1].read(stream, &mut [0; 2000], pair.now), Ok(Read::Bytes(1000)));
}

#[test]
fn unused_reservation_is_freed() {
    let mut pair = Pair::new(10_000);
    let (now, budget) = (pair.now, Arc::clone(&pair.cores[0].budget));
    let stream = pair.cores[0].open(now).unwrap();
    let before = budget.taken();
    let core = &mut pair.cores[0];
    assert_eq!(core.reserve(stream, 5000, now), Ok(5000));
    assert_eq!(budget.taken(), before + 5000);
    assert_eq!(core.write_reserved(stream, &[7; 1000], 5000, now), Ok(()));
    assert_eq!(budget.taken(), before + 1000);
    // Acknowledgements that arrive in between do not take a writer's reservation away.
    assert_eq!(core.reserve(stream, 5000, now), Ok(5000));
    pair.settle();
    let mut into = [0; 4000];
    assert_eq!(pair.cores[1].peek(stream, &mut into), Ok(Read::Bytes(1000)));
    assert_eq!(pair.cores[1].consume(stream, 400, now), Ok(()));
    assert_eq!(pair.cores[1].peek(stream, &mut into), Ok(Read::Bytes(600)), "what was not taken stays");
    pair.pass(100);
    pair.settle();
    assert_eq!(budget.taken(), before + 5000, "the first are there");
    pair.cores[0].reset(stream, Broken::Aborted, now);
    assert_eq!(budget.taken(), 0, "all of it goes with the stream");
    assert_eq!(pair.cores[0].write_reserved(stream, &[7; 10], 5000, now), Err(Broken::Aborted));
    assert_eq!(budget.taken(), 0);
}
