//! The loopback server: a page for people and metrics for Prometheus. It answers only GET, and only if
//! the host is a loopback name; it changes nothing. `evenair_linux::server` runs its thread.

mod account;
mod html;
mod metrics;

use crate::kernel::Failure;
use crate::status::Status;
use account::Account;
use evenair_linux::server::{Limits, Owner, Service, Text, Thread};
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// Bounds of the clients. TCP does not identify the user of a connection, so all clients count as one
/// user.
const LIMITS: Limits = Limits {
    trusted: 0,
    others: 64,
    per_user: 64,
    requests: 200,
    request_bytes: 8192,
    time: Duration::from_secs(2),
};

/// The loop's end of the page; its content is replaced after each epoch.
#[derive(Clone, Debug, Default)]
pub struct Page {
    shown: Arc<Mutex<Arc<Account>>>,
}

impl Page {
    /// Opens the page, on a thread of its own that ends with the process.
    ///
    /// # Errors
    /// If the address is not a loopback address, or taken, or the thread cannot drop its privileges.
    pub fn open(at: SocketAddr) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::new(format!("page = \"{at}\""), error);
        if !at.ip().is_loopback() {
            return Err(Failure::new(at.to_string(), "only loopback"));
        }
        let listener = TcpListener::bind(at).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let page = Self::default();
        let desk = Desk { page: page.clone(), rendered: (Weak::new(), BTreeMap::new()) };
        Thread::start(listener.into(), LIMITS, desk).map(|_| page).map_err(failed)
    }

    /// Publishes a status.
    pub fn show(&self, status: Status) {
        // An account is copied only while it is being rendered: the loop waits for no reader.
        Arc::make_mut(&mut self.account()).hear(status);
    }

    fn account(&self) -> std::sync::MutexGuard<'_, Arc<Account>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread's end of the page.
struct Desk {
    page: Page,
    /// Rendered answers of an account, by their paths.
    rendered: (Weak<Account>, BTreeMap<&'static str, Text>),
}

impl Service for Desk {
    fn owner(&self, _stream: BorrowedFd<'_>) -> io::Result<Owner> {
        Ok(Owner { user: 0, is_trusted: false })
    }

    fn is_whole(&self, text: &[u8]) -> bool {
        text.windows(4).any(|end| end == b"\r\n\r\n")
    }

    fn answer(&mut self, _id: u64, _owner: Owner, head: &[u8]) -> Option<Text> {
        let account = Arc::clone(&self.page.account());
        let (of, rendered) = &mut self.rendered;
        if of.as_ptr() != Arc::as_ptr(&account) {
            rendered.clear();
            *of = Arc::downgrade(&account);
        }
        let head = String::from_utf8_lossy(head);
        Some(match wanted(&head) {
            Ok(path) => Arc::clone(
                rendered.entry(path).or_insert_with(|| content(path, &account).into_bytes().into()),
            ),
            Err(refused) => refused.into_bytes().into(),
        })
    }

    fn too_often(&self) -> Text {
        response("503 Service Unavailable", PLAIN, "too many requests; ask again later\n").into_bytes().into()
    }
}

const PLAIN: &str = "text/plain; charset=utf-8";

/// Returns the path that a request names, or the error response.
fn wanted(head: &str) -> Result<&'static str, String> {
    let mut lines = head.lines();
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (verb, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut hosts =
        lines.filter_map(|line| line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("host")));
    let (host, others) = (hosts.next(), hosts.count());
    let host = host.filter(|_| others == 0).map(|(_, host)| host.trim()).unwrap_or_default();
    match (verb, PATHS.into_iter().find(|known| *known == path)) {
        // Rejects a foreign page that reaches this server by a name that resolves to loopback.
        _ if !is_loopback(host) => Err(response("403 Forbidden", PLAIN, "only by the name of loopback\n")),
        ("GET", Some(path)) => Ok(path),
        ("GET", None) => Err(response("404 Not Found", PLAIN, "there are / and /metrics\n")),
        _ => Err(response("405 Method Not Allowed\r\nAllow: GET", PLAIN, "only GET\n")),
    }
}

const PATHS: [&str; 3] = ["/", "/metrics", "/style.css"];

/// Returns the response for one of the paths.
fn content(path: &str, account: &Account) -> String {
    match path {
        "/metrics" => response("200 OK", "text/plain; version=0.0.4; charset=utf-8", &metrics::text(account)),
        "/style.css" => response("200 OK", "text/css; charset=utf-8", html::STYLE),
        _ => response("200 OK", "text/html; charset=utf-8", &html::page(account)),
    }
}

/// Returns whether a host is loopback, with or without its port.
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
pub(crate) mod tests;
