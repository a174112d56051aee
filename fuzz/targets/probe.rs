//! `cargo +nightly fuzz run probe`: whatever comes by UDP is a probe or a reply of the session's, or is dropped.
#![no_main]

use evenair_multiconn::probe::{End, Keys, LENGTH, Prober, Responder, tag};
use evenair_units::{Duration, Instant};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let keys = || Keys::new(&[7; 32], End::Caller);
    let mut prober = Prober::new(keys(), Instant::ZERO);
    let mut responder = Responder::new(keys(), Instant::ZERO);
    let probe = prober.poll(Instant::ZERO, Duration::from_millis(100), 0.5).expect("the first is due");
    let _ = tag(data);
    // Who does not have the key has no answer, and is not believed.
    assert!(responder.answer(Instant::ZERO, data).is_none() || data == probe);
    assert!(prober.handle(Instant::ZERO, data).is_none());
    // Damage to a probe that is real, at the places and by the bytes that the data say.
    let mut damaged = probe;
    for pair in data.chunks_exact(2) {
        damaged[usize::from(pair[0]) % LENGTH] ^= pair[1];
    }
    let mut responder = Responder::new(keys(), Instant::ZERO);
    assert_eq!(responder.answer(Instant::ZERO, &damaged).is_some(), damaged == probe);
    // And to its reply.
    let mut responder = Responder::new(keys(), Instant::ZERO);
    let reply = responder.answer(Instant::ZERO, &probe).expect("a probe of the session's");
    let mut damaged = reply;
    for pair in data.chunks_exact(2) {
        damaged[usize::from(pair[0]) % LENGTH] ^= pair[1];
    }
    assert_eq!(prober.handle(Instant::ZERO, &damaged).is_some(), damaged == reply);
});
