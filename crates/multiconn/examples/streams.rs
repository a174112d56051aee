//! Streams that are opened, used and ended one after the other, many at once: nothing of them stays. Both ends are this process, over loopback and two
//! connections. `cargo run --release -p evenair-multiconn --example streams -- [STREAMS]`
#![allow(clippy::print_stdout, reason = "it is a program")]

use evenair_laws::connections::FixedParams;
use evenair_multiconn::authorised::{Authorised, Entry};
use evenair_multiconn::keys::SecretKey;
use evenair_multiconn::listen::Source;
use evenair_multiconn::{Client, ConnectOptions, ListenOptions, Listener, connect, listen};
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

type Failure = Box<dyn std::error::Error>;

/// Streams at once.
const AT_ONCE: u64 = 50;
/// The data of each there and back \[bytes\].
const WORDS: usize = 100;

fn main() -> Result<(), Failure> {
    let streams: u64 = std::env::args().nth(1).map_or(Ok(100_000), |words| words.parse())?;
    tokio::runtime::Runtime::new()?.block_on(run(streams))
}

async fn run(streams: u64) -> Result<(), Failure> {
    let (there, here) = (SecretKey::generate(), SecretKey::generate());
    let who = Source::These(Authorised::new("this program", vec![Entry::new("me", here.public())])?);
    let listener = listen(ListenOptions::new("127.0.0.1:0".parse()?, there.clone(), who)).await?;
    let (address, watcher) = (listener.addresses()[0], listener.watcher());
    tokio::spawn(echo(listener));
    let mut options = ConnectOptions::new(address.to_string(), there.public(), here);
    (options.law, options.down) =
        (FixedParams { connections: 2 }.into(), Some(FixedParams { connections: 2 }.into()));
    let client = connect(options).await?;
    let (begun, mut done) = (Instant::now(), 0);
    println!("{:>9} {:>14} {:>11}", "streams", "resident, kB", "per second");
    println!("{done:>9} {:>14}", resident_kb()?);
    for part in 1..=10 {
        let until = streams * part / 10;
        let each = (0..AT_ONCE).map(|lane| {
            let (client, count) = (client.clone(), (until - done + lane) / AT_ONCE);
            tokio::spawn(async move {
                for _ in 0..count {
                    one(&client).await.map_err(|why| why.to_string())?;
                }
                Ok::<u64, String>(count)
            })
        });
        let mut counted = 0;
        for lane in each.collect::<Vec<_>>() {
            counted += lane.await??;
        }
        assert_eq!(counted, until - done, "as many as were meant");
        done = until;
        println!("{done:>9} {:>14} {:>11.0}", resident_kb()?, done as f64 / begun.elapsed().as_secs_f64());
    }
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    let status = &client.status()[0];
    println!(
        "open: {}, so far: {}, bytes that the relay has for streams: {}",
        status.streams,
        status.streams_so_far,
        watcher.memory()
    );
    Ok(())
}

/// One stream, from its opening to both of its ends.
async fn one(client: &Client) -> Result<(), Failure> {
    let mut stream = client.open().await?;
    stream.write_all(&[7; WORDS]).await?;
    stream.shutdown().await?;
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).await?;
    assert_eq!(heard, [7; WORDS]);
    Ok(())
}

/// Sends back its input.
async fn echo(mut listener: Listener) {
    while let Some(accepted) = listener.accept().await {
        tokio::spawn(async move {
            let mut stream = accepted.stream;
            let mut heard = Vec::new();
            if stream.read_to_end(&mut heard).await.is_ok() && stream.write_all(&heard).await.is_ok() {
                let _ = stream.shutdown().await;
            }
        });
    }
}

/// Memory of this process \[kB\].
fn resident_kb() -> Result<u64, Failure> {
    let pages = std::fs::read_to_string("/proc/self/statm")?;
    Ok(pages.split(' ').nth(1).ok_or("no such field")?.parse::<u64>()? * 4)
}
