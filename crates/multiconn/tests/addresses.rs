//! A client's machine loses its address during a transfer and gets another one: home and relay are namespaces
//! with a wire between.
#![cfg(target_os = "linux")]

mod parts;

use evenair_laws::connections::IimdParams;
use evenair_linux::link::LinkOptions;
use evenair_linux::{NetworkNamespace, Rtnetlink, sandbox, scheduling, sysctl};
use evenair_multiconn::control::Source;
use evenair_multiconn::listen::Watcher;
use evenair_multiconn::target::{DISCARD, Outcome};
use evenair_multiconn::{Client, ConnectOptions, connect};
use evenair_needs::Missing;
use evenair_needs::harness::{self, Test};
use parts::{Relay, echo, fixed, pattern, target, within};
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::{Builder, Runtime};

const RELAY: &str = "10.3.0.2";
const BYTES: usize = 48 << 20;

fn main() -> ExitCode {
    let test: Test<Result<(), Missing>> = ("a_session_survives_a_change_of_address", || {
        let home = Home::new().map_err(|error| Missing::new("veth devices", error))?;
        a_session_survives_a_change_of_address(home);
        Ok(())
    });
    let own: Test<Result<(), Missing>> = ("own_public_addresses_are_refused_unseen", || {
        let missing = |error| Missing::new("veth devices", error);
        let fresh = NetworkNamespace::new().map_err(missing)?;
        let done = fresh.within(|| Home::new().map(own_public_addresses_are_refused_unseen));
        done.and_then(|done| done).map_err(missing)
    });
    let prepare = || {
        sandbox::enter().map_err(|refused| Missing::new("user namespaces", refused))?;
        scheduling::stay_ordinary();
        Ok(())
    };
    harness::main(&[test, own], prepare, |test| test())
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// The calling thread's namespace, with a wire to another one.
struct Home {
    netlink: Rtnetlink,
    device: u32,
    there: NetworkNamespace,
}

impl Home {
    fn new() -> std::io::Result<Self> {
        let (mut netlink, there) = (Rtnetlink::new()?, NetworkNamespace::new()?);
        netlink.add_pair("near", "far", &there)?;
        let device = netlink.index("near")?;
        netlink.set_up(device, LinkOptions::default())?;
        there.within(|| {
            let mut netlink = Rtnetlink::new()?;
            for name in ["lo", "far"] {
                let device = netlink.index(name)?;
                netlink.set_up(device, LinkOptions::default())?;
            }
            let device = netlink.index("far")?;
            netlink.add_address(device, address(RELAY), 24)
        })??;
        Ok(Self { netlink, device, there })
    }

    fn gets(&mut self, own: &str) {
        self.netlink.add_address(self.device, address(own), 24).unwrap();
    }

    fn loses(&mut self, own: &str) {
        self.netlink.remove_address(self.device, address(own), 24).unwrap();
    }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// The client's data about the other end.
struct There {
    options: ConnectOptions,
    echo: SocketAddr,
    watcher: Watcher,
}

/// Starts a relay and a server beside it, in a thread of their namespace, until the process ends.
fn relay_there(there: NetworkNamespace) -> There {
    let (told, hears) = mpsc::channel();
    std::thread::spawn(move || {
        let serves = async {
            let relay = Relay::start_at((address(RELAY), 0).into()).await;
            let (options, echo, watcher) = (relay.options(), echo().await, relay.watcher.clone());
            told.send(There { options, echo, watcher }).unwrap();
            std::future::pending::<()>().await;
            drop(relay);
        };
        there.within(|| runtime().block_on(serves)).unwrap();
    });
    hears.recv_timeout(Duration::from_secs(30)).expect("a relay")
}

fn a_session_survives_a_change_of_address(mut home: Home) {
    home.gets("10.3.0.1");
    let there = NetworkNamespace::current().unwrap();
    let there = relay_there(std::mem::replace(&mut home.there, there));
    let law = IimdParams {
        interval: evenair_units::Duration::from_millis(300),
        connections_max: 3,
        ..IimdParams::cz06()
    };
    let (law, down) = (law.into(), Some(fixed(3)));
    runtime().block_on(async {
        let options = ConnectOptions { law, down, ..there.options.clone() };
        let client = first_session(options).await;
        assert!(froms(&there.watcher).iter().all(|from| *from == address("10.3.0.1")));
        within(120, transfer(&client, &there, &mut home)).await;
        let own = &client.status()[0];
        assert_eq!(own.streams_so_far, 1, "it is the session that it was");
        assert!(own.lost + own.stuck > 0, "its connections did not get on: {own:?}");
        assert_eq!(there.watcher.sessions().len(), 1, "the relay has no second one");
        assert!(froms(&there.watcher).contains(&address("10.3.0.3")), "{:?}", froms(&there.watcher));
        // Longer than a law waits for probes that do not return.
        busy(&client, Duration::from_secs(8)).await;
        let law = client.status().remove(0).sending.law.unwrap();
        assert_eq!(law.source, Source::Probes, "they go from the new address: {law:?}");
    });
}

/// A key that may reach all public addresses cannot find out which ports of the relay's own public addresses
/// are open, and reaches none.
fn own_public_addresses_are_refused_unseen(mut home: Home) {
    // The second is a secondary address: its packets have the first as their source.
    let own = ["45.3.0.1", "45.3.0.2"];
    let other = "45.3.0.3";
    own.iter().for_each(|own| home.gets(own));
    // Without a listener, only the kernel itself answers that the port is closed.
    home.netlink.set_up(home.netlink.index("lo").unwrap(), LinkOptions::default()).unwrap();
    for any_may_bind in ["0", "1"] {
        sysctl::set("ipv4/ip_nonlocal_bind", any_may_bind).unwrap();
        runtime().block_on(async {
            let relay = Relay::start().await;
            let entry = parts::entry("me", &relay.client_key, "\"*:*\"");
            relay.authorise(&[entry]).await;
            let client = first_session(relay.options()).await;
            let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
            let open = listener.local_addr().unwrap().port();
            let closed = {
                let free = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
                free.local_addr().unwrap().port()
            };
            for (host, port) in own.iter().flat_map(|own| [(own, open), (own, closed)]) {
                assert_eq!(outcome(&client, host, port).await, Outcome::NotAllowed, "{host}:{port}");
            }
            // Another machine's address is dialled: no machine there has it.
            assert_ne!(outcome(&client, other, open).await, Outcome::NotAllowed);
            let came = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
            assert!(came.is_err(), "no connection was made");
        });
    }
}

async fn outcome(client: &Client, host: &str, port: u16) -> Outcome {
    let mut stream = client.open().await.unwrap();
    let target = target(SocketAddr::new(address(host), port));
    stream.write_all(&target.encode()).await.unwrap();
    Outcome::of(within(20, stream.read_u8()).await.unwrap())
}

/// Connects, with further attempts: until the kernel has noticed a device's carrier, no packet passes.
async fn first_session(options: ConnectOptions) -> Client {
    for _ in 0..5 {
        if let Ok(client) = connect(options.clone()).await {
            return client;
        }
    }
    connect(options).await.unwrap()
}

/// Sends for a time; the relay discards the data.
async fn busy(client: &Client, time: Duration) {
    let mut stream = client.open().await.unwrap();
    stream.write_all(&DISCARD.encode()).await.unwrap();
    let bytes = vec![0; 64 << 10];
    let writes = async { while stream.write_all(&bytes).await.is_ok() {} };
    assert!(tokio::time::timeout(time, writes).await.is_err(), "the stream broke");
}

/// Returns the source addresses of the relay's connections.
fn froms(watcher: &Watcher) -> Vec<IpAddr> {
    let sessions = watcher.sessions();
    let peers = sessions.iter().flat_map(|session| &session.connections);
    peers.map(|one| one.peer.parse::<SocketAddr>().unwrap().ip()).collect()
}

/// Sends bytes to a server that echoes them. When a quarter of them has arrived, the address is removed; a
/// second later another one is added.
async fn transfer(client: &Client, there: &There, home: &mut Home) {
    let bytes = pattern(BYTES);
    let mut stream = client.open().await.unwrap();
    stream.write_all(&target(there.echo).encode()).await.unwrap();
    assert_eq!(stream.read_u8().await.unwrap(), 0);
    let (mut hears, mut says) = tokio::io::split(stream);
    let sends = async {
        says.write_all(&bytes).await.unwrap();
        says.shutdown().await.unwrap();
    };
    let reads = async {
        let (mut back, mut has_moved) = (vec![0; BYTES], false);
        let mut until = 0;
        while until < BYTES {
            until += match hears.read(&mut back[until..]).await.unwrap() {
                0 => panic!("the stream ended after {until} bytes"),
                count => count,
            };
            if !has_moved && until > BYTES / 4 {
                has_moved = true;
                home.loses("10.3.0.1");
                tokio::time::sleep(Duration::from_secs(1)).await;
                home.gets("10.3.0.3");
            }
        }
        assert_eq!(hears.read(&mut [0]).await.unwrap(), 0, "and then the end");
        assert!(back == bytes, "every byte once and in order");
    };
    tokio::join!(sends, reads);
}
