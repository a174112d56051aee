//! Two endpoints of quinn in one process, in virtual time, over a wire of 10 Mb/s and 40 ms. A transfer under the controller of
//! [`controller`] checks that its window is the law's, `w = x·d + p`. A second one passes a queue with less room than `p`, where
//! packets are lost. A third follows a path with a round trip that rises from 40 to 120 ms and falls again, where the law
//! measures it again and where it does not.
//!
//!     cargo run --release --manifest-path validation/quinn/Cargo.toml

mod controller;
mod wire;

use evenair_laws::window::{QuicTcpParams, WindowStart};
use quinn_proto::{ClientConfig, Connection, Dir, Event, ServerConfig, StreamId, TransportConfig, VarInt};
use std::net::{Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wire::{DELAY, End, RATE};

const MTU: u16 = 1200;
const TOTAL: usize = 20_000_000;
/// p of the law [packets].
const WANTED: f64 = 20.0;
const FIRST: SocketAddr = SocketAddr::new(std::net::IpAddr::V6(Ipv6Addr::LOCALHOST), 1);
const SECOND: SocketAddr = SocketAddr::new(std::net::IpAddr::V6(Ipv6Addr::LOCALHOST), 2);

fn ends(start: Instant, room: Duration, holds: Option<u64>) -> (End, End) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).expect("a certificate");
    let certificate = made.cert.der().clone();
    let params = QuicTcpParams {
        target: WANTED,
        gain: 0.5,
        shape: 0.5,
        round_trip_holds: holds.map(evenair_units::Duration::from_secs),
    };
    let law = controller::Config {
        params,
        start: WindowStart { initial_ssthresh: 20.0, ..WindowStart::default() },
    };
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(law)).initial_mtu(MTU).mtu_discovery_config(None);
    transport.receive_window(VarInt::from_u32(1 << 24)).stream_receive_window(VarInt::from_u32(1 << 24));
    let transport = Arc::new(transport);
    let key = made.signing_key.serialize_der().try_into().expect("a key");
    let mut server = ServerConfig::with_single_cert(vec![certificate.clone()], key).expect("they fit");
    server.transport_config(transport.clone());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).expect("a root");
    let mut client = ClientConfig::with_root_certificates(Arc::new(roots)).expect("a client");
    client.transport_config(transport);
    let mut first = End::new(None, SECOND, start, room);
    first.connection = Some(first.endpoint.connect(start, client, SECOND, "localhost").expect("it begins"));
    (first, End::new(Some(server), FIRST, start, room))
}

/// Writes the transfer as fast as it is taken; whether all of it is written.
fn write(connection: &mut Connection, stream: StreamId, left: &mut usize) {
    let block = [0; 1 << 16];
    while *left > 0 {
        match connection.send_stream(stream).write(&block[..block.len().min(*left)]) {
            Ok(taken) => *left -= taken,
            Err(_) => return,
        }
    }
    // A second time it is over already.
    let _ = connection.send_stream(stream).finish();
}

/// Reads all available data; returns the bytes.
fn read(connection: &mut Connection) -> usize {
    let mut bytes = 0;
    while let Some(event) = connection.poll() {
        if let Event::ConnectionLost { reason } = event {
            panic!("{reason}");
        }
    }
    while let Some(stream) = connection.streams().accept(Dir::Uni) {
        assert_eq!(stream.index(), 0, "one stream");
    }
    let mut stream = connection.recv_stream(StreamId::new(quinn_proto::Side::Client, Dir::Uni, 0));
    if let Ok(mut chunks) = stream.read(true) {
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            bytes += chunk.bytes.len();
        }
        let _ = chunks.finalize();
    }
    bytes
}

/// The outcome of a transfer.
struct Outcome {
    /// \[bits/s\]
    goodput: f64,
    /// The mean window \[packets\] and the mean of smoothed round trips \[s\], while the second half was sent.
    window: f64,
    round_trip: f64,
    lost: u64,
}

