//! `cargo +nightly fuzz run probe`: any UDP datagram is a probe or a reply of the session's, or is dropped.
#![no_main]

use evenair_multiconn::probe::{Datagram, End, Keys, LENGTH, Prober, Responder, tag};
use evenair_units::{Duration, Instant};

fn keys() -> Keys {
    Keys::new(&[7; 32], End::Caller)
}

/// A prober with its first probe under way.
fn asking() -> (Prober, Datagram) {
    let mut prober = Prober::new(keys(), Instant::ZERO);
    let probe = prober.poll(Instant::ZERO, Duration::from_millis(100), 0.5).expect("the first is due");
    (prober, probe)
}

fn answered(datagram: &[u8]) -> Option<Datagram> {
    Responder::new(keys(), Instant::ZERO).answer(Instant::ZERO, datagram)
}

fn is_believed(datagram: &[u8]) -> bool {
    asking().0.handle(Instant::ZERO, datagram).is_some()
}

/// A datagram with damage at the places and by the bytes that the data say.
fn damaged(mut datagram: Datagram, data: &[u8]) -> Datagram {
    for pair in data.chunks_exact(2) {
        datagram[usize::from(pair[0]) % LENGTH] ^= pair[1];
    }
    datagram
}

// Keys are the same in every run, so that the fuzzer may find the one true probe and its one true reply: nothing else has an answer, or is
// believed.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let (_, probe) = asking();
    let reply = answered(&probe).expect("a probe of the session's");
    let _ = tag(data);
    for datagram in [data, &damaged(probe, data), &damaged(reply, data)] {
        assert_eq!(answered(datagram).is_some(), datagram == probe);
        assert_eq!(is_believed(datagram), datagram == reply);
    }
});
