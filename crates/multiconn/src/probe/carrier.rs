//! The loads of a survey, carried by sessions with a relay, which answers the probes.

use super::live::{now, socket};
use super::survey::{Carrier, Load, Stretch, samples};
use super::{End, Keys, LENGTH, Prober};
use crate::connect::{Client, ConnectError, ConnectOptions, connect};
use crate::target::{DISCARD, Outcome};
use evenair_laws::connections::FixedParams;
use evenair_units::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UdpSocket;
use tokio::runtime::Runtime;

/// The time between probes: nearly the minimum.
const SPACING: Duration = Duration::from_millis(25);
/// Bytes that the connections send before this time belong to their start, and are not counted.
const BEGINNING: std::time::Duration = std::time::Duration::from_millis(1500);
/// The time limit for the return of the last probes.
const LATE: std::time::Duration = std::time::Duration::from_millis(800);
/// A segment's payload \[bytes\].
const SEGMENT: u64 = 1448;

/// Loads over sessions with a relay.
#[derive(Debug)]
pub struct OverRelay {
    options: ConnectOptions,
    runtime: Runtime,
}

impl OverRelay {
    /// Uses a client's options, but the loads' law and congestion control.
    ///
    /// # Errors
    /// If this process may have no more threads or descriptors.
    pub fn new(options: ConnectOptions) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        Ok(Self { options, runtime })
    }
}

impl Carrier for OverRelay {
    type Error = ConnectError;

    fn congestion_controls(&self) -> Vec<String> {
        evenair_linux::tcp::available().unwrap_or_default()
    }

    fn stretch(&mut self, load: &Load, time: Duration) -> Result<Stretch, ConnectError> {
        let connections = load.connections.max(1);
        let options = ConnectOptions {
            law: FixedParams { connections }.into(),
            down: Some(FixedParams::default().into()),
            most: connections,
            congestion: load.congestion_control.clone(),
            probes: false,
            ..self.options.clone()
        };
        self.runtime.block_on(stretch(options, load, std::time::Duration::from_nanos(time.as_nanos())))
    }
}

async fn stretch(
    options: ConnectOptions,
    load: &Load,
    time: std::time::Duration,
) -> Result<Stretch, ConnectError> {
    let client = connect(options).await?;
    let (secret, relay) = client.probed().ok_or(ConnectError::TimedOut)?;
    let began = now();
    let mut prober = Prober::new(Keys::new(&secret, End::Caller), began);
    let socket = socket(relay).await.map_err(|error| ConnectError::Unreachable(error.to_string()))?;
    let (mut sent, mut back) = (Vec::new(), Vec::new());
    let carried = {
        let probes = async {
            look(&socket, &mut prober, &mut sent, &mut back, Some(began + nanos(time))).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            carried = carry(&client, load, time) => carried?,
            () = probes => unreachable!("it is awaited for ever"),
        }
    };
    drop(client);
    // Nothing more is sent: data under way may still arrive.
    let _ = tokio::time::timeout(LATE, look(&socket, &mut prober, &mut sent, &mut back, None)).await;
    let (goodput_bps, sent_segments, again) = carried;
    Ok(Stretch {
        load: load.clone(),
        samples: samples(began, &sent, &back),
        goodput_bps,
        sent: sent_segments,
        again,
    })
}

fn nanos(time: std::time::Duration) -> Duration {
    Duration::from_nanos(time.as_nanos() as u64)
}

/// Sends probes until a time, if given, and collects those that return; ends at that time, or never.
async fn look(
    socket: &UdpSocket,
    prober: &mut Prober,
    sent: &mut Vec<(u64, Instant)>,
    back: &mut Vec<super::Returned>,
    until: Option<Instant>,
) {
    let mut buffer = [0; LENGTH + 1];
    loop {
        let at = now();
        if until.is_some_and(|until| at >= until) {
            return;
        }
        // Derived from the times themselves: an attacker gains nothing by predicting a survey's probes.
        let draw = (at.as_nanos() / 1000 % 1009) as f64 / 1009.0;
        if until.is_some()
            && let Some(probe) = prober.poll(at, SPACING, draw)
        {
            sent.push((prober.sent() - 1, at));
            let _ = socket.send(&probe).await;
        }
        let due = until.map_or(Instant::NEVER, |until| prober.next_at().min(until));
        let wait = std::time::Duration::from_nanos(due.since(now()).as_nanos().min(1_000_000_000));
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            received = socket.recv(&mut buffer) => match received {
                Ok(length) => back.extend(prober.handle(now(), &buffer[..length])),
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
            },
        }
    }
}

/// Keeps the load on for a time; returns its goodput \[bit/s\], its segments, and those sent again.
async fn carry(
    client: &Client,
    load: &Load,
    time: std::time::Duration,
) -> Result<(f64, u64, u64), ConnectError> {
    if load.connections == 0 {
        tokio::time::sleep(time).await;
        return Ok((0.0, 0, 0));
    }
    let mut stream = client.open().await?;
    let refused = |why: &str| ConnectError::Unreachable(format!("the relay takes no load to discard: {why}"));
    let written = stream.write_all(&DISCARD.encode()).await;
    written.map_err(|error| refused(&error.to_string()))?;
    let mut answer = [0];
    stream.read_exact(&mut answer).await.map_err(|error| refused(&error.to_string()))?;
    if answer[0] != Outcome::Connected.code() {
        return Err(refused("it does not allow it"));
    }
    let batch = vec![0; 64 << 10];
    let writes = async {
        while stream.write_all(&batch).await.is_ok() {}
        std::future::pending::<()>().await;
    };
    let measures = async {
        tokio::time::sleep(BEGINNING.min(time / 2)).await;
        let (begun, before) = (now(), counts(client));
        tokio::time::sleep(time.saturating_sub(BEGINNING.min(time / 2))).await;
        let (seconds, after) = (now().since(begun).as_secs_f64(), counts(client));
        let bytes = after.0.saturating_sub(before.0);
        let again = after.1.saturating_sub(before.1);
        (bytes as f64 * 8.0 / seconds, bytes / SEGMENT + again, again)
    };
    tokio::select! {
        carried = measures => Ok(carried),
        () = writes => unreachable!("it is awaited for ever"),
    }
}

/// Returns the bytes that all connections have sent, and the segments sent again.
fn counts(client: &Client) -> (u64, u64) {
    let all = client.status();
    let all = all.iter().flat_map(|session| &session.connections);
    all.fold((0, 0), |(bytes, again), each| {
        (bytes + each.sent_bytes, again + each.retransmitted.unwrap_or(0))
    })
}
