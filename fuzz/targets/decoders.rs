//! `cargo +nightly fuzz run decoders`: any bytes from peers and programs to `evenair multiconn` are read, or refused. A decoded
//! message lies within the bytes that came, and is the same again once it is written.
#![no_main]

use evenair_multiconn::frame::Frame;
use evenair_multiconn::hello::{Answer, Hello};
use evenair_multiconn::{probe, socks, target::Target};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    while let Ok(Some((frame, used))) = Frame::decode(rest) {
        assert!(0 < used && used <= rest.len());
        let mut again = Vec::with_capacity(used);
        frame.encode(&mut again);
        assert_eq!(Frame::decode(&again), Ok(Some((frame, again.len()))));
        rest = &rest[used..];
    }
    if let Ok(Some((target, used))) = Target::decode(bytes) {
        assert!(used <= bytes.len());
        let again = target.encode();
        assert_eq!(Target::decode(&again), Ok(Some((target, again.len()))));
    }
    let _ = (Hello::decode(bytes), Answer::decode(bytes), probe::tag(bytes));
    let _ = (socks::greeting(bytes), socks::request(bytes));
});
