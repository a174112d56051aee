//! A server of the playground's files on loopback: HTTP/1.1, GET alone, a response a connection. A library would bring an
//! asynchronous runtime for fifteen files that do not change.

use super::files::{PAGE, SIMULATOR};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The largest request \[bytes\].
const REQUEST_MAX: usize = 8192;
/// The time in which a request must come and a response must go.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The most connections at once.
const CONNECTIONS_MAX: usize = 32;
/// The page loads and runs its own files and nothing else. Bars have their widths in attributes.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; style-src 'self'; \
    style-src-attr 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The server, which listens.
#[derive(Debug)]
pub(super) struct Server {
    listener: TcpListener,
    address: SocketAddr,
    scenario: Option<Arc<str>>,
}

impl Server {
    /// Listens on a free port of 127.0.0.1; `scenario` is the text of `scenario.toml`.
    pub(super) fn bind(scenario: Option<String>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        Ok(Self { address: listener.local_addr()?, listener, scenario: scenario.map(Arc::from) })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until the process ends.
    pub(super) fn serve(&self) {
        static OPEN: AtomicUsize = AtomicUsize::new(0);
        for stream in self.listener.incoming().flatten() {
            if OPEN.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS_MAX {
                OPEN.fetch_sub(1, Ordering::Relaxed);
                continue; // closed: the browser tries again
            }
            let scenario = self.scenario.clone();
            std::thread::spawn(move || {
                let _ = answer(stream, scenario.as_deref());
                OPEN.fetch_sub(1, Ordering::Relaxed);
            });
        }
    }
}

/// Reads a request and writes its response.
fn answer(mut stream: TcpStream, scenario: Option<&str>) -> io::Result<()> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let mut request = Vec::new();
    let mut part = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut part)? {
            0 => return Ok(()),
            _ if request.len() > REQUEST_MAX => return Ok(()),
            read => request.extend(&part[..read]),
        }
    }
    stream.write_all(&response(&String::from_utf8_lossy(&request), scenario))
}

/// The response to a request.
fn response(request: &str, scenario: Option<&str>) -> Vec<u8> {
    const PLAIN: &str = "text/plain; charset=utf-8";
    let mut words = request.split([' ', '\r', '\n']);
    let (verb, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if !is_for_loopback(request) {
        return written("403 Forbidden", PLAIN, b"only by the name of loopback\n");
    }
    if verb != "GET" {
        return written("405 Method Not Allowed\r\nAllow: GET", PLAIN, b"only GET\n");
    }
    let path = target.split('?').next().unwrap_or_default().trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    if let Some(text) = scenario.filter(|_| path == "scenario.toml") {
        return written("200 OK", PLAIN, text.as_bytes());
    }
    match PAGE.iter().chain([&SIMULATOR]).find(|(name, ..)| *name == path) {
        Some((_, kind, content)) => written("200 OK", kind, content),
        None => written("404 Not Found", PLAIN, b"the page is at /\n"),
    }
}

/// Whether a request names loopback as its host: a foreign page may reach this server by a name that resolves to it.
fn is_for_loopback(request: &str) -> bool {
    let named = |line: &str| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim().to_string())
    };
    let hosts: Vec<String> = request.lines().skip(1).filter_map(named).collect();
    let [host] = &hosts[..] else { return false };
    let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn written(status: &str, kind: &str, content: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nContent-Security-Policy: {POLICY}\r\n\
         X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
        content.len()
    );
    [head.as_bytes(), content].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(request: &str, scenario: Option<&str>) -> String {
        let response = response(request, scenario);
        String::from_utf8_lossy(&response[..12]).into_owned()
    }

    #[test]
    fn files_are_served_to_loopback_alone() {
        let get = |path: &str, host: &str| format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        for path in ["/", "/index.html", "/app.js?x", "/evenair.wasm"] {
            assert_eq!(status(&get(path, "127.0.0.1:8000"), None), "HTTP/1.1 200", "{path}");
        }
        assert_eq!(status(&get("/", "localhost"), None), "HTTP/1.1 200");
        assert_eq!(status(&get("/../Cargo.toml", "localhost"), None), "HTTP/1.1 404");
        assert_eq!(status(&get("/", "example.org"), None), "HTTP/1.1 403");
        assert_eq!(status("GET / HTTP/1.1\r\n\r\n", None), "HTTP/1.1 403");
        assert_eq!(status("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", None), "HTTP/1.1 405");
        assert_eq!(status(&get("/scenario.toml", "localhost"), None), "HTTP/1.1 404");
        assert_eq!(status(&get("/scenario.toml", "localhost"), Some("a = 1")), "HTTP/1.1 200");
    }

    #[test]
    fn a_browser_gets_a_whole_response() {
        let server = Server::bind(None).unwrap();
        let address = server.address();
        assert!(address.ip().is_loopback());
        std::thread::spawn(move || server.serve());
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.contains("Content-Security-Policy") && text.ends_with("</html>\n"), "{text}");
    }
}
