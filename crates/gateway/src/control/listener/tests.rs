//! Clients of the socket, and attacks on it.

use super::*;
use crate::control::ask;
use crate::page::tests::status;
use rustix::fs::Gid;
use rustix::process::{getegid, geteuid};
use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::thread;

/// Returns a folder that other users may enter, and a socket's path in it.
fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let path = folder.path().join("control.sock");
    (folder, path)
}

/// Runs `all` while a thread answers requests as the loop does.
fn answering<T>(listener: Listener, all: impl FnOnce() -> T) -> T {
    let ends = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&ends);
    let loops = thread::spawn(move || {
        while !ended.load(Ordering::Relaxed) {
            match listener.take() {
                Some((ticket, _)) => listener.reply(ticket, Answer::Done("paused".into())),
                None => thread::sleep(Duration::from_millis(1)),
            }
        }
    });
    let all = all();
    ends.store(true, Ordering::Relaxed);
    loops.join().unwrap();
    all
}

fn may_be_others() -> bool {
    let may = geteuid().is_root()
        && !fs::read_to_string("/proc/self/setgroups").is_ok_and(|may| may.trim() == "deny");
    if !may {
        evenair_needs::skip("root", "a question as another user");
    }
    may
}

/// Runs `does` with this user and these groups, in a thread of its own.
fn other<T: Send + 'static>(
    user: u32,
    group: u32,
    others: &[u32],
    does: impl FnOnce() -> T + Send + 'static,
) -> T {
    use rustix::process::Uid;
    use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};
    let others: Vec<Gid> = others.iter().copied().map(Gid::from_raw).collect();
    let does = thread::spawn(move || {
        set_thread_groups(&others).unwrap();
        set_thread_gid(Gid::from_raw(group)).unwrap();
        set_thread_uid(Uid::from_raw(user)).unwrap();
        does()
    });
    does.join().unwrap()
}

fn asked_by(path: &Path, user: u32, group: u32, others: &[u32], request: Request) -> Result<Answer, String> {
    let path = path.to_path_buf();
    other(user, group, others, move || ask(&path, &request).map_err(|failure| failure.to_string()))
}

#[test]
fn group_members_change_and_others_are_refused() {
    if !may_be_others() {
        return;
    }
    let (_folder, path) = place();
    let listener = Listener::new(&path, Some(4242), true).unwrap();
    answering(listener, || {
        let many: Vec<u32> = (10_000..10_100).chain([4242]).collect();
        let paused = |user, group, others: &[u32]| asked_by(&path, user, group, others, Request::Pause);
        let allowed = [paused(0, 0, &[]), paused(1000, 4242, &[]), paused(1000, 1000, &many)];
        assert_eq!(allowed, [(); 3].map(|()| Ok(Answer::Done("paused".into()))));
        let refused = paused(1000, 1000, &[4241, 4243]);
        assert!(
            matches!(&refused, Ok(Answer::Refused(why)) if why.contains("or members of group 4242")),
            "{refused:?}"
        );
    });
}

/// The file's mode is checked against unix(7): connecting needs write permission.
#[test]
fn socket_is_for_a_group_by_default() {
    if !may_be_others() {
        return;
    }
    let (_folder, path) = place();
    for (group, own) in [(None, getegid().as_raw()), (Some(4242), 4242)] {
        let listener = Listener::new(&path, group, false).unwrap();
        listener.show(status());
        let there = fs::symlink_metadata(&path).unwrap();
        assert_eq!(there.permissions().mode() & 0o777, 0o660);
        assert_eq!((listener.lack(), std::os::unix::fs::MetadataExt::gid(&there)), (None, own));
        let stranger = asked_by(&path, 1000, 1000, &[], Request::Status).unwrap_err();
        assert!(stranger.contains("only the socket's group may ask"), "{stranger}");
        let member = asked_by(&path, 1000, 1000, &[own], Request::Status);
        assert!(matches!(member, Ok(Answer::Status(_))), "{member:?}");
    }
}

