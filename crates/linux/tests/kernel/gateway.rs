//! The parts together, as in a gateway: a class for each subscriber on both sides, chosen by address, with
//! real sockets at both ends.

use crate::Outcome;
use crate::lab::{Link, Router, address, apply, class, htb, kbps, told};
use evenair_linux::link::LinkOptions;
use evenair_linux::nft::{
    Action, Chain, Element, Entry, Family, Hook, Match, Nftables, Range, Rule, Set, SetKind, Side, Table,
    Version,
};
use evenair_linux::offload::Offloads;
use evenair_linux::tc::{Change, Class, Discipline, Handle, HtbClass, Mode, Tbf, What};
use evenair_linux::{NetworkNamespace, Rtnetlink};
use evenair_needs::Missing;
use evenair_units::{Bytes, Rate};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const ROOT: Handle = Handle::new(1, 0);
const ALL: Handle = Handle::new(1, 1);
/// The class of packets that belong to no subscriber.
const DEFAULT: u16 = 2;

fn table(family: Family) -> Table {
    Table { family, name: "evenair".to_owned() }
}

fn map(name: &str, version: Version) -> Set {
    Set { name: name.to_owned(), version, kind: SetKind::Classes { counts: true } }
}

fn leaf(device: u32, minor: u16, discipline: Discipline) -> Change {
    let what = What::Qdisc(Mode::Add, discipline);
    Change { device, parent: Handle::new(1, minor), handle: Handle::new(minor, 0), what }
}

/// Installs HTB on a device: a class of 50 Mb/s, and in it the default and these.
fn tree(
    netlink: &mut Rtnetlink,
    device: u32,
    classes: &[(u16, HtbClass, Discipline)],
) -> Result<(), Missing> {
    if !netlink.has_discipline("htb").expect("the kernel answers") {
        return Err(Missing::new("HTB", "this kernel has none"));
    }
    let mut changes = vec![
        htb(device, DEFAULT),
        class(device, ROOT, 1, Mode::Add, kbps(50_000, 50_000)),
        class(device, ALL, DEFAULT, Mode::Add, kbps(1_000, 50_000)),
    ];
    for (minor, own, below) in classes {
        changes.push(class(device, ALL, *minor, Mode::Add, *own));
        changes.push(leaf(device, *minor, below.clone()));
    }
    apply(netlink, &changes);
    Ok(())
}

/// Returns a rule that classifies packets leaving by a device by one of their addresses.
fn classify(device: u32, set: &Set, side: Side) -> Rule {
    let action = Action::ClassFrom { set: set.name.clone(), version: set.version, side };
    Rule { matches: vec![Match::Out(device)], action }
}

fn no_nftables(error: io::Error) -> Missing {
    Missing::new("nftables", error)
}

