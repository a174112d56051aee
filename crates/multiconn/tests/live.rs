//! A relay and clients on loopback: deliveries, refusals and breaks.

mod parts;

use evenair_multiconn::authorised::{Authorised, Entry};
use evenair_multiconn::connect::ConnectError;
use evenair_multiconn::core::OpenError;
use evenair_multiconn::frame::{Broken, Closed};
use evenair_multiconn::keys::SecretKey;
use evenair_multiconn::listen::Source;
use evenair_multiconn::paths::{Known, Paths, Seen};
use evenair_multiconn::target::{Host, Target};
use evenair_multiconn::{ConnectOptions, ListenOptions, connect, listen};
use parts::{Relay, checked, digest, echo, entry, fixed, go, pattern, sink, within};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_go_there_and_back_over_four_connections() {
    let relay = Relay::start().await;
    let client =
        connect(ConnectOptions { law: fixed(4), down: Some(fixed(4)), ..relay.options() }).await.unwrap();
    let echo = echo().await;
    let bytes = pattern(20 << 20);
    let back = within(60, go(&client, echo, bytes.clone())).await.unwrap();
    assert!(back == bytes, "what came back is what was sent");
    let status = client.status();
    assert_eq!(status[0].connections.iter().filter(|one| one.active).count(), 4);
    let used = status[0].connections.iter().filter(|one| one.sent_bytes > 100_000).count();
    assert!(used >= 3, "all of them carried some: {status:?}");
    assert_eq!(status[0].receiving.wanted, 4, "the relay's law decides for what it sends");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_begins_with_its_paths_memory() {
    let relay = Relay::start().await;
    let folder = tempfile::tempdir().unwrap();
    let paths = Paths::new(folder.path().join("paths.json"));
    let law = evenair_multiconn::control::law("guarded").unwrap();
    let options = ConnectOptions {
        paths: Some(paths.clone()),
        law: law.clone(),
        down: Some(law),
        most: 5,
        ..relay.options()
    };
    let begins = async || {
        let client = connect(options.clone()).await.unwrap();
        let counts = |client: &evenair_multiconn::Client| {
            let status = &client.status()[0];
            (status.sending.wanted, status.receiving.wanted)
        };
        checked(2, || counts(&client) != (1, 1)).await;
        let begun = Instant::now();
        let are_there = checked(5, || client.status()[0].connections.len() == 5).await;
        (client.known(), counts(&client), are_there.then(|| begun.elapsed()))
    };
    assert_eq!(begins().await, (Known::NOTHING, (1, 1), None), "nothing is known");
    let seen =
        Seen::new(&options.relay, "127.0.0.9:1".parse().unwrap(), evenair_units::Duration::from_micros(60));
    paths.note(&seen, Known { up: 2, down: 7 }).unwrap();
    let (known, counts, are_there) = begins().await;
    assert_eq!((known, counts), (Known { up: 2, down: 5 }, (2, 5)), "no more than there may be");
    assert!(are_there.is_some_and(|after| after < Duration::from_secs(2)), "at once: {are_there:?}");
    // Another round trip, another path.
    let longer = Seen { round_trip_s: 0.05, ..seen };
    paths.note(&longer, Known { up: 2, down: 7 }).unwrap();
    assert_eq!(begins().await.0, Known::NOTHING);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_streams_at_once() {
    let relay = Relay::start().await;
    let client = connect(ConnectOptions { law: fixed(4), ..relay.options() }).await.unwrap();
    let echo = echo().await;
    let mut all = Vec::new();
    for i in 0..1000_usize {
        let client = client.clone();
        all.push(tokio::spawn(async move {
            let bytes = pattern(1000 + 7 * i);
            go(&client, echo, bytes.clone()).await.map(|back| back == bytes)
        }));
    }
    for one in all {
        assert!(within(60, one).await.unwrap().unwrap(), "each has its own bytes back");
    }
    let gone = checked(10, || relay.watcher.memory() == 0).await;
    assert!(gone, "streams that are over have no memory: {}", relay.watcher.memory());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_are_killed_cost_no_byte() {
    let relay = Relay::start().await;
    let between = parts::Between::start(relay.address).await;
    let options = ConnectOptions {
        relay: between.address.to_string(),
        law: fixed(4),
        down: Some(fixed(4)),
        ..relay.options()
    };
    let client = connect(options).await.unwrap();
    let echo = echo().await;
    let bytes = pattern(30 << 20);
    let travels = tokio::spawn({
        let (client, bytes) = (client.clone(), bytes.clone());
        async move { go(&client, echo, bytes).await }
    });
    for i in 0..12 {
        tokio::time::sleep(Duration::from_millis(150)).await;
        between.kill(i);
    }
    let back = within(90, travels).await.unwrap().unwrap();
    assert!(back == bytes, "every byte once and in order");
    assert!(client.status()[0].lost >= 3, "connections were lost: {:?}", client.status()[0].lost);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_black_hole_holds_nobody_up_for_long() {
    let relay = Relay::start().await;
    let between = parts::Between::start(relay.address).await;
    let options = ConnectOptions {
        relay: between.address.to_string(),
        law: fixed(3),
        down: Some(fixed(3)),
        ..relay.options()
    };
    let client = connect(options).await.unwrap();
    let echo = echo().await;
    assert!(checked(10, || client.status()[0].connections.len() >= 3).await);
    let bytes = pattern(20 << 20);
    let travels = tokio::spawn({
        let (client, bytes) = (client.clone(), bytes.clone());
        async move { go(&client, echo, bytes).await }
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    between.swallow(0);
    let begun = Instant::now();
    let back = within(60, travels).await.unwrap().unwrap();
    assert!(back == bytes);
    assert!(begun.elapsed() < Duration::from_secs(15), "it took {:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarted_relay_breaks_streams_with_a_reason() {
    let relay = Relay::start().await;
    let client = connect(relay.options()).await.unwrap();
    let echo = echo().await;
    let mut stream = client.open().await.unwrap();
    stream.write_all(&parts::target(echo).encode()).await.unwrap();
    assert_eq!(stream.read_u8().await.unwrap(), 0);
    let relay = relay.again().await;
    let broken = within(20, stream.read_u8()).await.unwrap_err();
    let why = broken.get_ref().and_then(|why| why.downcast_ref::<Broken>()).copied();
    let is_told = matches!(why, Some(Broken::SessionOver(Closed::Unknown | Closed::Done)));
    assert!(is_told, "{broken}");
    let bytes = pattern(100_000);
    let back = within(30, go(&client, echo, bytes.clone())).await.unwrap();
    assert!(back == bytes);
    drop(relay);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_keys_are_refused_on_both_sides() {
    let relay = Relay::start().await;
    let stranger = ConnectOptions { key: SecretKey::generate(), ..relay.options() };
    assert_eq!(connect(stranger).await.err(), Some(ConnectError::UnknownKey));
    let other = ConnectOptions { relay_keys: vec![SecretKey::generate().public()], ..relay.options() };
    assert_eq!(connect(other).await.err(), Some(ConnectError::OtherRelay));
    let both = vec![SecretKey::generate().public(), relay.key.public()];
    assert!(
        connect(ConnectOptions { relay_keys: both, ..relay.options() }).await.is_ok(),
        "one of two is enough"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_changes_its_key_answers_to_both() {
    let (old, new, me) = (SecretKey::generate(), SecretKey::generate(), SecretKey::generate());
    let who = Authorised::new("test", vec![Entry::new("me", me.public())]).unwrap();
    let mut options = ListenOptions::new("127.0.0.1:0".parse().unwrap(), new.clone(), Source::These(who));
    options.keys.push(old.clone());
    let listener = listen(options).await.unwrap();
    let address = listener.addresses()[0].to_string();
    for key in [&old, &new] {
        assert!(connect(ConnectOptions::new(&address, key.public(), me.clone())).await.is_ok());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn removed_key_loses_its_sessions_in_a_second() {
    let relay = Relay::start().await;
    let client = connect(relay.options()).await.unwrap();
    let echo = echo().await;
    let mut stream = client.open().await.unwrap();
    stream.write_all(&parts::target(echo).encode()).await.unwrap();
    assert_eq!(stream.read_u8().await.unwrap(), 0);
    let other = SecretKey::generate();
    relay.authorise(&[entry("somebody else", &other, "\"*:*\"")]).await;
    let begun = Instant::now();
    let broken = within(5, stream.read_u8()).await.unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert!(broken.to_string().contains("not authorised any more"), "{broken}");
    assert!(checked(3, || relay.watcher.sessions().is_empty()).await);
    let refused = within(30, client.open()).await.err();
    assert!(matches!(refused, Some(ConnectError::UnknownKey)), "{refused:?}");
    // A file with a mistake changes nothing but the status.
    std::fs::write(&relay.authorised, "[[key]]\nname = 1\n").unwrap();
    assert!(checked(3, || relay.watcher.trouble().is_some()).await);
    assert!(connect(ConnectOptions { key: other, ..relay.options() }).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_goes_where_he_may_not() {
    let relay = Relay::start().await;
    let echo = echo().await;
    let rules = format!("\"127.0.0.1:{}\", \"*:*\"", echo.port());
    relay.authorise(&[entry("me", &relay.client_key, &rules)]).await;
    let client = connect(relay.options()).await.unwrap();
    let outcome = async |host: &str, port| {
        let mut stream = client.open().await.unwrap();
        let target = Target { host: Host::parse(host).unwrap(), port };
        stream.write_all(&target.encode()).await.unwrap();
        within(20, stream.read_u8()).await.unwrap()
    };
    assert_eq!(outcome("127.0.0.1", echo.port()).await, 0, "named by its address");
    assert_eq!(outcome("localhost", echo.port()).await, 0, "a name may lead to an address that is named");
    assert_eq!(outcome("127.0.0.1", 22).await, 2);
    assert_eq!(outcome("localhost", 22).await, 2, "a name does not lead into the relay's own networks");
    assert_eq!(outcome("::1", echo.port()).await, 2);
    assert_eq!(outcome("169.254.169.254", 80).await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_holds_up_himself_and_no_memory() {
    let relay = Relay::start().await;
    let client = connect(relay.options()).await.unwrap();
    let (slow, _held) = sink().await;
    let mut stream = client.open().await.unwrap();
    stream.write_all(&parts::target(slow).encode()).await.unwrap();
    assert_eq!(stream.read_u8().await.unwrap(), 0);
    let sends = tokio::spawn(async move {
        let batch = vec![1; 1 << 20];
        let mut sent = 0_u64;
        while tokio::time::timeout(Duration::from_secs(2), stream.write_all(&batch))
            .await
            .is_ok_and(|done| done.is_ok())
        {
            sent += batch.len() as u64;
        }
        (stream, sent)
    });
    let echo = echo().await;
    let bytes = pattern(2 << 20);
    let back = within(30, go(&client, echo, bytes.clone())).await.unwrap();
    assert!(back == bytes, "the other stream goes on");
    let (_stream, sent) = within(60, sends).await.unwrap();
    assert!(sent < 64 << 20, "windows and sockets take {sent} bytes and no more");
    assert!(relay.watcher.memory() < 40 << 20, "{}", relay.watcher.memory());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_closed_is_half_open() {
    let relay = Relay::start().await;
    let client = connect(relay.options()).await.unwrap();
    let answer = parts::after_the_end().await;
    let mut stream = client.open().await.unwrap();
    stream.write_all(&parts::target(answer).encode()).await.unwrap();
    assert_eq!(stream.read_u8().await.unwrap(), 0);
    stream.write_all(b"12345").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut heard = String::new();
    within(10, stream.read_to_string(&mut heard)).await.unwrap();
    assert_eq!(heard, "5 bytes, and then the end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reset_is_a_reset_at_the_other_end() {
    let relay = Relay::start().await;
    let client = connect(relay.options()).await.unwrap();
    let (resets, seen) = parts::who_sees_the_reset().await;
    let mut stream = client.open().await.unwrap();
    stream.write_all(&parts::target(resets).encode()).await.unwrap();
    assert_eq!(stream.read_u8().await.unwrap(), 0);
    stream.write_all(b"x").await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    stream.reset(Broken::Aborted);
    assert_eq!(within(10, seen).await.unwrap(), std::io::ErrorKind::ConnectionReset);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_open_floods_leave_nothing() {
    let relay = Relay::start().await;
    let mut flood = Vec::new();
    for _ in 0..300 {
        if let Ok(Ok(socket)) =
            tokio::time::timeout(Duration::from_secs(1), TcpStream::connect(relay.address)).await
        {
            flood.push(socket);
        }
    }
    assert!(
        relay.watcher.handshakes() <= 32,
        "from one address no more than that: {}",
        relay.watcher.handshakes()
    );
    // Bytes that are not TLS get no answer but an alert.
    let mut other = flood.pop().unwrap();
    let _ = other.write_all(b"GET / HTTP/1.1\r\n\r\n").await;
    let mut answer = Vec::new();
    let _ = within(7, other.read_to_end(&mut answer)).await;
    assert!(answer.len() <= 7, "an alert is 7 bytes: {answer:?}");
    let gone = checked(7, || relay.watcher.handshakes() == 0).await;
    assert!(gone, "nothing is left after its time: {}", relay.watcher.handshakes());
    drop(flood);
    assert!(connect(relay.options()).await.is_ok(), "who is known comes in again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_tenant_neither_sees_nor_starves_another() {
    let relay = Relay::start().await;
    let (anna, ben) = (SecretKey::generate(), SecretKey::generate());
    let few = "streams = 20\nmemory_mb = 1024\n";
    relay
        .authorise(&[
            format!("{}{few}", entry("anna", &anna, "\"127.0.0.0/8:*\"")),
            entry("ben", &ben, "\"127.0.0.0/8:*\""),
        ])
        .await;
    let greedy = connect(ConnectOptions { key: anna, ..relay.options() }).await.unwrap();
    let (slow, _held) = sink().await;
    let mut held = Vec::new();
    loop {
        match greedy.open().await {
            Err(ConnectError::Open(OpenError::TooMany)) => break,
            Ok(mut stream) => {
                stream.write_all(&parts::target(slow).encode()).await.unwrap();
                held.push(tokio::spawn(async move {
                    let batch = vec![1; 1 << 20];
                    while stream.write_all(&batch).await.is_ok() {}
                }));
            }
            Err(other) => panic!("{other}"),
        }
        assert!(held.len() <= 20, "no more than the key's own");
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(relay.watcher.memory() <= 512 << 20, "half of all is the other's: {}", relay.watcher.memory());
    let quiet = connect(ConnectOptions { key: ben, ..relay.options() }).await.unwrap();
    let bytes = pattern(5 << 20);
    let back = within(30, go(&quiet, echo().await, bytes.clone())).await.unwrap();
    assert_eq!(digest(&back), digest(&bytes));
    held.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_that_come_and_go_leave_nothing() {
    let relay = Relay::start().await;
    let client = connect(relay.options()).await.unwrap();
    let echo = echo().await;
    for round in 0..50 {
        let mut all = Vec::new();
        for i in 0..100_usize {
            let client = client.clone();
            all.push(tokio::spawn(async move { go(&client, echo, pattern(i + 1)).await }));
        }
        for (i, one) in all.into_iter().enumerate() {
            let back = within(60, one).await.unwrap().unwrap();
            assert!(back == pattern(i + 1), "round {round}, stream {i}");
        }
    }
    assert!(checked(10, || relay.watcher.memory() == 0).await, "{}", relay.watcher.memory());
    assert!(checked(10, || client.status()[0].streams == 0).await);
    assert_eq!(client.status()[0].streams_so_far, 5000);
}

/// Sends bytes to a server and back; returns the time taken.
async fn there_and_back(client: &evenair_multiconn::Client, bytes: usize) -> Duration {
    let (echo, bytes, begun) = (echo().await, pattern(bytes), Instant::now());
    let back = within(60, go(client, echo, bytes.clone())).await.unwrap();
    assert!(back == bytes);
    begun.elapsed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_sends_no_faster_than_it_may() {
    let relay = Relay::start().await;
    let rate_most = Some(evenair_units::Rate::from_kbps(8000));
    let client = connect(ConnectOptions { law: fixed(3), rate_most, ..relay.options() }).await.unwrap();
    // A megabyte a second, and 50 kB at once.
    let took = there_and_back(&client, 1_000_000).await;
    assert!(took >= Duration::from_millis(930), "{took:?}");
    assert_eq!(client.status()[0].sending.rate_most_bps, Some(8_000_000));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn key_is_sent_at_most_at_its_tables_rate() {
    let relay = Relay::start().await;
    let table = entry("me", &relay.client_key, "\"127.0.0.0/8:*\"");
    relay.authorise(&[format!("{table}rate_most = \"8 Mbps\"\n")]).await;
    let options = || ConnectOptions { law: fixed(2), down: Some(fixed(2)), ..relay.options() };
    let (one, other) = (connect(options()).await.unwrap(), connect(options()).await.unwrap());
    let begun = Instant::now();
    tokio::join!(there_and_back(&one, 500_000), there_and_back(&other, 500_000));
    assert!(begun.elapsed() >= Duration::from_millis(930), "both together: {:?}", begun.elapsed());
    relay.authorise(&[table]).await;
    let free = checked(10, || {
        relay.watcher.sessions().iter().all(|session| session.sending.rate_most_bps.is_none())
    })
    .await;
    assert!(free, "the bound is gone with its line");
    there_and_back(&one, 5_000_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn law_rests_while_the_bound_holds_a_stream() {
    let relay = Relay::start().await;
    let rate_most = Some(evenair_units::Rate::from_kbps(400));
    let set = "interval = '1 s'".parse().unwrap();
    let law = evenair_multiconn::control::law_with("guarded", &set).unwrap();
    let client = connect(ConnectOptions { law, rate_most, ..relay.options() }).await.unwrap();
    let sends = tokio::spawn({
        let client = client.clone();
        async move { there_and_back(&client, 1_000_000).await }
    });
    let says = || client.status()[0].sending.law.clone().is_some_and(|law| law.why.contains("rate_most"));
    assert!(checked(15, says).await, "{:?}", client.status()[0].sending);
    sends.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_use_their_laws_congestion_control() {
    let own = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap();
    let fair = || evenair_multiconn::control::law("rtt-proportional").unwrap();
    let relay = Relay::start().await;
    for (law, down, expected) in
        [(fixed(3), fair(), ("cubic", "reno")), (fair(), fixed(3), ("reno", own.trim()))]
    {
        let congestion = Some("cubic".into());
        let options = ConnectOptions { law, down: Some(down), congestion, ..relay.options() };
        let client = connect(options).await.unwrap();
        there_and_back(&client, 100_000).await;
        assert!(checked(10, || client.status()[0].connections.len() >= 2).await, "joined ones, too");
        let there = relay.watcher.sessions();
        // On a busy machine a session may be left without a connection if its client dialled again.
        let there = there.iter().filter(|session| !session.connections.is_empty());
        let there = there.max_by_key(|session| session.number).unwrap();
        for (side, wanted) in [(&client.status()[0], expected.0), (there, expected.1)] {
            let over = side.connections.iter().map(|one| one.congestion_control.as_deref());
            assert!(over.clone().count() > 0 && over.clone().all(|name| name == Some(wanted)), "{side:?}");
        }
    }
    let (known, any) = (Source::File(relay.authorised.clone()), "127.0.0.1:0".parse().unwrap());
    let mut options = ListenOptions::new(any, relay.key.clone(), known);
    options.congestion = Some("cubique".into());
    let refused = listen(options).await.unwrap_err().to_string();
    assert!(refused.contains("this kernel has no \"cubique\"; it has "), "{refused}");
}
