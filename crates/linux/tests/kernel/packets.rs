//! Packets that pass, compared with the kernel's own counters.

use crate::Outcome;
use crate::lab::{Link, address, apply, class, htb, kbps, told};
use evenair_linux::Rtnetlink;
use evenair_linux::link::LinkOptions;
use evenair_linux::offload::Offloads;
use evenair_linux::packets::{Direction, Packet, Packets};
use evenair_linux::tc::{Handle, Mode};
use evenair_needs::Missing;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// Reads until nothing has arrived for a while.
fn all(packets: &mut Packets) -> Vec<Packet> {
    let (mut told, mut idle) = (Vec::new(), 0);
    while idle < 4 {
        std::thread::sleep(Duration::from_millis(15));
        let count = packets.read(|packet| told.push(*packet)).expect("the device is up");
        idle = if count == 0 { idle + 1 } else { 0 };
    }
    told
}

pub(crate) fn each_packet_is_reported_once() -> Outcome {
    let link = Link::new()?;
    let mut packets = Packets::new(link.device).expect("a packet socket");
    let sender = UdpSocket::bind((address("10.3.0.1"), 4_000)).expect("a socket");
    let receiver = link.far(|| UdpSocket::bind((address("10.3.0.2"), 5_000)).expect("a socket"));
    for size in 1..=1_000_usize {
        sender.send_to(&vec![0; size], "10.3.0.2:5000").expect("sent");
        if size % 10 == 0 {
            receiver.send_to(&[0; 30], "10.3.0.1:4000").expect("sent");
        }
    }
    let told = all(&mut packets);
    let of = |way| told.iter().filter(move |packet| packet.direction == way && packet.headers.protocol == 17);
    let sizes: Vec<u32> = of(Direction::Outgoing).map(|packet| packet.headers.size - 28).collect();
    assert_eq!(sizes, (1..=1_000).collect::<Vec<_>>());
    assert_eq!(of(Direction::Incoming).count(), 100);
    let first = of(Direction::Outgoing).next().expect("one").headers;
    assert_eq!((first.source, first.destination), (address("10.3.0.1"), address("10.3.0.2")));
    assert_eq!(first.ports, Some((4_000, 5_000)));
    assert!(told.is_sorted_by_key(|packet| packet.at));
    assert_eq!(packets.drops().expect("counts"), 0);
    Ok(())
}

/// TCP's sequence numbers end with its data, and all of it is acknowledged; large segments are one packet of
/// their whole size.
pub(crate) fn sequence_numbers_end_where_data_end() -> Outcome {
    let link = Link::new()?;
    let mut packets = Packets::new(link.device).expect("a packet socket");
    let listener = link.far(|| TcpListener::bind((address("10.3.0.2"), 5_000)).expect("a socket"));
    let mut stream = TcpStream::connect("10.3.0.2:5000").expect("connected");
    let (mut accepted, _) = listener.accept().expect("accepted");
    let reader = std::thread::spawn(move || {
        let mut got = Vec::new();
        accepted.read_to_end(&mut got).map(|_| got.len())
    });
    stream.write_all(&vec![7; 1_000_000]).expect("written");
    drop(stream);
    assert_eq!(reader.join().expect("a reader").expect("read"), 1_000_000);
    let told = all(&mut packets);
    let segments = |way| {
        told.iter().filter(move |packet| packet.direction == way).filter_map(|packet| packet.headers.tcp)
    };
    let first = segments(Direction::Outgoing).next().expect("SYN").end;
    let behind = |segment: evenair_linux::packets::Segment| segment.end.wrapping_sub(first);
    let ends = segments(Direction::Outgoing).filter(|segment| segment.is_acknowledged()).map(behind);
    assert_eq!(ends.max(), Some(1_000_001), "the data and FIN");
    let acknowledged = segments(Direction::Incoming).filter_map(|segment| segment.acknowledgement);
    assert_eq!(acknowledged.map(|number| number.wrapping_sub(first)).max(), Some(1_000_001));
    let sent: u64 = segments(Direction::Outgoing).map(|segment| u64::from(segment.payload)).sum();
    assert!((1_000_000..1_500_000).contains(&sent), "{sent}: little is sent twice");
    assert!(told.iter().any(|packet| packet.headers.size > 10_000), "large segments are whole");
    Ok(())
}

/// Packets are reported when they leave the queue.
pub(crate) fn waiting_packets_have_not_passed() -> Outcome {
    let mut link = Link::new()?;
    if !link.netlink.has_discipline("htb").expect("the kernel answers") {
        return Err(Missing::new("HTB", "this kernel has none"));
    }
    apply(
        &mut link.netlink,
        &[htb(link.device, 2), class(link.device, Handle::new(1, 0), 2, Mode::Add, kbps(800, 800))],
    );
    let mut packets = Packets::new(link.device).expect("a packet socket");
    let sender = UdpSocket::bind((address("10.3.0.1"), 4_000)).expect("a socket");
    let begin = Instant::now();
    for _ in 0..20 {
        sender.send_to(&[0; 972], "10.3.0.2:5000").expect("sent"); // 1000 bytes of IP
    }
    let queueing = begin.elapsed().as_secs_f64();
    let told = all(&mut packets);
    let times: Vec<_> = told
        .iter()
        .filter(|packet| packet.direction == Direction::Outgoing && packet.headers.size == 1_000)
        .map(|packet| packet.at)
        .collect();
    assert_eq!(times.len(), 20);
    // 1014 bytes each take 10.14 ms, but for a burst of three.
    let span = times[19].since(times[0]).as_secs_f64();
    assert!((0.150..0.200 + queueing).contains(&span), "{span} s");
    Ok(())
}