/// Returns a class once its backlog is empty.
fn drained(netlink: &mut Rtnetlink, device: u32, minor: u16) -> Class {
    loop {
        let class = netlink.class(device, Handle::new(1, minor)).expect("it is there");
        if class.statistics.backlog == 0 {
            return class;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// A flow of datagrams: its sockets, its rate \[bit/s\], and its packets \[bytes of data\].
struct Flow {
    from: UdpSocket,
    to: UdpSocket,
    rate: f64,
    size: usize,
}

/// The result of a flow.
struct Came {
    sent: u64,
    received: u64,
    /// The time between the first packet and the last, which does not count.
    seconds: f64,
}

impl Flow {
    /// Sends for a time, and receives until nothing arrives.
    fn run(self, time: Duration) -> Came {
        let to = self.to.local_addr().expect("it is bound");
        self.to.set_read_timeout(Some(Duration::from_millis(800))).expect("a timeout");
        let (from, size, rate) = (self.from, self.size, self.rate);
        let sender = thread::spawn(move || {
            let (begin, mut sent) = (Instant::now(), 0_u64);
            while begin.elapsed() < time {
                let due = begin.elapsed().as_secs_f64() * rate / (8 * size) as f64;
                while (sent as f64) < due {
                    from.send_to(&vec![0; size], to).expect("sent");
                    sent += 1;
                }
                thread::sleep(Duration::from_millis(1));
            }
            sent
        });
        let (mut received, mut first, mut last) = (0, None, None);
        while self.to.recv(&mut [0; 2_000]).is_ok() {
            last = Some(Instant::now());
            first = first.or(last);
            received += 1;
        }
        let span = last.zip(first).map_or(Duration::ZERO, |(last, first)| last - first);
        Came { sent: sender.join().expect("a sender"), received, seconds: span.as_secs_f64() }
    }
}

/// Downstream and upstream, IPv4 and IPv6, each flow at twice its ceiling and more.
pub(crate) fn each_subscriber_gets_its_rate() -> Outcome {
    let mut router = Router::new()?;
    let before = state()?;
    let bfifo = || Discipline::Bfifo { limit: Bytes::new(15_000) };
    let down = [(0x11, 400), (0x12, 1_000), (0x13, 3_000)];
    let (mesh, up) = (router.mesh, router.up);
    tree(&mut router.netlink, mesh, &down.map(|(minor, ceiling)| (minor, kbps(64, ceiling), bfifo())))?;
    tree(&mut router.netlink, up, &[(0x11, kbps(64, 700), bfifo())])?;
    let sets = [map("down4", Version::V4), map("down6", Version::V6), map("up4", Version::V4)];
    let mut nftables = Nftables::new().map_err(no_nftables)?;
    let table = table(Family::Inet);
    nftables.create(&table, &sets).map_err(no_nftables)?;
    let entry = |text, bits, minor| Entry {
        range: Range::prefix(address(text), bits).expect("a prefix"),
        class: Handle::new(1, minor),
    };
    nftables
        .change(&table, &sets[0], &[], &[entry("10.1.0.1", 32, 0x11), entry("10.1.0.2", 32, 0x12)])
        .expect("new");
    nftables.change(&table, &sets[1], &[], &[entry("2001:db8:1:300::", 56, 0x13)]).expect("new");
    nftables.change(&table, &sets[2], &[], &[entry("10.1.0.1", 32, 0x11)]).expect("new");
    let chain = Chain { name: "forward".into(), hook: Hook::Forward, priority: 0 };
    let rules = [
        classify(mesh, &sets[0], Side::Destination),
        classify(mesh, &sets[1], Side::Destination),
        classify(up, &sets[2], Side::Source),
    ];
    nftables.set_rules(&table, &chain, &rules).expect("rules");

    let bound = |text: &str, port| UdpSocket::bind(SocketAddr::new(address(text), port)).expect("a socket");
    let flow = |from: &str, to: &str, rate: f64| Flow {
        from: if from.contains("2.0.1") || from.contains(":2::") {
            router.at_server(|| bound(from, 0))
        } else {
            router.at_subscribers(|| bound(from, 0))
        },
        to: if to.contains("2.0.1") {
            router.at_server(|| bound(to, 5_000))
        } else {
            router.at_subscribers(|| bound(to, 5_000))
        },
        rate,
        size: 1_000,
    };
    let flows = [
        (flow("10.2.0.1", "10.1.0.1", 1e6), mesh, 0x11, 400, 42),
        (flow("10.2.0.1", "10.1.0.2", 2e6), mesh, 0x12, 1_000, 42),
        (flow("2001:db8:2::1", "2001:db8:1:300::1", 8e6), mesh, 0x13, 3_000, 62),
        (flow("10.1.0.1", "10.2.0.1", 2e6), up, 0x11, 700, 42),
    ];
    let running = flows.map(|(flow, device, minor, ceiling, header)| {
        (thread::spawn(|| flow.run(Duration::from_secs(4))), device, minor, ceiling, header)
    });
    for (running, device, minor, ceiling, header) in running {
        let came = running.join().expect("a flow");
        let own = drained(&mut router.netlink, device, minor).statistics;
        // Headers of UDP, IP and Ethernet count.
        let rate = (came.received - 1) as f64 * (1_000 + header) as f64 * 8.0 / came.seconds / 1e3;
        println!(
            "    class {minor:x} of {ceiling} kb/s: {rate:.1} kb/s, {} of {} packets",
            came.received, came.sent
        );
        // A ceiling is an upper bound; the shortfall depends on the kernel's clock, which is late on a busy
        // machine.
        let share = rate / f64::from(ceiling);
        assert!((0.7..1.05).contains(&share), "{rate} kb/s of {ceiling}");
        let arrived = (came.received, came.received * (1_000 + header));
        assert_eq!((own.packets, own.bytes), arrived, "the class counts arrivals");
        assert_eq!(u64::from(own.drops), came.sent - came.received, "and its drops");
        let set = &sets[if device == up { 2 } else { usize::from(header == 62) }];
        let offered = offered(&mut nftables, &table, set, minor);
        assert_eq!(offered.volume.packets, came.sent, "the map counts offered packets");
        assert_eq!(offered.volume.bytes, came.sent * (1_000 + header - 14), "network-layer sizes");
    }
    nftables.delete(&table).expect("it is there");
    apply(
        &mut router.netlink,
        &[mesh, up].map(|device| Change {
            device,
            parent: Handle::ROOT,
            handle: ROOT,
            what: What::RemoveQdisc,
        }),
    );
    assert_eq!(state()?, before, "nothing is left");
    Ok(())
}

/// Returns the state that must be the same afterwards.
fn state() -> Result<[String; 3], Missing> {
    Ok([told("tc", "qdisc show")?, told("nft", "list ruleset")?, told("tc", "class show dev mesh")?])
}

fn offered(nftables: &mut Nftables, table: &Table, set: &Set, minor: u16) -> Element {
    let all = nftables.elements(table, set).expect("a list");
    *all.iter().find(|one| one.class.is_some_and(|class| class.minor == minor)).expect("it is there")
}

/// Returns a leaf of this many bytes that cuts large segments.
fn cutting(limit: u32) -> Discipline {
    let rate = Rate::from_bps(1_000_000_000_000);
    Discipline::Tbf(Tbf { rate, burst: Bytes::new(1_514), limit: Bytes::new(limit) })
}

/// Starts a server that fills a class: it sends as fast as TCP permits, until it is stopped.
fn bulk(router: &Router, to: &str, port: u16, stop: &'static AtomicBool) -> thread::JoinHandle<(u64, f64)> {
    let to = SocketAddr::new(address(to), port);
    let listener = router.at_subscribers(|| TcpListener::bind(to).expect("a socket"));
    let mut sender = router.at_server(|| TcpStream::connect(to).expect("connected"));
    sender.set_write_timeout(Some(Duration::from_millis(500))).expect("a timeout");
    thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            let _ = sender.write(&vec![0; 65_536]); // or there was no room for long
        }
    });
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("accepted");
        stream.set_read_timeout(Some(Duration::from_secs(1))).expect("a timeout");
        // Slow start is over after a second.
        let (begin, mut first, mut bytes, mut buffer) = (Instant::now(), None, 0, vec![0; 65_536]);
        while !stop.load(Ordering::Relaxed) {
            let Ok(count) = stream.read(&mut buffer) else { continue };
            if begin.elapsed() > Duration::from_secs(1) {
                bytes += first.map_or(0, |_| count as u64);
                first.get_or_insert_with(Instant::now);
            }
        }
        (bytes, first.map_or(0.0, |first: Instant| first.elapsed().as_secs_f64()))
    })
}

