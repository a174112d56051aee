//! What is to be seen on loopback: a page for people, metrics for Prometheus. It answers GET alone, to those who name loopback as their host, and
//! it can change nothing.

use crate::kernel::Failure;
use crate::status::{ClassStatus, Status, rate};
use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The longest request \[bytes\], and how long a client may take to say it.
const REQUEST_MAX: u64 = 8192;
const PATIENCE: Duration = Duration::from_secs(2);

/// The page's end: what it shows is put there after each epoch.
#[derive(Clone, Debug, Default)]
pub struct Page {
    shown: Arc<Mutex<Option<Status>>>,
}

impl Page {
    /// Opens the page, on a thread of its own that ends with the process.
    ///
    /// # Errors
    /// If the address is not loopback's, or taken.
    pub fn open(at: SocketAddr) -> Result<Self, Failure> {
        if !at.ip().is_loopback() {
            return Err(Failure::new(at.to_string(), "only loopback"));
        }
        let listener = TcpListener::bind(at).map_err(|error| Failure::new(at.to_string(), error))?;
        let page = Self::default();
        let shown = page.clone();
        thread::spawn(move || {
            // One after the other: whoever is slow is left after two seconds.
            for stream in listener.incoming().flatten() {
                let _ = shown.serve(&stream);
            }
        });
        Ok(page)
    }

    /// What is shown from now on.
    pub fn show(&self, status: Status) {
        *self.shown.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(status);
    }

    fn serve(&self, mut stream: &TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut reader = BufReader::new(stream.take(REQUEST_MAX));
        let (mut head, mut line) = (String::new(), String::new());
        while reader.read_line(&mut line)? > 2 {
            head += &line;
            line.clear();
        }
        let shown = self.shown.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        stream.write_all(answer(&head, shown.as_ref()).as_bytes())
    }
}

/// The answer to a request.
fn answer(head: &str, status: Option<&Status>) -> String {
    let mut lines = head.lines();
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (verb, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let host =
        lines.find_map(|line| line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("host")));
    let host = host.map(|(_, host)| host.trim()).unwrap_or_default();
    let plain = "text/plain; charset=utf-8";
    match (verb, path) {
        // A page of somebody else's that has a name lead here is no reader.
        _ if !is_loopback(host) => response("403 Forbidden", plain, "only by the name of loopback\n"),
        ("GET", "/") => response("200 OK", "text/html; charset=utf-8", &html(status)),
        ("GET", "/metrics") => response("200 OK", "text/plain; version=0.0.4", &metrics(status)),
        ("GET", "/style.css") => response("200 OK", "text/css", STYLE),
        ("GET", _) => response("404 Not Found", plain, "there are / and /metrics\n"),
        _ => response("405 Method Not Allowed", plain, "only GET\n"),
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
    let policy =
        "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n\
        Content-Security-Policy: {policy}\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\r\n{body}",
        body.len()
    )
}

/// A text as it stands in HTML, or in a value between quotes.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            c => escaped.push(c),
        }
    }
    escaped
}

const STYLE: &str = ":root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:auto;padding:1rem}\
    table{border-collapse:collapse;width:100%}th,td{text-align:right;padding:.25rem .5rem;border-bottom:1px solid #8886}\
    th:first-child,td:first-child{text-align:left}meter{width:6rem}.trouble{border-left:.25rem solid #c33;padding-left:.5rem}\
    @media(max-width:40rem){th:nth-child(n+6),td:nth-child(n+6),meter{display:none}}";

fn html(status: Option<&Status>) -> String {
    let mut page = String::from(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
        <meta http-equiv=\"refresh\" content=\"5\"><title>evenair gateway</title><link rel=\"stylesheet\" href=\"/style.css\">\
        <h1>Gateway</h1>",
    );
    let Some(status) = status else { return page + "<p>No epoch has passed yet." };
    let mode = match status.mode {
        _ if status.is_paused => "paused: the limits are open",
        _ if status.is_blind => "nothing is to be read: the limits are open",
        crate::config::Mode::Enforce => "holds everyone to a fair share",
        _ => "watches, and limits nobody",
    };
    let _ = write!(page, "<p>{}: {mode}. {}.", escaped(&status.law), escaped(&status.decision));
    if let Some(fairness) = status.fairness {
        let _ = write!(page, " Jain's index {fairness:.2}.");
    }
    status.troubles.iter().for_each(|trouble| {
        let _ = write!(page, "<p class=\"trouble\">{}", escaped(trouble));
    });
    page += "<table><thead><tr><th>Subscriber<th>Way<th>Rate<th>Limit<th>Bound by<th>Busy<th>Waits<th>Dropped<tbody>";
    status.classes.iter().for_each(|class| row(class, &mut page));
    page + "</table>"
}

