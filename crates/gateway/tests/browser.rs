//! The page in Chromium: in light and dark colours, and on a telephone. Skipped without Chromium.
#![cfg(target_os = "linux")]

use evenair_gateway::Side;
use evenair_gateway::config::Mode;
use evenair_gateway::page::Page;
use evenair_gateway::status::{ClassStatus, Standing, Status};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use tiny_skia::Pixmap;

const NAMES: [&str; 5] =
    ["Anna", "The school at the lower end of the valley", "<img src=x onerror=alert(1)>", "Ben & Co", "Noor"];

fn status(epoch: u64) -> Status {
    let standings = [Standing::Share, Standing::Plan, Standing::Mesh, Standing::Content, Standing::Idle];
    let of = |(i, name): (usize, &&str), side| ClassStatus {
        id: format!("s{i}"),
        name: (*name).into(),
        side,
        minor: 0x10 + i as u16,
        weight: 1.0,
        rate_bps: (standings[i] != Standing::Idle)
            .then(|| 4e5 * (1.0 + i as f64) * (1.0 + ((epoch * 7) % 5) as f64 / 10.0)),
        limit_bps: Some(1_000_000 * (1 + i as u64)),
        cap_bps: None,
        dropped: 3 * i as u64,
        waits: 0.25 * i as f64,
        busy: Some(0.9),
        standing: standings[i],
        ignores_losses: false,
    };
    let names = NAMES.iter().enumerate();
    let classes = names.flat_map(|named| [of(named, Side::Down), of(named, Side::Up)]).collect();
    Status {
        schema: 1,
        at_ms: 1_700_000_000_000 + 10_000 * epoch,
        epochs: epoch,
        epoch_s: 10.0,
        mode: Mode::Enforce,
        is_paused: false,
        is_blind: false,
        confirm_by_ms: None,
        law: "pfrc".into(),
        decision: "hold: converged".into(),
        total_bps: Some(6_000_000),
        fairness: Some(0.97),
        strangers: 2,
        troubles: vec!["mesh0 its counters: no such device".into()],
        classes,
    }
}

fn chromium() -> Option<PathBuf> {
    let places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
    places.into_iter().map(PathBuf::from).find(|program| program.exists())
}

/// Runs Chromium on a page; returns its output and its log.
fn browse(program: &Path, url: &str, arguments: &[&str]) -> (String, String) {
    let profile = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(program);
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--hide-scrollbars",
    ]);
    command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
    command.args(["--enable-logging=stderr", "--virtual-time-budget=1000"]);
    command.arg(format!("--user-data-dir={}", profile.path().display())).args(arguments).arg(url);
    let done = command.output().expect("it was there");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(done.status.success(), "{}", text(&done.stderr));
    (text(&done.stdout), text(&done.stderr))
}

/// Returns the brightness of a pixel, from 0 to 255.
fn brightness(picture: &Pixmap, x: u32, y: u32) -> u32 {
    let pixel = picture.pixel(x, y).expect("in the picture");
    (u32::from(pixel.red()) + u32::from(pixel.green()) + u32::from(pixel.blue())) / 3
}

/// Returns the rightmost column with a pixel unlike the background.
fn right_end(picture: &Pixmap) -> u32 {
    let ground = brightness(picture, 0, 0);
    let stands_out =
        |x: &u32| (0..picture.height()).any(|y| brightness(picture, *x, y).abs_diff(ground) > 24);
    (0..picture.width()).rev().find(stands_out).unwrap_or(0)
}

#[test]
fn page_is_readable_in_three_layouts() {
    let Some(program) = chromium() else {
        return evenair_needs::skip("chromium", "not installed");
    };
    let at = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port");
    let page = Page::open(at).expect("a page");
    (1..=60).for_each(|epoch| page.show(status(epoch)));
    let url = format!("http://{at}/");
    let (page, said) = browse(&program, &url, &["--dump-dom"]);
    assert_eq!(page.matches("<svg ").count(), 8, "one for each way of who got something: {page}");
    assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;") && !page.contains("<img"), "{page}");
    // The policy allows all that the page needs, and the page attempts no more.
    for trouble in ["Content Security Policy", "Refused", "CONSOLE"] {
        assert!(!said.contains(trouble), "{said}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    // Keeps the pictures in this folder for inspection.
    let kept =
        std::env::var_os("EVENAIR_PICTURES").map_or_else(|| folder.path().to_path_buf(), PathBuf::from);
    let picture = |name: &str, width: u32, dark: bool| {
        let file = kept.join(format!("{name}.png"));
        let (to, size) = (format!("--screenshot={}", file.display()), format!("--window-size={width},900"));
        let scheme = format!("--blink-settings=preferredColorScheme={}", u8::from(!dark));
        browse(&program, &url, &[&to, &size, &scheme]);
        Pixmap::load_png(&file).expect("a picture")
    };
    let [day, night] = [picture("day", 1200, false), picture("night", 1200, true)];
    assert!(brightness(&day, 5, 5) > 230 && brightness(&night, 5, 5) < 60);
    // On a telephone the content stays within the page: its edge is plain background.
    for (name, dark) in [("telephone-day", false), ("telephone-night", true)] {
        let telephone = picture(name, 390, dark);
        assert!(telephone.width() == 390 && right_end(&telephone) < 386, "{}", right_end(&telephone));
    }
}