/// Returns a router with the class 1:11 for its subscriber 10.1.0.1.
fn one_subscriber(ceiling: u64, below: Discipline) -> Result<(Router, Nftables), Missing> {
    let mut router = Router::new()?;
    let mesh = router.mesh;
    tree(&mut router.netlink, mesh, &[(0x11, kbps(64, ceiling), below)])?;
    let (table, set) = (table(Family::Inet), map("down4", Version::V4));
    let mut nftables = Nftables::new().map_err(no_nftables)?;
    nftables.create(&table, std::slice::from_ref(&set)).map_err(no_nftables)?;
    let entry = Entry { range: Range::from(address("10.1.0.1")), class: Handle::new(1, 0x11) };
    nftables.change(&table, &set, &[], &[entry]).expect("new");
    let chain = Chain { name: "forward".into(), hook: Hook::Forward, priority: 0 };
    nftables.set_rules(&table, &chain, &[classify(mesh, &set, Side::Destination)]).expect("rules");
    Ok((router, nftables))
}

/// TCP with large segments, which the leaf cuts, reaches all but the headers' share.
pub(crate) fn tcp_fills_its_class() -> Outcome {
    static STOP: AtomicBool = AtomicBool::new(false);
    let (mut router, _nftables) = one_subscriber(2_000, cutting(30_000))?;
    let reader = bulk(&router, "10.1.0.1", 5_000, &STOP);
    thread::sleep(Duration::from_secs(6));
    STOP.store(true, Ordering::Relaxed);
    let (bytes, seconds) = reader.join().expect("a reader");
    let (rate, due) = (bytes as f64 * 8.0 / seconds / 1e3, 2_000.0 * 1_448.0 / 1_514.0);
    let class = drained(&mut router.netlink, router.mesh, 0x11).statistics;
    let average = class.bytes as f64 / class.packets as f64;
    println!("    TCP's data: {rate:.0} of {due:.0} kb/s; packets of {average:.0} bytes");
    assert!((rate / due - 1.0).abs() < 0.05, "{rate} kb/s of {due}");
    assert!(average < 1_515.0, "the leaf has cut all segments: {class:?}");
    Ok(())
}

