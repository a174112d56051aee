//! The playground in Chromium: a run there gives the bytes that the command gives. Skipped without Chromium, and where
//! `cargo xtask play` has not built the playground since the sources changed.

use crate::{evenair, stdout};
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::SystemTime;

/// Collisions and multi-hop TCP, hidden nodes, adaptive laws, ideal CSMA.
const SCENARIOS: [&str; 5] =
    ["chen10/a", "jam10/grid", "jam10/information-asymmetry", "lee12/fim", "qcsma/two-round-trips"];

/// A page that runs scenarios with the playground's own modules, and sends their results.
const PAGE: &str = r#"<!doctype html><meta charset="utf-8"><script type="module">
import { Engine } from "./engine.js";
import { KINDS, modern, toKind } from "./standards.js";
const results = {};
try {
  const engine = new Engine();
  for (const id of IDS) {
    const { text } = await engine.ask("scenario", { id });
    await engine.ask("open", { name: id, text });
    const { end_ns } = await engine.ask("start", { frames: true });
    for (let live = { now_ns: 0 }; live.now_ns < end_ns; ) {
      live = await engine.ask("go", { until_ns: end_ns, budget_ms: 100, frames: 10 });
      await engine.ask("so-far");
    }
    results[id] = (await engine.ask("result")).document;
  }
  // From each standard to the next and back, as the reader of the page chooses them, and each field of the new ones.
  let { text } = await engine.ask("scenario", { id: IDS[0] });
  const opened = async (edits) => {
    ({ text } = await engine.ask("edit", { text, edits }));
    return (await engine.ask("open", { name: "play.toml", text })).settings;
  };
  let settings = await opened([]);
  const field = (label, key, options, value, edits) => ({ options, edits });
  const set = (key) => (value) => [{ set: `${key}=${value}` }];
  const kinds = [];
  for (const [kind] of [...KINDS, ...[...KINDS].reverse()]) {
    settings = await opened(toKind(kind, settings));
    kinds.push(settings.mac.kind);
    const fresh = text;
    for (const { options, edits } of modern(settings, { choice: field, number: () => field(), set })) {
      for (const [value] of options ?? []) {
        text = fresh;
        await opened(edits(value));
      }
    }
    text = fresh;
  }
  results.kinds = kinds.join();
} catch (error) {
  results.error = error.message;
}
await fetch("/results", { method: "POST", body: JSON.stringify(results) });
</script>"#;

/// The folder that `cargo xtask play` fills; else why it cannot be used.
fn playground() -> Result<PathBuf, String> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it lies in the target folder");
    let folder = target.join("play");
    let built = |path: &Path| fs::metadata(path).and_then(|file| file.modified());
    let at = built(&folder.join("evenair.wasm")).map_err(|_| "not built".to_string())?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let newer = [
        "units", "laws", "topology", "des", "optimum", "wifi", "tcp", "fluid", "netsim", "scenario",
        "results", "study", "wasm",
    ]
    .iter()
    .find_map(|name| newest(&root.join(name).join("src"), at));
    newer.map_or(Ok(folder), |path| Err(format!("{} has changed since it was built", path.display())))
}

/// A file below a folder that has changed since then.
fn newest(folder: &Path, since: SystemTime) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    entries.map(|entry| entry.path()).find_map(|path| {
        if path.is_dir() {
            return newest(&path, since);
        }
        let is_newer = fs::metadata(&path).and_then(|file| file.modified()).is_ok_and(|at| at > since);
        is_newer.then_some(path)
    })
}

/// Chromium, which ends with this.
struct Browser(Child);

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn browse(program: &Path, profile: &Path, url: &str) -> Browser {
    let mut command = Command::new(program);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]);
    command.args([
        "--disable-background-networking",
        "--disable-component-update",
        "--remote-debugging-port=0",
    ]);
    command.arg(format!("--user-data-dir={}", profile.display())).arg(url);
    Browser(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it was there"))
}

/// Serves the folder until results are sent.
fn results(listener: &TcpListener, folder: &Path) -> String {
    loop {
        let (mut stream, _) = listener.accept().expect("a connection");
        let Some((head, body)) = request(&mut stream) else { continue };
        if head.starts_with("POST /results ") {
            let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
            return body;
        }
        let name = head.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
        let ids = serde_json::to_string(&SCENARIOS).expect("plain data");
        let (kind, content) = match Path::new(name).extension().and_then(|ending| ending.to_str()) {
            Some("js") => ("text/javascript", fs::read(folder.join(name)).unwrap_or_default()),
            Some("wasm") => ("application/wasm", fs::read(folder.join(name)).unwrap_or_default()),
            _ => ("text/html", PAGE.replace("IDS", &ids).into_bytes()),
        };
        let length = content.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        let _ = stream.write_all(&[head.into_bytes(), content].concat());
    }
}

/// A request's head and body; none, if the connection ends before.
fn request(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    let mut part = vec![0; 1 << 16];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return Some((head.into(), body.into()));
            }
        }
        match stream.read(&mut part) {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend(&part[..read]),
        }
    }
}

#[test]
fn a_run_in_a_browser_gives_the_commands_bytes() {
    let Some(program) = evenair_needs::find("chromium") else {
        return evenair_needs::skip("chromium", "not installed");
    };
    let folder = match playground() {
        Ok(folder) => folder,
        Err(why) => return evenair_needs::skip("the playground", why),
    };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("it is bound"));
    let profile = tempfile::tempdir().expect("a folder");
    let browser = browse(&program, profile.path(), &url);
    let text = results(&listener, &folder);
    drop(browser);
    let found: BTreeMap<String, String> = serde_json::from_str(&text).expect("JSON");
    assert_eq!(found.get("error"), None);
    let kinds = ["802.11b", "802.11a", "802.11g", "802.11n", "802.11ac", "802.11ax", "ideal"];
    let there_and_back: Vec<&str> = kinds.iter().chain(kinds.iter().rev()).copied().collect();
    assert_eq!(found["kinds"], there_and_back.join(","));
    for id in SCENARIOS {
        let own = stdout(&evenair(&["run", id, "--json"]));
        assert!(own.len() > 1000, "{id}: {own}");
        assert_eq!(found[id], own, "{id}");
    }
}
