//! Bytes on a SOCKS5 port that are not SOCKS5, and probes without answers: the operator gets the remedy.
#![cfg(target_os = "linux")]

mod parts;

use evenair_multiconn::forward::{Forward, Open, Report};
use evenair_multiconn::notice::{Notice, Words};
use evenair_multiconn::target::{DISCARD, Outcome};
use evenair_multiconn::{ConnectOptions, connect};
use parts::{Relay, checked, within};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Returns a SOCKS5 port, and its notices.
async fn port(relay: &Relay) -> (SocketAddr, Arc<Mutex<Vec<Notice>>>) {
    let client = connect(relay.options()).await.unwrap();
    let open = Open::new(&"socks5://0".parse::<Forward>().unwrap()).await.unwrap();
    let (address, told) = (open.address().unwrap(), Arc::<Mutex<Vec<Notice>>>::default());
    let hears = Arc::clone(&told);
    tokio::spawn(open.serve(client, move |report: &Report<'_>| {
        if let Report::Port(notice) = report {
            hears.lock().unwrap().push(*notice);
        }
    }));
    (address, told)
}

/// Sends bytes, and reads the answer until the other end closes.
async fn say(port: SocketAddr, words: &[u8]) -> Vec<u8> {
    let mut socket = TcpStream::connect(port).await.unwrap();
    socket.write_all(words).await.unwrap();
    let mut back = Vec::new();
    // Unread bytes reset the connection: that is an end, too.
    let _ = within(10, socket.read_to_end(&mut back)).await;
    back
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_socks5_is_told() {
    let relay = Relay::start().await;
    let (port, told) = port(&relay).await;
    let cases: [(&[u8], &[u8], Option<Words>); 7] = [
        (b"GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n", b"", Some(Words::Http)),
        (b"CONNECT example.org:443 HTTP/1.1\r\n\r\n", b"", Some(Words::Http)),
        // SOCKS4: version, CONNECT, port 80, 192.0.2.2, no user.
        (&[4, 1, 0, 80, 192, 0, 2, 2, 0], b"", Some(Words::Socks4)),
        (&[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3], b"", Some(Words::Tls)),
        // RFC 1928 §3: only user and password are offered; none is acceptable.
        (&[5, 1, 2], &[5, 0xff], Some(Words::Login)),
        // RFC 1928 §4: UDP ASSOCIATE is refused by 7.
        (
            &[5, 1, 0, 5, 3, 0, 1, 0, 0, 0, 0, 0, 0],
            &[5, 0, 5, 7, 0, 1, 0, 0, 0, 0, 0, 0],
            Some(Words::Unsupported),
        ),
        // A port that is only probed: there is no notice.
        (b"", b"", None),
    ];
    for (words, answer, notice) in cases {
        told.lock().unwrap().clear();
        if words.is_empty() {
            drop(TcpStream::connect(port).await.unwrap());
            tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        } else {
            assert_eq!(say(port, words).await, answer, "{words:?}");
            assert!(checked(5, || !told.lock().unwrap().is_empty()).await, "{words:?}");
        }
        let expected: Vec<_> = notice.map(|words| Notice::Words(port, words)).into_iter().collect();
        assert_eq!(*told.lock().unwrap(), expected, "{words:?}");
    }
}

/// The relay's connections arrive by another port, at which no socket receives datagrams.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn probes_without_an_answer_are_told() {
    let relay = Relay::start().await;
    let before = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, behind) = (before.local_addr().unwrap(), relay.address);
    tokio::spawn(async move {
        while let Ok((mut near, _)) = before.accept().await {
            tokio::spawn(async move {
                let mut far = TcpStream::connect(behind).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
    let client = connect(ConnectOptions { relay: address.to_string(), ..relay.options() }).await.unwrap();
    assert_eq!(client.silence(), None);
    let mut stream = client.open().await.unwrap();
    stream.write_all(&DISCARD.encode()).await.unwrap();
    assert_eq!(stream.read_u8().await.unwrap(), Outcome::Connected.code());
    // A law wants probes while there is data to send.
    let batch = vec![0; 64 << 10];
    let writes = async { while stream.write_all(&batch).await.is_ok() {} };
    let is_told = tokio::select! {
        () = writes => false,
        is_told = checked(30, || client.silence().is_some()) => is_told,
    };
    assert!(is_told, "no probe is answered");
    let said = client.silence().unwrap();
    assert!(
        said.contains(&address.to_string()) && said.contains("UDP") && said.contains("--no-probes"),
        "{said}"
    );
}