/// A ceiling that changes two hundred times a second causes no loss and no reordering.
pub(crate) fn a_changing_ceiling_loses_nothing() -> Outcome {
    let (mut router, _nftables) = one_subscriber(4_000, Discipline::Bfifo { limit: Bytes::new(100_000) })?;
    let to = router.at_subscribers(|| UdpSocket::bind((address("10.1.0.1"), 5_000)).expect("a socket"));
    to.set_read_timeout(Some(Duration::from_secs(1))).expect("a timeout");
    let from = router.at_server(|| UdpSocket::bind((address("10.2.0.1"), 0)).expect("a socket"));
    let sender = thread::spawn(move || {
        let begin = Instant::now();
        for number in 0..1_000_u32 {
            // 3.3 Mb/s, above some of the ceilings.
            thread::sleep((Duration::from_micros(2_500) * number).saturating_sub(begin.elapsed()));
            let packet = [&number.to_ne_bytes()[..], &[0; 996]].concat();
            from.send_to(&packet, "10.1.0.1:5000").expect("sent");
        }
    });
    let reader = thread::spawn(move || {
        let (mut numbers, mut buffer) = (Vec::new(), [0; 1_000]);
        while to.recv(&mut buffer).is_ok() {
            numbers.extend(buffer.first_chunk().copied().map(u32::from_ne_bytes));
        }
        numbers
    });
    let mut changes = 0;
    while !sender.is_finished() {
        let ceiling = [3_000, 6_000, 4_500][changes % 3];
        apply(&mut router.netlink, &[class(router.mesh, ALL, 0x11, Mode::Change, kbps(64, ceiling))]);
        changes += 1;
        thread::sleep(Duration::from_millis(5));
    }
    sender.join().expect("a sender");
    let numbers = reader.join().expect("a reader");
    assert_eq!((numbers.len(), numbers.is_sorted()), (1_000, true));
    assert!(changes > 100, "{changes}");
    Ok(())
}