fn transfer(room: Duration) -> Outcome {
    let start = Instant::now();
    let (mut first, mut second) = ends(start, room, None);
    let (mut now, mut stream, mut left, mut read_bytes) = (start, None, TOTAL, 0);
    let (mut windows, mut trips, mut lost) = (Vec::new(), Vec::new(), 0);
    while read_bytes < TOTAL {
        first.turn(now, &mut second);
        second.turn(now, &mut first);
        if let Some((_, connection)) = &mut first.connection {
            stream = stream.or_else(|| connection.streams().open(Dir::Uni));
            if let Some(stream) = stream {
                write(connection, stream, &mut left);
            }
            lost = connection.stats().path.lost_packets;
            if read_bytes > TOTAL / 2 && left > 0 {
                windows.push(connection.congestion_state().window() as f64 / f64::from(MTU));
                trips.push(connection.rtt().as_secs_f64());
            }
        }
        if let Some((_, connection)) = &mut second.connection {
            read_bytes += read(connection);
        }
        first.turn(now, &mut second);
        second.turn(now, &mut first);
        now = first.next().into_iter().chain(second.next()).min().expect("something happens").max(now);
        assert!(now < start + Duration::from_secs(60), "{read_bytes} bytes in a minute");
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let goodput = TOTAL as f64 * 8.0 / (now - start).as_secs_f64();
    Outcome { goodput, window: mean(&windows), round_trip: mean(&trips), lost }
}

/// The wire there takes so much longer from second 15 to second 40.
const MORE: Duration = Duration::from_millis(80);

/// Goodput \[Mb/s\] and mean window \[packets\] from second 8 to 15, 28 to 40, and 48 to 60 of a transfer over that wire.
fn over_a_path_that_changes(holds: Option<u64>) -> [(f64, f64); 3] {
    let start = Instant::now();
    let (mut first, mut second) = ends(start, Duration::from_secs(1), holds);
    let (mut now, mut stream, mut left, mut seconds) = (start, None, usize::MAX, 0.0);
    let periods = [(8.0, 15.0), (28.0, 40.0), (48.0, 60.0)];
    let mut seen = [(0, 0.0, 0); 3];
    while seconds < 60.0 {
        second.delay = if (15.0..40.0).contains(&seconds) { DELAY + MORE } else { DELAY };
        first.turn(now, &mut second);
        second.turn(now, &mut first);
        let period = periods.iter().position(|(from, to)| (*from..*to).contains(&seconds));
        if let Some((_, connection)) = &mut first.connection {
            stream = stream.or_else(|| connection.streams().open(Dir::Uni));
            if let Some(stream) = stream {
                write(connection, stream, &mut left);
            }
            if let Some(period) = period {
                seen[period].1 += connection.congestion_state().window() as f64 / f64::from(MTU);
                seen[period].2 += 1;
            }
        }
        if let Some((_, connection)) = &mut second.connection {
            let bytes = read(connection);
            if let Some(period) = period {
                seen[period].0 += bytes;
            }
        }
        first.turn(now, &mut second);
        second.turn(now, &mut first);
        now = first.next().into_iter().chain(second.next()).min().expect("something happens").max(now);
        seconds = (now - start).as_secs_f64();
    }
    std::array::from_fn(|i| {
        let ((bytes, windows, looks), (from, to)) = (seen[i], periods[i]);
        (bytes as f64 * 8e-6 / (to - from), windows / f64::from(looks))
    })
}

fn main() {
    let packet = f64::from(MTU) / RATE;
    let path = 2.0 * DELAY.as_secs_f64() + packet;
    let (window, round_trip) = (path / packet + WANTED, path + WANTED * packet);
    let deep = transfer(Duration::from_secs(1));
    let shallow = transfer(Duration::from_secs_f64(WANTED / 2.0 * packet));
    for (name, got) in [("a deep queue", &deep), ("a shallow one", &shallow)] {
        let Outcome { goodput, window: w, round_trip: d, lost } = got;
        println!(
            "{name}: {:.2} Mb/s, window {w:.1} packets, round trip {:.1} ms, {lost} packets lost",
            goodput / 1e6,
            d * 1e3
        );
    }
    println!("the law: window {window:.1} packets, round trip {:.1} ms", round_trip * 1e3);
    assert!((deep.window / window - 1.0).abs() < 0.05, "the window is the law's");
    assert!((deep.round_trip / round_trip - 1.0).abs() < 0.05, "as many packets wait as are wanted");
    assert!(deep.goodput > 0.95 * RATE * 8.0 && deep.lost == 0, "the wire is full, and nothing is lost");
    // Half of the window that fills path and queue is the least with which a loss is followed.
    let least = 0.5 * (path / packet + WANTED / 2.0) / (path / packet);
    assert!(shallow.lost > 0 && shallow.goodput > least * RATE * 8.0, "losses are repaired: {least}");
    let [for_ever, anew] = [None, Some(10)].map(over_a_path_that_changes);
    for (name, told) in [("for ever", &for_ever), ("for 10 s", &anew)] {
        let told = told.map(|(rate, window)| format!("{rate:.2} Mb/s by {window:.1} packets")).join(", ");
        println!("40, 120, 40 ms, the round trip holds {name}: {told}");
    }
    // By the law's equation the longer path has p/(D - d) where the old one is remembered, and all where it is not; of either, the
    // share that is no header.
    let share = for_ever[0].0 / (RATE * 8e-6);
    let longer = share * WANTED / MORE.as_secs_f64() * f64::from(MTU) * 8e-6;
    assert!((for_ever[1].0 / longer - 1.0).abs() < 0.05, "{longer}");
    assert!(anew[1].0 > 0.9 * RATE * 8e-6, "{anew:?}");
}
