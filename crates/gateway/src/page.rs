//! What is to be seen on loopback: a page for people, metrics for Prometheus. It answers GET alone, to those who name loopback as their
//! host, and it can change nothing: the thread that serves it has no capability, opens no file and starts nothing.

mod account;
mod html;
mod metrics;

use crate::kernel::Failure;
use crate::status::Status;
use account::Account;
use evenair_linux::confinement::Confinement;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// The longest request \[bytes\], and how long a client may take to say it, and to take the answer.
const REQUEST_MAX: usize = 8192;
const PATIENCE: Duration = Duration::from_secs(2);

/// The page's end: what it shows is put there after each epoch.
#[derive(Clone, Debug, Default)]
pub struct Page {
    shown: Arc<Mutex<Account>>,
}

impl Page {
    /// Opens the page, on a thread of its own that ends with the process.
    ///
    /// # Errors
    /// If the address is not loopback's, or taken, or the thread cannot give its privileges away.
    pub fn open(at: SocketAddr) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::new(format!("page = \"{at}\""), error);
        if !at.ip().is_loopback() {
            return Err(Failure::new(at.to_string(), "only loopback"));
        }
        let listener = TcpListener::bind(at).map_err(failed)?;
        let page = Self::default();
        let shown = page.clone();
        let (tell, told) = mpsc::sync_channel(1);
        thread::spawn(move || {
            let is_confined = Confinement::default().enter();
            let goes_on = is_confined.is_ok();
            let _ = tell.send(is_confined);
            if goes_on {
                // One after the other: whoever is slow is left.
                for stream in listener.incoming().flatten() {
                    let _ = shown.serve(&stream);
                }
            }
        });
        // What the kernel lacks is the same for all threads, and told once.
        let confined = told.recv().unwrap_or_else(|_| Err(io::Error::other("its thread ended")));
        confined.map(|_| page).map_err(failed)
    }

    /// What is shown from now on.
    pub fn show(&self, status: Status) {
        self.account().hear(status);
    }

    fn account(&self) -> std::sync::MutexGuard<'_, Account> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        let head = head(stream)?;
        let answer = answer(&head, &self.account());
        write(stream, answer.as_bytes())
    }
}

/// What is left of somebody's time.
fn left(begun: Instant) -> io::Result<Option<Duration>> {
    let left = PATIENCE.checked_sub(begun.elapsed()).filter(|left| !left.is_zero());
    left.map(Some).ok_or_else(|| io::ErrorKind::TimedOut.into())
}

/// The head of a request.
fn head(mut stream: &TcpStream) -> io::Result<String> {
    let (begun, mut head, mut piece) = (Instant::now(), Vec::new(), [0; 1024]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        // A byte now and then does not hold the others up for longer.
        stream.set_read_timeout(left(begun)?)?;
        let length = stream.read(&mut piece)?;
        head.extend_from_slice(&piece[..length]);
        if length == 0 {
            break;
        }
        if head.len() > REQUEST_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

fn write(mut stream: &TcpStream, mut answer: &[u8]) -> io::Result<()> {
    let begun = Instant::now();
    while !answer.is_empty() {
        stream.set_write_timeout(left(begun)?)?;
        match stream.write(answer)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            length => answer = &answer[length..],
        }
    }
    Ok(())
}

/// The answer to a request.
fn answer(head: &str, account: &Account) -> String {
    let mut lines = head.lines();
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (verb, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut hosts =
        lines.filter_map(|line| line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("host")));
    let (host, others) = (hosts.next(), hosts.count());
    let host = host.filter(|_| others == 0).map(|(_, host)| host.trim()).unwrap_or_default();
    let plain = "text/plain; charset=utf-8";
    match (verb, path) {
        // A page of somebody else's that has a name lead here is no reader.
        _ if !is_loopback(host) => response("403 Forbidden", plain, "only by the name of loopback\n"),
        ("GET", "/") => response("200 OK", "text/html; charset=utf-8", &html::page(account)),
        ("GET", "/metrics") => {
            response("200 OK", "text/plain; version=0.0.4; charset=utf-8", &metrics::text(account))
        }
        ("GET", "/style.css") => response("200 OK", "text/css; charset=utf-8", html::STYLE),
        ("GET", _) => response("404 Not Found", plain, "there are / and /metrics\n"),
        _ => response("405 Method Not Allowed\r\nAllow: GET", plain, "only GET\n"),
    }
}

/// Whether a host is loopback, with or without its port.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|name| name.is_loopback())
}

fn response(status: &str, kind: &str, body: &str) -> String {
    let policy = "default-src 'none'; style-src 'self'; img-src 'none'; frame-ancestors 'none'; base-uri 'none'; \
        form-action 'none'";
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n\
        Content-Security-Policy: {policy}\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n\
        Cross-Origin-Resource-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests;