/// A class that was slow first waits for the bytes sent on credit, at any raised ceiling.
pub(crate) fn a_raised_ceiling_waits_off_its_debt() -> Outcome {
    let (mut router, _nftables) = one_subscriber(8, cutting(30_000))?;
    let from = router.at_server(|| UdpSocket::bind((address("10.2.0.1"), 0)).expect("a socket"));
    for _ in 0..5 {
        from.send_to(&[0; 1_458], "10.1.0.1:5000").expect("sent");
    }
    thread::sleep(Duration::from_millis(200));
    let before = router.netlink.class(router.mesh, Handle::new(1, 0x11)).expect("it is there");
    assert!(before.statistics.waiting > 0, "{before:?}");
    let own = HtbClass::new(Rate::from_kbps(8_000), Rate::from_kbps(8_000));
    apply(&mut router.netlink, &[class(router.mesh, ALL, 0x11, Mode::Change, own)]);
    let begin = Instant::now();
    drained(&mut router.netlink, router.mesh, 0x11);
    let took = begin.elapsed();
    let ticks = before.htb_statistics.expect("HTB").ceiling_tokens;
    let debt = -f64::from(ticks) * 64e-9;
    println!("    the rest left after {:.2} s, where tokens say {debt:.2} s", took.as_secs_f64());
    // The class's debt, as the kernel reports it, bounds the wait.
    assert!(debt > 0.0 && took.as_secs_f64() < debt + 0.2, "{took:?}, {debt} s");
    Ok(())
}

/// Returns the round trips of datagrams from the server to a subscriber \[ms\], sorted.
fn round_trips(router: &Router, to: &str, count: usize) -> Vec<f64> {
    let to = SocketAddr::new(address(to), 6_000);
    let echo = router.at_subscribers(|| UdpSocket::bind(to).expect("a socket"));
    echo.set_read_timeout(Some(Duration::from_secs(1))).expect("a timeout");
    let echoing = thread::spawn(move || {
        let mut buffer = [0; 100];
        while let Ok((length, from)) = echo.recv_from(&mut buffer) {
            let _ = echo.send_to(&buffer[..length], from);
        }
    });
    let asking = router.at_server(|| UdpSocket::bind((IpAddr::from([10, 2, 0, 1]), 0)).expect("a socket"));
    asking.set_read_timeout(Some(Duration::from_millis(500))).expect("a timeout");
    let mut times = Vec::new();
    for number in 0..count as u32 {
        let begin = Instant::now();
        asking.send_to(&number.to_ne_bytes(), to).expect("sent");
        let mut answer = [0; 4];
        // A dropped one has no time.
        while asking.recv(&mut answer).is_ok() {
            if answer == number.to_ne_bytes() {
                times.push(begin.elapsed().as_secs_f64() * 1e3);
                break;
            }
        }
        thread::sleep(Duration::from_millis(37).saturating_sub(begin.elapsed()));
    }
    echoing.join().expect("an echo");
    times.sort_unstable_by(f64::total_cmp);
    times
}

/// The result of a class of 400 kb/s that TCP fills, with occasional requests by datagrams, in a network of
/// its own.
struct Loaded {
    /// The median of the answered ones \[ms\]; infinite if there is none.
    median: f64,
    /// Their 95th percentile.
    most: f64,
    answered: usize,
    /// TCP's data \[kb/s\].
    rate: f64,
}

fn loaded(name: &str, below: Discipline, asked: usize, bound: fn(&Router)) -> Result<Loaded, Missing> {
    let act = || {
        let stop: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
        let (router, _nftables) = one_subscriber(400, below)?;
        bound(&router);
        let reader = bulk(&router, "10.1.0.1", 5_000, stop);
        thread::sleep(Duration::from_secs(2));
        let times = round_trips(&router, "10.1.0.1", asked);
        stop.store(true, Ordering::Relaxed);
        let (bytes, seconds) = reader.join().expect("a reader");
        let of = |part: usize| {
            times.get(times.len().saturating_sub(1) * part / 100).copied().unwrap_or(f64::INFINITY)
        };
        let (median, most, answered) = (of(50), of(95), times.len());
        let rate = bytes as f64 * 8.0 / seconds / 1e3;
        println!(
            "    {name}: {median:.0} ms, 95 % within {most:.0} ms, {answered} of {asked}; TCP {rate:.0} kb/s"
        );
        Ok(Loaded { median, most, answered, rate })
    };
    let namespace = NetworkNamespace::new().expect("a namespace");
    namespace.within(act).expect("it can be entered")
}

