//! `cargo +nightly fuzz run multiconn`: whatever a peer, a program or a file says to `evenair multiconn` is read, or refused.
#![no_main]

use evenair_multiconn::authorised::Authorised;
use evenair_multiconn::budget::Budget;
use evenair_multiconn::config::Config;
use evenair_multiconn::core::{Core, Limits, Side};
use evenair_multiconn::frame::Frame;
use evenair_multiconn::hello::{Answer, Hello};
use evenair_multiconn::{forward::Forward, keys::SecretKey, socks, target::Target};
use evenair_units::{Duration, Instant};

/// Memory that a peer may have here \[bytes\].
const MEMORY: u64 = 1 << 20;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = (Hello::decode(bytes), Answer::decode(bytes), Target::decode(bytes));
    let _ = (socks::greeting(bytes), socks::request(bytes));
    session(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = (Config::parse("m.toml", text), Authorised::parse("a.toml", text), SecretKey::parse(text));
        if let Ok(forward) = text.parse::<Forward>() {
            assert_eq!(forward.to_string().parse(), Ok(forward));
        }
    }
});

/// A peer who is known says this on a connection: it holds no more memory than it may, whatever it says.
fn session(mut bytes: &[u8]) {
    let (budget, mut now) = (Budget::new(MEMORY), Instant::from_nanos(1));
    let mut core = Core::new(Side::Relay, Limits::default(), std::sync::Arc::clone(&budget), now);
    core.add_leg(1, now);
    let _ = core.open(now).and_then(|stream| Ok(core.write(stream, b"said first", now)));
    let mut out = Vec::new();
    while let Ok(Some((frame, used))) = Frame::decode(bytes) {
        bytes = &bytes[used..];
        now = now + Duration::from_millis(7);
        if core.frame(1, frame, now).is_err() {
            break;
        }
        if core.timeout().is_some_and(|due| due <= now) {
            core.on_timeout(now);
        }
        out.clear();
        core.pull(1, now, 1 << 16, &mut out);
        assert!(budget.taken() <= MEMORY && out.len() <= 1 << 16);
        while core.event().is_some() {}
    }
    core.lost(1, now);
}
