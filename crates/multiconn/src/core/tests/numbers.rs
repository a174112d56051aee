//! The numbers of streams: which are open, over or new, and their limits.

use super::told::{chunk, events, ms, relay, said, tell};
use super::*;

fn client(limits: Limits) -> (Core, Instant) {
    let now = Instant::from_nanos(1);
    let mut core = Core::new(Side::Client, limits, Budget::new(1 << 24), now);
    core.add_subflow(1, now);
    (core, now)
}

const fn credit(stream: StreamId) -> Frame<'static> {
    Frame::Credit { stream, received: 0, limit: 0 }
}

fn opened(core: &mut Core) -> Vec<StreamId> {
    let opened = |event| if let Event::Opened(stream) = event { Some(stream) } else { None };
    events(core).into_iter().filter_map(opened).collect()
}

#[test]
fn client_opens_as_many_streams_as_it_may() {
    let (mut core, now) = client(limits(1000));
    let streams: Vec<_> = (0..8).map(|_| core.open(now).unwrap()).collect();
    assert_eq!(streams, [1, 3, 5, 7, 9, 11, 13, 15]);
    assert_eq!(core.open(now), Err(OpenError::TooMany));
    assert_eq!(core.counts().streams, 8);
    core.reset(5, Broken::Aborted, now);
    assert_eq!(core.open(now), Ok(17), "no number is used twice");
    core.close(Closed::Revoked);
    assert_eq!(core.open(now), Err(OpenError::Closed(Closed::Revoked)));
    assert_eq!(OpenError::Closed(Closed::Revoked).to_string(), Closed::Revoked.to_string());
    assert!(OpenError::TooMany.to_string().contains("as many streams as there may be"));
}

/// A client has the odd numbers of 32 bits; the last one stays unused.
#[test]
fn numbers_of_streams_do_not_begin_again() {
    let (mut core, now) = client(limits(1000));
    core.next_own = u32::MAX / 2 - 1;
    assert_eq!(core.open(now), Ok(u32::MAX - 2));
    assert_eq!(core.open(now), Err(OpenError::TooMany));
}

#[test]
fn unopened_streams_are_refused() {
    let (mut core, now) = client(limits(1000));
    for stream in [1, 3, 5] {
        assert_eq!(core.open(now), Ok(stream));
        core.reset(stream, Broken::Aborted, now);
        core.release(stream, now);
        assert_eq!(
            tell(&mut core, credit(stream), now),
            Ok(()),
            "it is over here, which the relay may not know"
        );
    }
    assert_eq!(tell(&mut core, credit(7), now), Err(Closed::Protocol));
}

#[test]
fn stream_that_is_over_does_not_open_again() {
    let (mut core, now) = relay(limits(1000));
    for stream in [1, 5] {
        tell(&mut core, chunk(stream, 0, b"x"), now).unwrap();
        core.reset(stream, Broken::Aborted, now);
        core.release(stream, now);
    }
    events(&mut core);
    for stream in [1, 3, 5, 7, 9] {
        tell(&mut core, chunk(stream, 0, b"x"), now).unwrap();
    }
    assert_eq!(opened(&mut core), [3, 7, 9]);
    // The relay's own streams do not count towards the client's.
    let (mut core, now) = relay(limits(1000));
    let own = core.open(now).unwrap();
    core.reset(own, Broken::Aborted, now);
    core.release(own, now);
    tell(&mut core, chunk(own + 1, 0, b"x"), now).unwrap();
    assert_eq!(opened(&mut core), [own + 1]);
}

/// The limit is eighteen at once: eight, a quarter of that, and eight more. The next one is refused, also
/// once there is room again.
#[test]
fn stream_that_was_refused_stays_refused() {
    let (mut core, now) = relay(limits(1000));
    for number in 0..=18 {
        tell(&mut core, chunk(2 * number + 1, 0, b"x"), now).unwrap();
    }
    assert_eq!(opened(&mut core).len(), 18);
    let refusal = "Reset { stream: 37, why: Overloaded }".to_owned();
    assert!(said(&mut core, 1, now).contains(&refusal));
    core.reset(1, Broken::Aborted, now);
    for stream in [37, 39] {
        tell(&mut core, chunk(stream, 0, b"x"), now).unwrap();
    }
    assert_eq!(opened(&mut core), [39]);
}

/// The limit is four times eighteen, of either kind: skipped streams, and broken ones that the client has not
/// confirmed.
#[test]
fn streams_that_are_over_are_borne_up_to_a_bound() {
    let open_after = |left_out: u32| {
        let (mut core, now) = relay(limits(1000));
        for number in 0..left_out {
            tell(&mut core, Frame::Reset { stream: 4 * number + 1, why: Broken::Aborted }, now).unwrap();
        }
        tell(&mut core, chunk(1001, 0, b"x"), now)
    };
    assert_eq!([72, 73].map(open_after), [Ok(()), Err(Closed::Protocol)]);
    let open_after = |broken: u32| {
        let (mut core, now) = relay(limits(1000));
        for number in 0..broken {
            tell(&mut core, chunk(2 * number + 1, 0, b"x"), now).unwrap();
            core.reset(2 * number + 1, Broken::Aborted, now);
        }
        tell(&mut core, chunk(1001, 0, b"x"), now)
    };
    assert_eq!([72, 73].map(open_after), [Ok(()), Err(Closed::Protocol)]);
}

#[test]
fn stream_that_has_ended_takes_no_more() {
    let (mut core, now) = relay(limits(1000));
    tell(&mut core, Frame::Data { stream: 1, offset: 0, end: true, bytes: b"x" }, now).unwrap();
    core.end(1, now);
    let before = core.budget.taken();
    assert_eq!(core.reserve(1, 10, now), Err(Broken::Aborted));
    assert_eq!(core.budget.taken(), before);
    // Nor after all of it has arrived, both ways.
    assert_eq!(core.read(1, &mut [0; 9], now), Ok(Read::Bytes(1)));
    said(&mut core, 1, now);
    tell(&mut core, Frame::Credit { stream: 1, received: 1, limit: 1000 }, now).unwrap();
    assert_eq!(core.open_streams(), 0);
    assert_eq!(core.reserve(1, 10, now), Err(Broken::Aborted));
    assert_eq!(core.budget.taken(), 0);
}

/// Bytes up to the window use all memory; beyond it, the memory must be at least four thirds of the taken
/// bytes.
#[test]
fn bytes_beyond_window_leave_memory_for_others() {
    let (mut core, now) = relay(limits(1000));
    tell(&mut core, chunk(1, 0, b"x"), now).unwrap();
    assert_eq!(core.write(1, &[7; 999], now), Ok(999));
    let taken = core.budget.taken();
    core.budget.set_most(taken + 100);
    assert_eq!(core.write(1, b"y", now), Ok(1));
    assert_eq!(core.write(1, b"y", now), Ok(0));
    core.budget.set_most((taken + 2).div_ceil(3) * 4);
    core.on_timeout(now + ms(100));
    assert_eq!(core.write(1, b"y", now), Ok(1));
}