/// With large segments at the sender, with a leaf that cuts them, or with a sender's device that prevents
/// them.
pub(crate) fn a_loaded_class_answers_soon() -> Outcome {
    // Four full packets of 30 ms each.
    let limit = Bytes::new(4 * 1_514);
    let bound = |router: &Router| {
        router.at_server(|| {
            Offloads::read("wire").and_then(|before| before.bounded().set("wire")).expect("set");
            let mut netlink = Rtnetlink::new().expect("netlink");
            let device = netlink.index("wire").expect("it is there");
            let options = LinkOptions { segments: Some(1), ..LinkOptions::default() };
            netlink.set_up(device, options).expect("set");
        });
    };
    // The case without a remedy: 64 kB take 1.3 s.
    let whole = loaded("five large segments", Discipline::Pfifo { packets: 5 }, 6, |_| ())?;
    let cut = loaded("cut by the leaf", cutting(limit.count()), 60, |_| ())?;
    let bounded = loaded("none from the sender", Discipline::Bfifo { limit }, 60, bound)?;
    assert!(whole.most > 500.0, "{}", whole.most);
    for one in [cut, bounded] {
        // Four packets wait, 121 ms; the tail is the machine's, which wakes the two ends late.
        assert!(one.median < 150.0 && one.most < whole.most, "{}, {} ms", one.median, one.most);
        // A request that finds the queue filled by TCP is dropped, as TCP's own segments are.
        assert!(one.answered > 30, "{} of 60 were answered", one.answered);
        assert!(one.rate > 0.85 * 400.0 * 1_448.0 / 1_514.0, "TCP fills the class: {} kb/s", one.rate);
    }
    Ok(())
}

/// New addresses are counted with their traffic, up to a bound, and are forgotten later; forged addresses
/// fill no memory.
pub(crate) fn newcomers_are_counted_and_bounded() -> Outcome {
    const SIZE: u32 = 100;
    let router = Router::new()?;
    let (table, timeout) = (table(Family::Inet), evenair_units::Duration::from_secs(2));
    let kind = SetKind::Seen { size: SIZE, timeout };
    let [seen4, seen6] = [("seen4", Version::V4), ("seen6", Version::V6)].map(|(name, version)| Set {
        name: name.to_owned(),
        version,
        kind,
    });
    let mut nftables = Nftables::new().map_err(no_nftables)?;
    nftables.create(&table, &[seen4.clone(), seen6.clone()]).map_err(no_nftables)?;
    let count = |set: &Set, prefix| {
        let (set, version) = (set.name.clone(), set.version);
        let action = Action::Count { set, version, side: Side::Source, prefix };
        Rule { matches: vec![Match::In(router.mesh)], action }
    };
    let chain = Chain { name: "forward".into(), hook: Hook::Forward, priority: 0 };
    nftables.set_rules(&table, &chain, &[count(&seen4, 32), count(&seen6, 56)]).expect("rules");
    router.at_subscribers(|| {
        let mut netlink = Rtnetlink::new().expect("netlink");
        let device = netlink.index("air").expect("it is there");
        (1..=200)
            .for_each(|host| netlink.add_address(device, [10, 1, 9, host].into(), 32).expect("it is new"));
    });
    let server = |text: &str| {
        let socket = router.at_server(|| UdpSocket::bind((address(text), 5_000)).expect("a socket"));
        socket.set_read_timeout(Some(Duration::from_secs(2))).expect("a timeout");
        socket
    };
    let (to4, to6) = (server("10.2.0.1"), server("2001:db8:2::1"));
    let send = |from: String, to: &UdpSocket| {
        let socket = router.at_subscribers(|| UdpSocket::bind((address(&from), 0)).expect("a socket"));
        socket.send_to(&[0; 72], to.local_addr().expect("it is bound")).expect("sent");
        to.recv(&mut [0; 100]).expect("all are forwarded, counted or not");
    };
    (0..3).for_each(|_| send("10.1.0.7".to_owned(), &to4));
    (1..=200).for_each(|host| send(format!("10.1.9.{host}"), &to4));
    // Two in one /56.
    send("2001:db8:1:300::1".to_owned(), &to6);
    send("2001:db8:1:400::1".to_owned(), &to6);
    send("2001:db8:1:400::1".to_owned(), &to6);
    let found = nftables.elements(&table, &seen4).expect("a list");
    assert_eq!(found.len(), SIZE as usize);
    let first =
        found.iter().find(|one| one.range == Range::from(address("10.1.0.7"))).expect("he came first");
    assert_eq!((first.volume.packets, first.volume.bytes, first.class), (3, 300, None));
    assert!(first.expires.is_some_and(|left| left <= timeout), "{first:?}");
    let found = nftables.elements(&table, &seen6).expect("a list");
    let told: Vec<_> = found.iter().map(|one| (one.range.first().to_string(), one.volume.packets)).collect();
    assert_eq!(told, [("2001:db8:1:300::".to_owned(), 1), ("2001:db8:1:400::".to_owned(), 2)]);
    thread::sleep(Duration::from_millis(2_300));
    assert_eq!(nftables.elements(&table, &seen4).expect("a list"), []);
    Ok(())
}

