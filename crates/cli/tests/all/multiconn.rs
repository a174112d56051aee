//! `evenair multiconn`: keys, a relay and a client as processes on loopback.

use crate::{stderr, stdout};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// A program that runs until this is dropped, and the lines that it has printed.
struct Runs(Child, BufReader<std::process::ChildStdout>);

impl Drop for Runs {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Runs {
    fn start(folder: &Path, words: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenair"));
        command.arg("multiconn").args(words).current_dir(folder).env("XDG_STATE_HOME", folder);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let out = BufReader::new(child.stdout.take().expect("it has an output"));
        Self(child, out)
    }

    /// The rest of the first line with these words.
    fn line(&mut self, words: &str) -> String {
        for line in (&mut self.1).lines() {
            let line = line.expect("text");
            if let Some((_, rest)) = line.split_once(words) {
                return rest.trim().into();
            }
        }
        let mut error = String::new();
        let _ = self.0.stderr.take().expect("it has errors").read_to_string(&mut error);
        panic!("it ended before \"{words}\": {error}");
    }
}

/// Sends back its input, in capitals.
fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let (mut socket, mut heard) = (socket, Vec::new());
                let _ = socket.read_to_end(&mut heard);
                let _ = socket.write_all(&heard.to_ascii_uppercase());
            });
        }
    });
    address
}

fn talk(mut socket: TcpStream, words: &str) -> String {
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
    socket.write_all(words.as_bytes()).expect("it is open");
    socket.shutdown(Shutdown::Write).expect("it is open");
    let mut heard = String::new();
    socket.read_to_string(&mut heard).expect("an answer");
    heard
}

/// The command, in a folder.
fn multiconn(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenair"));
    command.arg("multiconn").args(words).current_dir(folder).output().expect("it runs")
}

fn keygen(folder: &Path, file: &str) -> String {
    let done = multiconn(folder, &["keygen", file]);
    assert!(done.status.success(), "{}", stderr(&done));
    stdout(&done).trim().into()
}

/// By SOCKS5: where it is allowed, where not, and commands that are not supported.
fn by_socks(socks: &str, server: SocketAddr) {
    let asks = |command: u8, port: u16| {
        let mut socket = TcpStream::connect(socks).expect("it listens");
        socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        socket.write_all(&[5, 1, 0]).expect("it is open");
        let mut method = [0; 2];
        socket.read_exact(&mut method).expect("a method");
        assert_eq!(method, [5, 0]);
        let request = [[5, command, 0, 1, 127, 0, 0, 1].as_slice(), &port.to_be_bytes()].concat();
        socket.write_all(&request).expect("it is open");
        let mut reply = [0; 10];
        socket.read_exact(&mut reply).expect("a reply");
        (reply[1], socket)
    };
    let (code, socket) = asks(1, server.port());
    assert_eq!((code, talk(socket, "again").as_str()), (0, "AGAIN"));
    assert_eq!(asks(1, 22).0, 2, "not allowed");
    assert_eq!((asks(2, 22).0, asks(3, 22).0), (7, 7), "neither BIND nor UDP");
}