fn row(class: &ClassStatus, page: &mut String) {
    let got = class.rate_bps.unwrap_or_default();
    let limit = class.limit_bps.map_or("–".into(), |limit| rate(limit as f64));
    let bar = class
        .limit_bps
        .map(|limit| format!("<meter max=\"{limit}\" value=\"{got:.0}\"></meter> "))
        .unwrap_or_default();
    let busy = class.busy.map_or("–".into(), |busy| format!("{:.0} %", 100.0 * busy));
    let _ = write!(
        page,
        "<tr><td>{}<td>{}<td>{bar}{}<td>{limit}<td>{}<td>{busy}<td>{:.0} %<td>{}",
        escaped(&class.name),
        class.side,
        rate(got),
        class.bound(),
        100.0 * class.waits,
        class.dropped
    );
}

/// The status as Prometheus reads it.
fn metrics(status: Option<&Status>) -> String {
    let Some(status) = status else { return String::new() };
    let mut text = String::new();
    let mut all = |name: &str, help: &str, of: &dyn Fn(&ClassStatus) -> Option<f64>| {
        let _ = writeln!(text, "# HELP evenair_{name} {help}\n# TYPE evenair_{name} gauge");
        for class in &status.classes {
            if let Some(value) = of(class) {
                let id = class.id.replace('\\', "\\\\").replace('"', "\\\"");
                let _ = writeln!(
                    text,
                    "evenair_{name}{{subscriber=\"{id}\",direction=\"{}\"}} {value}",
                    class.side
                );
            }
        }
    };
    all("rate_bits_per_second", "Rate in the last epoch.", &|class| class.rate_bps);
    all("limit_bits_per_second", "Limit in the last epoch.", &|class| {
        class.limit_bps.map(|limit| limit as f64)
    });
    all("busy_ratio", "Share of the last epoch with data outstanding beyond the gateway.", &|class| {
        class.busy
    });
    all("waiting_ratio", "Share of looks in the last epoch at which packets waited.", &|class| {
        Some(class.waits)
    });
    all("dropped_packets", "Packets given up in the last epoch.", &|class| Some(class.dropped as f64));
    let one = |name: &str, help: &str, value: f64| {
        format!("# HELP evenair_{name} {help}\n# TYPE evenair_{name} gauge\nevenair_{name} {value}\n")
    };
    let open = f64::from(u8::from(status.is_paused || status.is_blind));
    text += &one("limits_open", "Whether the limits are open.", open);
    text += &one("unknown_addresses", "Addresses that are nobody's.", status.strangers as f64);
    text += &status.fairness.map_or(String::new(), |index| {
        one("fairness_index", "Jain's index of those who want more than they get.", index)
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Side;
    use crate::config::Mode;
    use crate::status::{Standing, tests::class};

    fn status() -> Status {
        let evil = ClassStatus {
            id: "a\"}\n".replace('\n', ""),
            name: "<script>alert('x')</script>".into(),
            ..class(Side::Down, Standing::Share)
        };
        Status {
            schema: 1,
            at_ms: 0,
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

    fn ask(head: &str) -> String {
        answer(head, Some(&status()))
    }

    #[test]
    fn names_are_text_and_nothing_else() {
        let page = ask("GET / HTTP/1.1\r\nHost: localhost:9180\r\n");
        assert!(
            page.starts_with("HTTP/1.1 200 OK") && page.contains("&lt;script&gt;alert(&#39;x&#39;)"),
            "{page}"
        );
        assert!(!page.contains("<script") && !page.contains("<b>") && page.contains("default-src 'none'"));
        let metrics = ask("GET /metrics HTTP/1.1\r\nhost: [::1]:9180\r\n");
        let line = "evenair_rate_bits_per_second{subscriber=\"a\\\"}\",direction=\"down\"} 400000\n";
        assert!(metrics.contains(line) && metrics.contains("evenair_unknown_addresses 2\n"), "{metrics}");
    }

    #[test]
    fn only_get_and_only_by_loopbacks_name() {
        for (head, status) in [
            ("GET / HTTP/1.1\r\nHost: evil.example\r\n", "403"),
            ("GET / HTTP/1.1\r\n", "403"),
            ("GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n", "403"),
            ("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n", "405"),
            ("GET /../etc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\n", "404"),
            ("", "403"),
        ] {
            assert!(ask(head).starts_with(&format!("HTTP/1.1 {status}")), "{head}");
        }
        assert!(Page::open("0.0.0.0:0".parse().unwrap()).is_err());
    }

    #[test]
    fn a_page_that_is_asked_answers() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let page = Page::default();
        page.show(status());
        let asked = thread::spawn(move || {
            let mut stream = TcpStream::connect(at).unwrap();
            stream.write_all(format!("GET /metrics HTTP/1.1\r\nHost: {at}\r\n\r\n").as_bytes()).unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            text
        });
        page.serve(&listener.accept().unwrap().0).unwrap();
        assert!(asked.join().unwrap().contains("evenair_fairness_index 0.99\n"));
    }
}