/// A bridge classifies packets between two of its ports, by the table of its family.
pub(crate) fn a_bridge_classifies_forwarded_packets() -> Outcome {
    let (left, right) =
        (NetworkNamespace::new().expect("a namespace"), NetworkNamespace::new().expect("a namespace"));
    let mut netlink = Rtnetlink::new().expect("netlink");
    netlink.add_bridge("br0").map_err(|error| Missing::new("bridges", error))?;
    let bridge = netlink.index("br0").expect("it is there");
    netlink.set_up(bridge, LinkOptions::default()).expect("it can be up");
    let mut ports = Vec::new();
    for (port, far, host, own) in [("p1", "h1", &left, "10.4.0.1"), ("p2", "h2", &right, "10.4.0.2")] {
        netlink.add_pair(port, far, host).map_err(|error| Missing::new("veth devices", error))?;
        let index = netlink.index(port).expect("it is there");
        netlink.set_master(index, bridge).expect("a port");
        netlink.set_up(index, LinkOptions::default()).expect("it can be up");
        assert_eq!(netlink.link(index).expect("it is there").master, Some(bridge));
        host.within(|| {
            let mut netlink = Rtnetlink::new().expect("netlink");
            let index = netlink.index(far).expect("it is there");
            netlink.set_up(index, LinkOptions::default()).expect("it can be up");
            netlink.add_address(index, address(own), 24).expect("it is new");
        })
        .expect("it can be entered");
        ports.push(index);
    }
    let port = ports[1];
    tree(&mut netlink, port, &[(0x11, kbps(64, 5_000), Discipline::Bfifo { limit: Bytes::new(50_000) })])?;
    let (table, set) = (table(Family::Bridge), map("down4", Version::V4));
    let mut nftables = Nftables::new().map_err(no_nftables)?;
    nftables.create(&table, std::slice::from_ref(&set)).map_err(no_nftables)?;
    let entry = Entry { range: Range::from(address("10.4.0.2")), class: Handle::new(1, 0x11) };
    nftables.change(&table, &set, &[], &[entry]).expect("new");
    let chain = Chain { name: "forward".into(), hook: Hook::Forward, priority: 0 };
    nftables.set_rules(&table, &chain, &[classify(port, &set, Side::Destination)]).expect("rules");
    let ruleset = told("nft", "list ruleset")?;
    assert!(ruleset.contains("table bridge evenair") && ruleset.contains("ip daddr map @down4"), "{ruleset}");
    let sender =
        left.within(|| UdpSocket::bind((address("10.4.0.1"), 0)).expect("a socket")).expect("entered");
    let receiver =
        right.within(|| UdpSocket::bind((address("10.4.0.2"), 5_000)).expect("a socket")).expect("entered");
    receiver.set_read_timeout(Some(Duration::from_secs(3))).expect("a timeout");
    // The first packet makes the bridge learn the port.
    for _ in 0..10 {
        sender.send_to(&[0; 500], "10.4.0.2:5000").expect("sent");
        receiver.recv(&mut [0; 600]).expect("received");
    }
    assert_eq!(drained(&mut netlink, port, 0x11).statistics.packets, 10);
    assert_eq!(offered(&mut nftables, &table, &set, 0x11).volume.packets, 10);
    Ok(())
}

