//! `cargo +nightly fuzz run multiconn`: any file, key or forward for `evenair multiconn` is read, or refused.
#![no_main]

use evenair_multiconn::authorised::Authorised;
use evenair_multiconn::config::Config;
use evenair_multiconn::{forward::Forward, keys::SecretKey};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = (Config::parse("m.toml", text), Authorised::parse("a.toml", text), SecretKey::parse(text));
    if let Ok(forward) = text.parse::<Forward>() {
        assert_eq!(forward.to_string().parse(), Ok(forward));
    }
});
