//! `cargo +nightly fuzz run study`: see CONTRIBUTING.md.
#![no_main]

#[path = "../properties.rs"]
#[allow(dead_code)]
mod properties;

libfuzzer_sys::fuzz_target!(|text: &str| properties::study(text));