pub(crate) fn a_device_that_goes_is_reported() -> Outcome {
    let link = Link::new()?;
    let mut packets = Packets::new(link.device).expect("a packet socket");
    assert_eq!(packets.read(|_| ()).expect("it is up"), 0);
    told("ip", "link del near")?;
    // Packets from before its removal may be read first.
    assert!((0..100).any(|_| packets.read(|_| ()).is_err()));
    assert!(Packets::new(9_999).is_err());
    Ok(())
}

pub(crate) fn large_segments_are_bounded_and_put_back() -> Outcome {
    let mut link = Link::new()?;
    let before = Offloads::read("near").expect("features");
    let is_on = |offloads: &Offloads, name| offloads.features().contains(&(name, true));
    assert!(is_on(&before, "tx-tcp-segmentation") && is_on(&before, "tx-generic-segmentation"), "{before:?}");
    let received = |link: &Link| -> u32 {
        let mut packets =
            link.far(|| Packets::new(Rtnetlink::new()?.index("far")?)).expect("a packet socket");
        let listener = link.far(|| TcpListener::bind((address("10.3.0.2"), 5_000)).expect("a socket"));
        let mut stream = TcpStream::connect("10.3.0.2:5000").expect("connected");
        let (mut accepted, _) = listener.accept().expect("accepted");
        let writer = std::thread::spawn(move || stream.write_all(&vec![7; 300_000]));
        accepted.read_exact(&mut vec![0; 300_000]).expect("read");
        writer.join().expect("a writer").expect("written");
        all(&mut packets).iter().map(|packet| packet.headers.size).max().expect("some")
    };
    assert!(received(&link) > 1_500);
    before.bounded().set("near").expect("it can be set");
    assert_eq!(Offloads::read("near").expect("features"), before.bounded());
    assert_eq!(received(&link), 1_500);
    before.set("near").expect("it can be set");
    assert_eq!(Offloads::read("near").expect("features"), before);
    assert!(received(&link) > 1_500);
    // With segments of one packet each, for the machine's own.
    let segments = link.netlink.link(link.device).expect("it is there").segments;
    link.netlink
        .set_up(link.device, LinkOptions { segments: Some(1), ..LinkOptions::default() })
        .expect("set");
    assert_eq!(received(&link), 1_500);
    link.netlink.set_up(link.device, LinkOptions { segments, ..LinkOptions::default() }).expect("set");
    assert!(received(&link) > 1_500);
    assert!(Offloads::read("absent").is_err() && Offloads::read("").is_err());
    Ok(())
}

const COUNT: usize = 100_000;

/// Measures the cost of a packet; none is lost at the rate of a small gateway.
pub(crate) fn many_packets() -> Outcome {
    let link = Link::new()?;
    let sender = UdpSocket::bind((address("10.3.0.1"), 4_000)).expect("a socket");
    // The socket exists but is never read, so no error returns to the sender.
    let _receiver = link.far(|| UdpSocket::bind((address("10.3.0.2"), 5_000)).expect("a socket"));
    let send = |_| sender.send_to(&[0; 100], "10.3.0.2:5000").expect("sent");
    (0..COUNT / 10).map(send).for_each(drop);
    let begin = Instant::now();
    (0..COUNT).map(send).for_each(drop);
    let unseen = begin.elapsed();
    let mut packets = Packets::new(link.device).expect("a packet socket");
    let is_own = |packet: &Packet| packet.direction == Direction::Outgoing && packet.headers.size == 128;
    let (begin, mut count, mut reading) = (Instant::now(), 0, Duration::ZERO);
    for _ in 0..COUNT / 1_000 {
        (0..1_000).map(send).for_each(drop);
        let begin = Instant::now();
        packets.read(|packet| count += usize::from(is_own(packet))).expect("it is up");
        reading += begin.elapsed();
    }
    let sending = begin.elapsed().saturating_sub(reading);
    count += all(&mut packets).iter().filter(|packet| is_own(packet)).count();
    let each = |time: Duration| time.as_secs_f64() * 1e6 / COUNT as f64;
    println!(
        "    a packet: {:.2} µs to send, {:.2} µs where it is seen, {:.3} µs to read",
        each(unseen),
        each(sending),
        each(reading)
    );
    assert_eq!((count, packets.drops().expect("counts")), (COUNT, 0));
    Ok(())
}
