//! A client at its limit of descriptors: a separate process, since the limit is the process's.
#![cfg(target_os = "linux")]

mod parts;

use evenair_multiconn::connect;
use evenair_multiconn::forward::{Forward, Open, Report};
use evenair_multiconn::notice::Notice;
use parts::{Relay, checked};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::fs::File;
use std::sync::{Arc, Mutex};
use tokio::net::TcpSocket;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_descriptor_for_who_connects_is_told() {
    let relay = Relay::start().await;
    let client = connect(relay.options()).await.unwrap();
    let open = Open::new(&"socks5://0".parse::<Forward>().unwrap()).await.unwrap();
    let (port, told) = (open.address().unwrap(), Arc::<Mutex<Vec<Notice>>>::default());
    let hears = Arc::clone(&told);
    tokio::spawn(open.serve(client, move |report: &Report<'_>| {
        if let Report::Port(notice) = report {
            hears.lock().unwrap().push(*notice);
        }
    }));
    // Sockets get their descriptors before all others are taken; several connect, since a descriptor that is
    // closed in between frees one.
    let sockets: Vec<TcpSocket> = std::iter::repeat_with(|| TcpSocket::new_v4().unwrap()).take(8).collect();
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = Some(256);
    setrlimit(Resource::Nofile, limit).unwrap();
    let held: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    let mut waits = Vec::new();
    for socket in sockets {
        waits.push(socket.connect(port).await.unwrap());
    }
    assert!(checked(10, || !told.lock().unwrap().is_empty()).await);
    let notice = told.lock().unwrap()[0];
    let said = notice.to_string();
    assert!(
        matches!(notice, Notice::Descriptors(at, error) if at == port && error == 24),
        "EMFILE: {notice:?}"
    );
    assert!(said.contains("ulimit -n") && said.contains("at most 256"), "{said}");
    assert!(notice.kind() == told.lock().unwrap().last().unwrap().kind(), "of one kind, said once a minute");
    drop((held, waits));
}
