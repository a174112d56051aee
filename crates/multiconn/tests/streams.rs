//! Streams that come and go: a separate process, because its whole memory is measured.

mod parts;

use evenair_multiconn::{ConnectOptions, connect};
use parts::{Relay, checked, fixed, go, within};

/// Returns the memory of this process \[bytes\].
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// Opens and ends streams, twenty at a time, each through the relay to a socket and back.
async fn open_and_end(client: &evenair_multiconn::Client, echo: std::net::SocketAddr, streams: usize) {
    let lanes: Vec<_> = (0..20)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move {
                for _ in 0..streams / 20 {
                    assert_eq!(go(&client, echo, vec![7; 100]).await.unwrap(), [7; 100]);
                }
            })
        })
        .collect();
    for lane in lanes {
        within(120, lane).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_that_are_over_leave_nothing() {
    let relay = Relay::start().await;
    let client =
        connect(ConnectOptions { law: fixed(2), down: Some(fixed(2)), ..relay.options() }).await.unwrap();
    let echo = parts::echo().await;
    open_and_end(&client, echo, 2000).await;
    let before = resident();
    open_and_end(&client, echo, 10_000).await;
    assert!(checked(10, || relay.watcher.memory() == 0 && client.status()[0].streams == 0).await);
    let grown = resident().saturating_sub(before);
    // A stream's window alone is 64 kB: 300 remaining bytes of each would be noticed.
    assert!(grown < 3 << 20, "{grown} bytes more after 10 000 streams");
    assert_eq!(client.status()[0].streams_so_far, 12_000);
}
