//! `cargo +nightly fuzz run listed`: see CONTRIBUTING.md.
#![no_main]

#[path = "../properties.rs"]
#[allow(dead_code)]
mod properties;

// The first byte chooses the format.
libfuzzer_sys::fuzz_target!(|input: (u8, &str)| {
    let (format, text) = input;
    properties::listed(["map.geojson", "map.graphml", "map.csv"][usize::from(format) % 3], text);
});