#[test]
fn nonsense_is_refused_second_daemon_noticed() {
    let (_folder, path) = place();
    let refused = ask(&path, &Request::Status).unwrap_err().to_string();
    assert!(refused.contains("no gateway runs"), "{refused}");
    let listener = Listener::new(&path, None, false).unwrap();
    assert!(Listener::new(&path, None, false).is_err(), "another daemon answers there");
    let mut stream = UnixStream::connect(&path).unwrap();
    let _ = stream.write_all(&[b'x'; 10_000]);
    let mut line = String::new();
    let _ = BufReader::new(stream).read_line(&mut line);
    assert!(line.contains("refused"), "{line}");
    assert!(listener.take().is_none());
    drop(listener);
    assert!(!path.exists());
}

/// Slow, silent and flooding clients, and clients that do not read: root still gets answers, and the
/// loop gets no request.
#[test]
fn root_is_answered_amid_attacks() {
    if !may_be_others() {
        return;
    }
    let (_folder, path) = place();
    let listener = Listener::new(&path, None, true).unwrap();
    // An answer that fits in no socket's buffer.
    let large = Status { decision: "x".repeat(4 << 20), ..status() };
    listener.show(large);
    let ends = Arc::new(AtomicBool::new(false));
    let attacks: Vec<_> = (0..4_u32)
        .map(|attacker| {
            let (path, ends) = (path.clone(), Arc::clone(&ends));
            thread::spawn(move || {
                other(2000 + attacker, 2000, &[], move || {
                    let mut held = Vec::new();
                    while !ends.load(Ordering::Relaxed) {
                        let Ok(mut stream) = UnixStream::connect(&path) else { continue };
                        stream.set_nonblocking(true).unwrap();
                        // Clients that are silent, slow, do not read, or flood.
                        let said: &[u8] =
                            [&b""[..], b" ", b"\"status\"\n", b"\"status\"\n"][attacker as usize];
                        let _ = stream.write_all(said);
                        held.push(stream);
                        if held.len() > 100 || attacker == 3 {
                            held.clear();
                        }
                    }
                });
            })
        })
        .collect();
    thread::sleep(Duration::from_millis(100));
    let mut longest = Duration::ZERO;
    for _ in 0..20 {
        let begun = Instant::now();
        assert!(matches!(ask(&path, &Request::Status), Ok(Answer::Status(_))));
        longest = longest.max(begun.elapsed());
    }
    assert!(listener.take().is_none(), "the loop is asked for nothing");
    ends.store(true, Ordering::Relaxed);
    attacks.into_iter().for_each(|attack| attack.join().unwrap());
    assert!(longest < Duration::from_secs(2), "{longest:?}");
}

#[test]
fn answer_arrives_when_the_daemon_ends() {
    let (_folder, path) = place();
    let listener = Listener::new(&path, None, false).unwrap();
    let asks = thread::spawn({
        let path = path.clone();
        move || ask(&path, &Request::HandOver)
    });
    let ticket = loop {
        match listener.take() {
            Some((ticket, request)) => {
                assert_eq!(request, Request::HandOver);
                break ticket;
            }
            None => thread::sleep(Duration::from_millis(1)),
        }
    };
    listener.reply(ticket, Answer::Done("it ends".into()));
    drop(listener);
    assert_eq!(asks.join().unwrap(), Ok(Answer::Done("it ends".into())));
}

/// `at_ms` is the time of the loop's last pass: it reveals a daemon that hangs.
#[test]
fn status_has_the_time_of_the_loop() {
    let (_folder, path) = place();
    let listener = Listener::new(&path, None, false).unwrap();
    let begins = ask(&path, &Request::Status).unwrap();
    assert!(matches!(begins, Answer::Refused(_)), "{begins:?}");
    let at = |listener: &Listener, ms| {
        listener.is_alive(ms);
        listener.show(status());
        let Ok(Answer::Status(status)) = ask(&path, &Request::Status) else { panic!("no status") };
        status.at_ms
    };
    assert_eq!(at(&listener, 5), status().at_ms);
    assert_eq!(at(&listener, 1_800_000_000_000), 1_800_000_000_000);
}
