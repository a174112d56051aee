//! The client's end of the command: local ports, and the streams of their connections.

use crate::connect::Client;
use crate::frame::Broken;
use crate::notice::{Notice, Words};
use crate::pump::pump;
use crate::session::Stream;
use crate::socks::{self, MESSAGE_MAX, NotSocks, Request};
use crate::target::{Host, Outcome, Target};
use serde::Deserialize;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The time limit of a program's SOCKS5 request.
const WORDS: Duration = Duration::from_secs(30);

/// A local port: `tcp://[BIND:]PORT:HOST:PORT` or `socks5://[BIND:]PORT`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Forward {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The destination of its connections; each connection's SOCKS5 request names it if not given.
    pub target: Option<Target>,
}

impl FromStr for Forward {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "\"{}\" is no forward; write tcp://[BIND:]PORT:HOST:PORT or socks5://[BIND:]PORT, as tcp://8080:example.org:80",
                text.escape_debug()
            )
        };
        let (kind, rest) = text.split_once("://").ok_or_else(wrong)?;
        let parts = parts(rest).ok_or_else(wrong)?;
        let port = |text: &str| text.parse::<u16>().map_err(|_| wrong());
        let address = |bind: &str, at: &str| {
            let bare = bind.trim_start_matches('[').trim_end_matches(']');
            let bind: IpAddr = if bind == "localhost" { LOCAL } else { bare.parse().map_err(|_| wrong())? };
            Ok::<_, String>(SocketAddr::new(bind, port(at)?))
        };
        let target = |host: &str, at: &str| {
            let host = Host::parse(host).ok_or_else(wrong)?;
            match port(at)? {
                0 => Err(wrong()),
                port => Ok(Some(Target { host, port })),
            }
        };
        let (listen, target) = match (kind, parts.as_slice()) {
            ("socks5", [at]) => (SocketAddr::new(LOCAL, port(at)?), None),
            ("socks5", [bind, at]) => (address(bind, at)?, None),
            ("tcp", [at, host, there]) => (SocketAddr::new(LOCAL, port(at)?), target(host, there)?),
            ("tcp", [bind, at, host, there]) => (address(bind, at)?, target(host, there)?),
            _ => return Err(wrong()),
        };
        Ok(Self { listen, target })
    }
}

const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Splits at colons, but not within brackets.
fn parts(text: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let end = match rest.strip_prefix('[') {
            Some(inner) => inner.find(']')? + 2,
            None => rest.find(':').unwrap_or(rest.len()),
        };
        parts.push(&rest[..end]);
        match &rest[end..] {
            "" => return Some(parts),
            more => rest = more.strip_prefix(':')?,
        }
    }
}

impl TryFrom<String> for Forward {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for Forward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            Some(target) => write!(f, "tcp://{}:{target}", self.listen),
            None => write!(f, "socks5://{}", self.listen),
        }
    }
}

/// The reason why a connection failed.
#[derive(Clone, Copy)]
pub enum Report<'a> {
    /// A failure of a connection to a target.
    Target(&'a Target, &'a dyn fmt::Display),
    /// A failure of the request on the port, or of the connection to it.
    Port(Notice),
}

impl fmt::Debug for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Target(target, why) => write!(f, "{target}: {why}"),
            Self::Port(notice) => notice.fmt(f),
        }
    }
}

