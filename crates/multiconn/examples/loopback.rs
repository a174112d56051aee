//! The cost of a session on loopback: processor for each gigabit, and the round trip of one byte, beside two bare hops of
//! `tokio::io::copy` and none. `cargo run --release -p evenair-multiconn --example loopback -- [MEGABYTES]`
#![allow(clippy::print_stdout, reason = "it is a program")]

use evenair_laws::connections::FixedParams;
use evenair_multiconn::authorised::{Authorised, Entry};
use evenair_multiconn::forward::{Forward, Open};
use evenair_multiconn::keys::SecretKey;
use evenair_multiconn::listen::Source;
use evenair_multiconn::{ConnectOptions, ListenOptions, connect, listen, relay};
use std::net::SocketAddr;
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let megabytes = std::env::args().nth(1).map_or(Ok(500), |words| words.parse())?;
    let runtime = tokio::runtime::Runtime::new()?;
    println!(
        "| way | Gb/s | CPU per gigabit [s] | ping, median [µs] | ping, p99 [µs] |\n|---|---|---|---|---|"
    );
    for way in ["direct", "two bare hops", "n = 1", "n = 4", "n = 16"] {
        runtime.block_on(measure(way, megabytes))?;
    }
    Ok(())
}

async fn measure(way: &str, megabytes: usize) -> Result<(), Failure> {
    let (sink, echo) = (server(false).await?, server(true).await?);
    let mut kept = Vec::new();
    let (to_sink, to_echo) = match way.strip_prefix("n = ") {
        None if way == "direct" => (sink, echo),
        None => (hop(hop(sink).await?).await?, hop(hop(echo).await?).await?),
        Some(connections) => {
            let (client, forwards) = session(connections.parse()?, [sink, echo]).await?;
            kept.push(client);
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
            (forwards[0], forwards[1])
        }
    };
    let mut socket = TcpStream::connect(to_sink).await?;
    let (began, before) = (Instant::now(), processor()?);
    let batch = vec![7; 1 << 20];
    for _ in 0..megabytes {
        socket.write_all(&batch).await?;
    }
    socket.shutdown().await?;
    let heard = socket.read_u64().await?;
    assert_eq!(heard as usize, megabytes << 20, "every byte");
    let gigabits = heard as f64 * 8e-9;
    let (took, spent) = (began.elapsed().as_secs_f64(), processor()? - before);
    let mut pings = Vec::new();
    let mut socket = TcpStream::connect(to_echo).await?;
    socket.set_nodelay(true)?;
    for _ in 0..2100 {
        let began = Instant::now();
        socket.write_all(&[1]).await?;
        socket.read_u8().await?;
        pings.push(began.elapsed().as_secs_f64() * 1e6);
    }
    let mut pings = pings.split_off(100);
    pings.sort_by(f64::total_cmp);
    let (middle, worst) = (pings[pings.len() / 2], pings[pings.len() * 99 / 100]);
    println!("| {way} | {:.1} | {:.3} | {middle:.0} | {worst:.0} |", gigabits / took, spent / gigabits);
    Ok(())
}

/// Processor that this process has used, all of its ends together \[s\]: ticks of a hundredth.
fn processor() -> Result<f64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    Ok((fields[11].parse::<f64>()? + fields[12].parse::<f64>()?) / 100.0)
}

/// Counts its input, and reports the sum at the end; or sends it back.
async fn server(echoes: bool) -> Result<SocketAddr, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let _ = socket.set_nodelay(true);
            tokio::spawn(async move {
                let (mut held, mut heard) = (vec![0; 1 << 18], 0_u64);
                while let Ok(count @ 1..) = socket.read(&mut held).await {
                    heard += count as u64;
                    if echoes && socket.write_all(&held[..count]).await.is_err() {
                        return;
                    }
                }
                let _ = socket.write_u64(heard).await;
            });
        }
    });
    Ok(address)
}

/// A bare hop.
async fn hop(to: SocketAddr) -> Result<SocketAddr, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((mut here, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut there = TcpStream::connect(to).await?;
                here.set_nodelay(true)?;
                there.set_nodelay(true)?;
                tokio::io::copy_bidirectional_with_sizes(&mut here, &mut there, 1 << 16, 1 << 16).await
            });
        }
    });
    Ok(address)
}

/// A relay and a client with so many connections each way, and a local port for each address.
async fn session(
    connections: u32,
    to: [SocketAddr; 2],
) -> Result<(evenair_multiconn::Client, Vec<SocketAddr>), Failure> {
    let (there, here) = (SecretKey::generate(), SecretKey::generate());
    let mut entry = Entry::new("me", here.public());
    entry.destinations = vec!["127.0.0.0/8:*".parse()?];
    let who = Source::These(Authorised::new("here", vec![entry])?);
    let listener = listen(ListenOptions::new("127.0.0.1:0".parse()?, there.clone(), who)).await?;
    let address = listener.addresses()[0].to_string();
    tokio::spawn(relay::serve(listener));
    let law = FixedParams { connections };
    let mut options = ConnectOptions::new(address, there.public(), here);
    (options.law, options.down) = (law.into(), Some(law.into()));
    let client = connect(options).await?;
    let mut ports = Vec::new();
    for target in to {
        let port = Open::new(&format!("tcp://0:{target}").parse::<Forward>()?).await?;
        ports.push(port.address()?);
        tokio::spawn(port.serve(client.clone(), |_: &_| {}));
    }
    Ok((client, ports))
}