#[test]
fn port_and_socks_reach_allowed_destinations() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let (relay_key, own_key, server) = (keygen(folder, "relay.key"), keygen(folder, "me.key"), server());
    let table = format!(
        "[[key]]\nname = \"me\"\nkey = \"{own_key}\"\ndestinations = [\"127.0.0.1:{}\"]\n",
        server.port()
    );
    std::fs::write(folder.join("authorised.toml"), table).expect("a file");
    let words = [
        "relay",
        "--listen",
        "127.0.0.1:0",
        "--keys",
        "relay.key",
        "--authorised",
        "authorised.toml",
        "--status",
        "relay.sock",
    ];
    let mut relay = Runs::start(folder, &words);
    let address = relay.line("listens on ");
    assert_eq!(relay.line("key "), relay_key);
    let forward = format!("tcp://0:127.0.0.1:{}", server.port());
    let words = [
        "connect",
        &address,
        "--relay-keys",
        &relay_key,
        "--key",
        "me.key",
        "-L",
        &forward,
        "-L",
        "socks5://0",
        "--status",
        "me.sock",
        "--law",
        "fixed",
        "--set",
        "n=2",
    ];
    let mut client = Runs::start(folder, &words);
    let law = client.line("law: ");
    assert!(law.contains("fixed, n = 2; at most 16"), "the values that hold are printed: {law}");
    let port = client.line("tcp://").split(':').nth(1).expect("a port").to_string();
    let socks = client.line("socks5://");
    let open = |address: &str| TcpStream::connect(address).expect("it listens");
    assert_eq!(talk(open(&format!("127.0.0.1:{port}")), "hello"), "HELLO");
    by_socks(&socks, server);
    let status = |socket: &str| stdout(&multiconn(folder, &["status", socket, "--json"]));
    let own = status("me.sock");
    assert!(own.contains("\"wanted\": 2") && own.contains("\"why\": \"n is 2"), "{own}");
    let metrics = stdout(&multiconn(folder, &["status", "me.sock", "--metrics"]));
    assert!(metrics.contains("\nevenair_multiconn_session_sent_bytes_total{peer="), "{metrics}");
    let theirs = status("relay.sock");
    assert!(theirs.contains("\"peer\": \"me\""), "{theirs}");
    let theirs = stdout(&multiconn(folder, &["status", "relay.sock"]));
    // The session's first connection at least, and none that was refused.
    let accepted = theirs.lines().find_map(|line| line.strip_prefix("handshakes: 0 open; "));
    assert!(accepted.is_some_and(|all| all.ends_with(" accepted") && !all.contains(',')), "{theirs}");
}

#[test]
fn mistakes_are_told_with_their_remedy() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let fails = |words: &[&str]| {
        let done = multiconn(folder, words);
        assert!(!done.status.success(), "{words:?}");
        stderr(&done)
    };
    let public = keygen(folder, "me.key");
    assert!(fails(&["keygen", "me.key"]).contains("exists"));
    assert!(fails(&["relay"]).contains("keygen"));
    assert!(fails(&["relay", "--keys", "me.key"]).contains("authorised: name the file"));
    std::fs::write(folder.join("nobody.toml"), "").expect("a file");
    let nobody =
        fails(&["relay", "--keys", "me.key", "--authorised", "nobody.toml", "--listen", "127.0.0.1:0"]);
    assert!(nobody.contains("no key is authorised"), "{nobody}");
    let connect = |more: &[&str]| {
        fails(&[&["connect", "127.0.0.1:1", "--key", "me.key", "--relay-keys", &public], more].concat())
    };
    assert!(connect(&[]).contains("-L"));
    assert!(connect(&["-L", "8080"]).contains("is no forward"));
    for (earlier, now) in [("fair", "rtt-proportional"), ("e-multcp", "iimd")] {
        let renamed = connect(&["-L", "socks5://0", "--law", earlier]);
        assert!(renamed.contains(&format!("there is no law `{earlier}`; it is called {now}")), "{renamed}");
    }
    for (earlier, now) in [("--subflow-cc", "--congestion"), ("--relay-key", "--relay-keys")] {
        let renamed = connect(&[earlier, "cubic"]);
        assert!(renamed.contains(now), "{renamed}");
    }
    assert!(fails(&["relay", "--key", "me.key"]).contains("'--keys'"));
    assert!(connect(&["-L", "socks5://0", "--law", "none"]).contains("there are rtt-proportional, iimd"));
    assert!(connect(&["-L", "socks5://0", "--set", "gamme=1"]).contains("gamme"));
    assert!(connect(&["-L", "socks5://0"]).contains("cannot be reached"));
    assert!(fails(&["status", "none.sock"]).contains("nothing runs there"));
    std::fs::write(folder.join("m.toml"), "[connect]\nrelay = \"a\"\nrelay_keys = [\"x\"]\n")
        .expect("a file");
    assert!(fails(&["check", "m.toml"]).contains("m.toml:3:15: connect.relay_keys[0]: "), "a place");
}