/// Receives the reasons of failed connections.
pub trait OnReport: Fn(&Report<'_>) + Send + Sync + 'static {}
impl<T: Fn(&Report<'_>) + Send + Sync + 'static> OnReport for T {}

/// A local port that is open.
#[derive(Debug)]
pub struct Open {
    listener: TcpListener,
    target: Option<Target>,
}

impl Open {
    /// Opens the port.
    ///
    /// # Errors
    /// If the address is not available.
    pub async fn new(forward: &Forward) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(forward.listen).await?, target: forward.target.clone() })
    }

    /// Returns the address, with the system's choice for port 0.
    ///
    /// # Errors
    /// If the system does not return it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves for ever. `report` receives the reason of each failed connection.
    pub async fn serve(self, client: Client, report: impl OnReport) {
        let report = Arc::new(report);
        let port = self.address().unwrap_or_else(|_| SocketAddr::new(LOCAL, 0));
        loop {
            let socket = match self.listener.accept().await {
                Ok((socket, _)) => socket,
                Err(error) => {
                    Notice::of_accept(port, &error).iter().for_each(|notice| report(&Report::Port(*notice)));
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let (client, target, report) = (client.clone(), self.target.clone(), Arc::clone(&report));
            tokio::spawn(async move {
                let _ = socket.set_nodelay(true);
                match target {
                    Some(target) => forward(socket, &client, &target, &*report).await,
                    None => {
                        match tokio::time::timeout(WORDS, socks(socket)).await {
                            Ok(Ok(asked)) => asked_for(asked, &client, &*report).await,
                            Ok(Err(Some(words))) => report(&Report::Port(Notice::Words(port, words))),
                            // The program sent no request, or an incomplete one.
                            Ok(Err(None)) | Err(_) => (),
                        }
                    }
                }
            });
        }
    }
}

/// Forwards a connection with a known target: its bytes follow the request at once, which saves a round trip.
async fn forward(socket: TcpStream, client: &Client, target: &Target, report: &impl OnReport) {
    let mut stream = match client.open().await {
        Ok(stream) => stream,
        Err(why) => {
            report(&Report::Target(target, &why));
            return refuse(&socket);
        }
    };
    if stream.write_all(&target.encode()).await.is_err() {
        return refuse(&socket);
    }
    let (outcome, stream, socket) = first_words(stream, socket).await;
    match outcome {
        Some(Outcome::Connected) => pump(socket, stream, &[]).await,
        outcome => {
            if let Some(why) = outcome {
                report(&Report::Target(target, &why));
            }
            refuse(&socket);
        }
    }
}

/// Waits for the outcome. Bytes that the program sends before it are passed on.
async fn first_words(mut stream: Stream, mut socket: TcpStream) -> (Option<Outcome>, Stream, TcpStream) {
    let mut early = vec![0; 16 << 10];
    let mut may_read = true;
    loop {
        let mut code = [0];
        tokio::select! {
            answer = stream.read(&mut code) => {
                let outcome = matches!(answer, Ok(1)).then(|| Outcome::of(code[0]));
                return (outcome, stream, socket);
            }
            count = socket.read(&mut early), if may_read => match count {
                Ok(count @ 1..) => {
                    // Bytes that do not fit wait for the outcome.
                    if stream.write_all(&early[..count]).await.is_err() {
                        return (None, stream, socket);
                    }
                }
                Ok(0) | Err(_) => may_read = false,
            },
        }
    }
}

/// Resets the connection, so that the program sees the failure.
fn refuse(socket: &TcpStream) {
    let _ = socket.set_zero_linger();
}

/// A program's SOCKS5 request, and the bytes after it.
struct Asked {
    socket: TcpStream,
    target: Target,
    rest: Vec<u8>,
}

/// Reads a program's request.
///
/// # Errors
/// The request's text, if the failure is the program's fault; none if it closed the connection.
async fn socks(mut socket: TcpStream) -> Result<Asked, Option<Words>> {
    let mut held = Vec::new();
    let (is_offered, _) = hear(&mut socket, &mut held, socks::greeting).await?;
    socket.write_all(&socks::method(is_offered)).await.map_err(|_| None)?;
    if !is_offered {
        let _ = socket.shutdown().await;
        return Err(Some(Words::Login));
    }
    match hear(&mut socket, &mut held, socks::request).await?.0 {
        Request::Connect(target) => Ok(Asked { socket, target, rest: held }),
        Request::Unsupported(code) => {
            let _ = socket.write_all(&socks::reply(code)).await;
            let _ = socket.shutdown().await;
            Err(Some(Words::Unsupported))
        }
    }
}

/// A message and its length, once it is complete.
type Heard<T> = Result<Option<(T, usize)>, NotSocks>;

/// Reads until a message is complete, and removes it from the buffer.
async fn hear<T>(
    socket: &mut TcpStream,
    held: &mut Vec<u8>,
    decode: fn(&[u8]) -> Heard<T>,
) -> Result<(T, usize), Option<Words>> {
    loop {
        match decode(held) {
            Ok(Some((message, used))) => {
                held.drain(..used);
                return Ok((message, used));
            }
            Ok(None) if held.len() < MESSAGE_MAX => {}
            _ => return Err(Some(Words::of(held))),
        }
        let mut batch = [0; 512];
        let count = socket.read(&mut batch).await.ok().filter(|count| *count > 0).ok_or(None)?;
        held.extend_from_slice(&batch[..count]);
    }
}

async fn asked_for(asked: Asked, client: &Client, report: &impl OnReport) {
    let Asked { mut socket, target, rest } = asked;
    let opens = async {
        let mut stream = client.open().await.inspect_err(|why| report(&Report::Target(&target, why))).ok()?;
        stream.write_all(&[target.encode(), rest].concat()).await.ok()?;
        let mut code = [0];
        stream.read_exact(&mut code).await.ok()?;
        Some((stream, Outcome::of(code[0])))
    };
    let (stream, outcome) =
        opens.await.map_or((None, Outcome::Failed), |(stream, outcome)| (Some(stream), outcome));
    if stream.is_some() && outcome != Outcome::Connected {
        report(&Report::Target(&target, &outcome));
    }
    if socket.write_all(&socks::reply_of(outcome)).await.is_err() {
        if let Some(stream) = stream {
            stream.reset(Broken::Aborted);
        }
        return;
    }
    match stream {
        Some(stream) if outcome == Outcome::Connected => pump(socket, stream, &[]).await,
        _ => {
            let _ = socket.shutdown().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn forwards_read_as_users_write_them() {
        let cases = [
            ("tcp://8080:example.org:80", "tcp://127.0.0.1:8080:example.org:80"),
            ("tcp://[::1]:8080:[2001:db8::1]:80", "tcp://[::1]:8080:[2001:db8::1]:80"),
            ("tcp://0.0.0.0:1:10.0.0.1:2", "tcp://0.0.0.0:1:10.0.0.1:2"),
            ("socks5://1080", "socks5://127.0.0.1:1080"),
            ("socks5://[::1]:1080", "socks5://[::1]:1080"),
            ("socks5://localhost:0", "socks5://127.0.0.1:0"),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse::<Forward>().unwrap().to_string(), expected);
        }
        for text in [
            "",
            "8080",
            "tcp://8080",
            "udp://1:a:2",
            "tcp://1:a:0",
            "socks5://[::1:1",
            "tcp://x:a:1",
            "tcp://1:a b:2",
            "socks5://1:2:3",
        ] {
            assert!(text.parse::<Forward>().unwrap_err().contains("is no forward"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(tcp|socks5)://[0-9a:.\\[\\]é]{0,20}") {
            if let Ok(forward) = text.parse::<Forward>() {
                prop_assert_eq!(forward.to_string().parse::<Forward>(), Ok(forward));
            }
        }
    }
}
