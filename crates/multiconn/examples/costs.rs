//! The cost of a connection to the host that keeps it, measured: [Chen10]'s `D_e`, `D_c` and `D_p` (section 5.3.5, C12), and memory.
//!
//! `cargo run --release -p evenair-multiconn --example costs`. Both ends are this thread, over loopback. The kernel's work for
//! either is in its processor time, so each number is of both ends together. TLS comes on top (docs/notes/transport.md).
#![allow(clippy::print_stdout, reason = "its output is a table")]

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

/// Connections that are open at once.
const CONNECTIONS: usize = 450;
/// Segments that are sent over one.
const SEGMENTS: usize = 40_000;
/// A segment's payload \[bytes\].
const PAYLOAD: usize = 1448;
/// How often all is measured.
const ROUNDS: usize = 9;

fn main() -> io::Result<()> {
    let mut rounds: Vec<[f64; 5]> = (0..ROUNDS).map(|_| round()).collect::<Result<_, _>>()?;
    rounds.remove(0); // warms caches up
    println!("quantity,median,least,most,unit");
    let names = [
        ("D_e socket and handshake", "µs"),
        ("D_c close", "µs"),
        ("D_p segment", "µs"),
        ("memory of the kernel", "bytes"),
        ("memory of a thread's stack that was touched", "bytes"),
    ];
    for (index, (name, unit)) in names.into_iter().enumerate() {
        let mut all: Vec<f64> = rounds.iter().map(|round| round[index]).collect();
        all.sort_by(f64::total_cmp);
        println!("{name},{:.1},{:.1},{:.1},{unit}", all[all.len() / 2], all[0], all[all.len() - 1]);
    }
    Ok(())
}

/// Opens, sends, closes: the costs of each.
fn round() -> io::Result<[f64; 5]> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let place = listener.local_addr()?;
    let (memory, begun) = (slab()?, processor_ns());
    let mut ends = Vec::with_capacity(CONNECTIONS);
    for _ in 0..CONNECTIONS {
        let calls = TcpStream::connect(place)?;
        ends.push((calls, listener.accept()?.0));
    }
    let opened = processor_ns();
    let memory = slab()? - memory;
    let per_segment = segments(&mut ends[0])?;
    let closes = processor_ns();
    drop(ends);
    let closed = processor_ns();
    let each = |ns: f64| ns / CONNECTIONS as f64;
    Ok([each(opened - begun) / 1e3, each(closed - closes) / 1e3, per_segment / 1e3, each(memory), stack()?])
}

/// The cost of a segment, sent, received and acknowledged \[ns\].
fn segments((calls, called): &mut (TcpStream, TcpStream)) -> io::Result<f64> {
    calls.set_nodelay(true)?;
    let (data, mut room) = ([7; PAYLOAD], [0; PAYLOAD]);
    let begun = processor_ns();
    for _ in 0..SEGMENTS {
        calls.write_all(&data)?;
        called.read_exact(&mut room)?;
    }
    Ok((processor_ns() - begun) / SEGMENTS as f64)
}

/// The touched stack of a thread that waits for a connection, as in a program that keeps one thread for each.
fn stack() -> io::Result<f64> {
    const THREADS: usize = 100;
    let before = resident()?;
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    let receiver = std::sync::Arc::new(std::sync::Mutex::new(receiver));
    let barrier = std::sync::Arc::new(std::sync::Barrier::new(THREADS + 1));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let (receiver, barrier) = (std::sync::Arc::clone(&receiver), std::sync::Arc::clone(&barrier));
            std::thread::spawn(move || {
                barrier.wait();
                let _ = receiver.lock().map(|receiver| receiver.recv());
            })
        })
        .collect();
    barrier.wait();
    let after = resident()?;
    drop(sender);
    for thread in threads {
        let _ = thread.join();
    }
    Ok((after - before) / THREADS as f64)
}

/// This thread's processor time so far \[ns\].
fn processor_ns() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// The kernel's own memory for objects \[bytes\].
fn slab() -> io::Result<f64> {
    Ok(1024.0 * number(&fs::read_to_string("/proc/meminfo")?, "Slab:", 1)?)
}

/// This process's memory \[bytes\].
fn resident() -> io::Result<f64> {
    Ok(1024.0 * number(&fs::read_to_string("/proc/self/status")?, "VmRSS:", 1)?)
}

/// A number in the line that begins so, by its place among the words.
fn number(text: &str, begins: &str, place: usize) -> io::Result<f64> {
    let line = text.lines().find(|line| line.starts_with(begins));
    let word = line.and_then(|line| line.split_whitespace().nth(place)?.parse().ok());
    word.ok_or_else(|| io::Error::other(format!("/proc has no {begins}")))
}
