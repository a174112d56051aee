//! Requests to the page from a browser and from hostile clients.

use super::*;
use crate::Side;
use crate::config::Mode;
use crate::status::{ClassStatus, Standing, tests::class};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

/// Returns a status with hostile names.
pub(crate) fn status() -> Status {
    let evil = ClassStatus {
        id: "a\"}\n\\".into(),
        name: "<script>alert('x')</script>\u{202e}\u{9b}".into(),
        ..class(Side::Down, Standing::Share)
    };
    Status {
        schema: 1,
        at_ms: 1_700_000_000_500,
        epochs: 7,
        epoch_s: 10.0,
        mode: Mode::Enforce,
        is_paused: false,
        is_blind: false,
        confirm_by_ms: None,
        law: "pfrc".into(),
        decision: "hold: converged".into(),
        total_bps: None,
        fairness: Some(0.99),
        strangers: 2,
        troubles: vec!["<b>".into()],
        classes: vec![evil],
    }
}

/// Returns an account of two epochs.
pub(super) fn account() -> Account {
    let mut account = Account::default();
    account.hear(Status { epochs: 6, ..status() });
    account.hear(status());
    account
}

fn ask(head: &str) -> String {
    wanted(head).map_or_else(|refused| refused, |path| content(path, &account()))
}

#[test]
fn names_are_text_and_nothing_else() {
    let page = ask("GET / HTTP/1.1\r\nHost: localhost:9180\r\n");
    assert!(
        page.starts_with("HTTP/1.1 200 OK") && page.contains("&lt;script&gt;alert(&#39;x&#39;)"),
        "{page}"
    );
    assert!(!page.contains("<script") && !page.contains("<b>") && !page.contains("style=\""), "{page}");
    for text in [&page, &ask("GET /metrics HTTP/1.1\r\nHost: localhost:9180\r\n")] {
        let (_, body) = text.split_once("\r\n\r\n").unwrap();
        let harms = |c: &char| (c.is_control() && *c != '\n') || *c == '\u{202e}';
        assert_eq!(body.chars().find(harms), None, "{body}");
    }
    assert!(page.contains("<svg viewBox=\"0 0 120 20\"") && page.contains("M116 1.0L118 1.0"), "{page}");
}

#[test]
fn page_loads_own_style_and_no_frame() {
    for path in ["/", "/metrics", "/style.css", "/none"] {
        let answer = ask(&format!("GET {path} HTTP/1.1\r\nHost: [::1]:9180\r\n"));
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        for said in [
            "Content-Security-Policy: default-src 'none'; style-src 'self';",
            "frame-ancestors 'none'",
            "X-Content-Type-Options: nosniff",
            "Cross-Origin-Resource-Policy: same-origin",
            "Cache-Control: no-store",
        ] {
            assert!(head.contains(said), "{path}: {head}");
        }
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())));
        assert!(
            !head.contains("unsafe") && !body.contains("http://") && !body.contains("https://"),
            "{path}"
        );
    }
}

#[test]
fn only_get_and_only_by_loopbacks_name() {
    for (head, status) in [
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n", "403"),
        ("GET / HTTP/1.1\r\n", "403"),
        ("GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n", "403"),
        ("GET / HTTP/1.1\r\nHost: localhost.evil.example:9180\r\n", "403"),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n", "403"),
        ("GET / HTTP/1.1\r\nHost: localhost@evil.example\r\n", "403"),
        ("GET / HTTP/1.1\r\nHost: 127.9.9.9\r\n", "200"),
        ("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n", "405"),
        ("HEAD / HTTP/1.1\r\nHost: 127.0.0.1\r\n", "405"),
        ("GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1\r\n", "404"),
        ("GET /../etc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\n", "404"),
        ("", "403"),
    ] {
        assert!(ask(head).starts_with(&format!("HTTP/1.1 {status}")), "{head}");
    }
    assert!(Page::open("0.0.0.0:0".parse().unwrap()).is_err());
}

/// Opens a page on a free port; returns it with its address.
fn open() -> (Page, SocketAddr) {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    (Page::open(free).unwrap(), free)
}

fn get(at: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {at}\r\n\r\n").as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn slow_client_delays_no_other() {
    let (page, at) = open();
    assert!(get(at, "/").contains("No epoch has passed yet"));
    page.show(status());
    assert!(get(at, "/metrics").contains("\nevenair_gateway_fairness_ratio 0.99\n"));
    // Silent and slow clients, more than there are places.
    let silent: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(at).unwrap()).collect();
    silent.iter().for_each(|mut slow| slow.write_all(b"x").unwrap_or_default());
    let begun = Instant::now();
    assert!(get(at, "/").contains("Holds everyone to a fair share"));
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    // Clients that send without end, or nothing, or do not read, delay no other either.
    let mut flood = TcpStream::connect(at).unwrap();
    let _ = flood.write_all(&vec![b'x'; 100_000]);
    drop(TcpStream::connect(at).unwrap());
    let mut deaf = TcpStream::connect(at).unwrap();
    write!(deaf, "GET / HTTP/1.1\r\nHost: {at}\r\n\r\n").unwrap();
    assert!(get(at, "/style.css").contains("prefers-color-scheme: dark"));
    // A published status is rendered once.
    page.show(Status { fairness: Some(0.5), ..status() });
    assert!(get(at, "/metrics").contains("\nevenair_gateway_fairness_ratio 0.5\n"));
}

/// The thread that parses strangers' requests has no privileges.
#[test]
fn the_pages_thread_may_do_nothing_else() {
    let (_page, _) = open();
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let confined = threads.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("status")).ok());
    let confined: Vec<String> = confined.filter(|status| status.contains("Seccomp:\t2")).collect();
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        assert!(!confined.is_empty());
    }
    for status in confined {
        assert!(
            status.contains("CapEff:\t0000000000000000") && status.contains("NoNewPrivs:\t1"),
            "{status}"
        );
        assert!(status.contains("CapPrm:\t0000000000000000"), "{status}");
    }
}