/// Sets a socket's class, as a program may (`SO_PRIORITY`).
fn choose(socket: &UdpSocket, class: Handle) -> io::Result<()> {
    let number = (u32::from(class.major) << 16 | u32::from(class.minor)).cast_signed();
    let length = size_of_val(&number) as libc::socklen_t;
    let place = std::ptr::from_ref(&number).cast();
    // SAFETY: the kernel reads no more than the number.
    let done =
        unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PRIORITY, place, length) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A program on the gateway itself gets the class that it sets, if it may administer the network; an ordinary
/// one does not. A missing class means the default; the root's own number bypasses all classes.
pub(crate) fn local_administrators_choose_a_class() -> Outcome {
    let mut link = Link::new()?;
    // A kernel with a new device looks for neighbours and routers over IPv6; those packets would be in the
    // default class. A kernel without IPv6 has no such setting.
    let _ = evenair_linux::sysctl::set("ipv6/conf/near/disable_ipv6", "1");
    tree(&mut link.netlink, link.device, &[(0x10, kbps(1_000, 1_000), Discipline::Pfifo { packets: 100 })])?;
    let mut sent = |minor| {
        let class = link.netlink.class(link.device, Handle::new(1, minor)).expect("it is there");
        class.statistics.packets
    };
    let direct = || {
        let told = told("tc", "-s qdisc show dev near root")?;
        let number = told.split_whitespace().skip_while(|word| *word != "direct_packets_stat").nth(1);
        Ok(number.and_then(|number| number.parse::<u64>().ok()).expect("a number"))
    };
    let socket = UdpSocket::bind("10.3.0.1:0").expect("a port");
    for (class, expected) in
        [(Handle::new(1, 0x10), [5, 0, 0]), (Handle::new(1, 0x99), [0, 5, 0]), (Handle::new(1, 0), [0, 0, 5])]
    {
        choose(&socket, class).expect("root of this namespace may");
        let before = [sent(0x10), sent(DEFAULT), direct()?];
        for _ in 0..5 {
            socket.send_to(b"mine", "10.3.0.2:9").expect("it leaves");
        }
        thread::sleep(Duration::from_millis(50));
        let after = [sent(0x10), sent(DEFAULT), direct()?];
        assert_eq!([0, 1, 2].map(|i| after[i] - before[i]), expected, "{class}");
    }
    let ordinary = thread::spawn(|| {
        let none = CapabilitySets {
            effective: CapabilitySet::empty(),
            permitted: CapabilitySet::empty(),
            inheritable: CapabilitySet::empty(),
        };
        set_capabilities(None, none).expect("they are given away");
        let socket = UdpSocket::bind("10.3.0.1:0").expect("a port");
        (choose(&socket, Handle::new(0, 6)).is_ok(), choose(&socket, Handle::new(1, 0x10)).is_ok())
    });
    assert_eq!(ordinary.join().expect("it queries"), (true, false));
    Ok(())
}
