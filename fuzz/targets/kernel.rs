//! `cargo +nightly fuzz run kernel`: any answer of the kernel, and any packet of a device, is read or refused.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    evenair_linux::fuzz::answers(bytes);
    evenair_linux::fuzz::packets(bytes);
});
