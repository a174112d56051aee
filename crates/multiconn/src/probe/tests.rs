use super::*;
use evenair_units::{Duration, Instant};
use proptest::prelude::*;

fn keys(of: End) -> Keys {
    Keys::new(&[7; SECRET], of)
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

const SPACING: Duration = Duration::from_millis(100);

#[test]
fn a_probe_comes_back_with_its_round_trip() {
    let mut prober = Prober::new(keys(End::Caller), at(1000));
    let mut responder = Responder::new(keys(End::Caller), at(5));
    let probe = prober.poll(at(1000), SPACING, 0.5).unwrap();
    assert_eq!(tag(&probe), Some(keys(End::Caller).tag()));
    let reply = responder.answer(at(30), &probe).unwrap();
    let back = prober.handle(at(1052), &reply).unwrap();
    assert_eq!((back.number, back.round_trip), (0, Duration::from_millis(52)));
    assert_eq!(back.there_ns, -970_000_000, "by the responder's clock");
    assert_eq!(prober.next_at(), at(1100));
    assert_eq!(prober.handle(at(1053), &reply), None, "it is awaited once");
}

#[test]
fn late_reply_is_lost() {
    let mut prober = Prober::new(keys(End::Caller), at(0));
    let mut responder = Responder::new(keys(End::Caller), at(0));
    let probe = prober.poll(at(0), SPACING, 0.5).unwrap();
    let reply = responder.answer(at(10), &probe).unwrap();
    assert_eq!(prober.lost(at(3000)), 0);
    assert_eq!(prober.lost(at(3001)), 1);
    assert_eq!(prober.handle(at(3002), &reply), None);
}

#[test]
fn probes_are_fifty_a_second_at_most() {
    let mut prober = Prober::new(keys(End::Caller), at(0));
    let polled = |ms: u64| prober.poll(at(ms), Duration::ZERO, (ms % 10) as f64 / 10.0).is_some();
    let sent = (0..10_000).map(polled).filter(|sent| *sent).count();
    assert!(sent <= 10 * PER_SECOND as usize, "{sent} in 10 s");
}

#[test]
fn responder_answers_fifty_a_second_ten_at_once() {
    let mut responder = Responder::new(keys(End::Caller), at(0));
    let probe =
        |number| Message { kind: Kind::Probe, number, sent_ns: 0, came_ns: 0 }.write(&keys(End::Caller));
    let at_once = (0..100).filter(|number| responder.answer(at(0), &probe(*number)).is_some()).count();
    assert_eq!(at_once, 10);
    let flood = (100..20_100).filter(|number| responder.answer(at(*number / 2), &probe(*number)).is_some());
    let answered = flood.count();
    assert!((490..=515).contains(&answered), "{answered} in 10 s");
}

#[test]
fn probe_is_answered_once_however_often_it_comes() {
    let mut responder = Responder::new(keys(End::Caller), at(0));
    let mut prober = Prober::new(keys(End::Caller), at(0));
    let probes: Vec<Datagram> = (0..100).filter_map(|i| prober.poll(at(i * 100), SPACING, 0.5)).collect();
    assert_eq!(probes.len(), 100);
    for (i, probe) in (0..).zip(&probes) {
        assert!(responder.answer(at(i * 100), probe).is_some());
    }
    // Each of them again, a minute later: remembered ones, and ones that are too old.
    assert!(probes.iter().all(|probe| responder.answer(at(60_000), probe).is_none()));
    assert_eq!(responder.answered(), 100);
}

#[test]
fn foreign_reply_is_ignored() {
    let mut prober = Prober::new(keys(End::Caller), at(0));
    let probe = prober.poll(at(0), SPACING, 0.5).unwrap();
    let mut others = [
        Responder::new(keys(End::Called), at(0)),
        Responder::new(Keys::new(&[8; SECRET], End::Caller), at(0)),
    ];
    assert!(others.iter_mut().all(|responder| responder.answer(at(1), &probe).is_none()));
    assert_eq!(prober.handle(at(1), &probe), None, "a probe that is sent back as it is is no reply");
    let mut own = Responder::new(keys(End::Caller), at(0));
    let reply = own.answer(at(1), &probe).unwrap();
    assert!(own.answer(at(2), &reply).is_none(), "a reply is no probe");
    assert_eq!(reply.len(), probe.len());
}

#[test]
fn signature_is_first_half_of_hmac_sha_256() {
    // RFC 4231 §4.3, by the signing function.
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"Jefe");
    let signed = hmac::sign(&key, b"what do ya want for nothing?");
    assert_eq!(signed.as_ref()[..8], [0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e]);
    let datagram = Message { kind: Kind::Probe, number: 1, sent_ns: 2, came_ns: 0 }.write(&keys(End::Caller));
    let whole = hmac::sign(&keys(End::Caller).signs, &datagram[..SIGNED]);
    assert_eq!(datagram[SIGNED..], whole.as_ref()[..16]);
}

proptest! {
    /// After a change of any one bit, a probe or a reply is rejected.
    #[test]
    fn damage_is_found(bit in 0..LENGTH * 8, number in 0..u64::MAX, reply: bool) {
        let kind = if reply { Kind::Reply } else { Kind::Probe };
        let came_ns = if reply { number ^ 5 } else { 0 };
        let whole = Message { kind, number, sent_ns: number / 2, came_ns };
        let mut datagram = whole.write(&keys(End::Caller));
        prop_assert_eq!(Message::read(&keys(End::Caller), kind, &datagram), Some(whole));
        datagram[bit / 8] ^= 1 << (bit % 8);
        for kind in [Kind::Probe, Kind::Reply] {
            prop_assert_eq!(Message::read(&keys(End::Caller), kind, &datagram), None);
        }
    }

    /// Bytes of any content and length cause no panic and no answer.
    #[test]
    fn noise_is_dropped(noise in prop::collection::vec(any::<u8>(), 0..200), cut in 0..LENGTH) {
        let mut responder = Responder::new(keys(End::Caller), at(0));
        let mut prober = Prober::new(keys(End::Caller), at(0));
        let probe = prober.poll(at(0), SPACING, 0.5).unwrap();
        let longer = [&probe[..], &noise[..]].concat();
        prop_assert!(responder.answer(at(0), &noise).is_none());
        prop_assert!(responder.answer(at(0), &probe[..cut]).is_none());
        prop_assert!(noise.is_empty() || responder.answer(at(0), &longer).is_none());
        prop_assert!(prober.handle(at(1), &noise).is_none());
        let _ = tag(&noise);
    }
}
