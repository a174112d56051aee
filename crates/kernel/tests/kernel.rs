//! Tests on the running kernel, under separate names (`evenair_quic_a` and so on), so that a user's loaded
//! laws stay untouched. They need root outside of any user namespace; without that, or without BTF, each test
//! is skipped.
#![cfg(target_os = "linux")]

use evenair_kernel::law::{Law, encode, with};
use evenair_kernel::sockets::Look;
use evenair_kernel::{Loaded, Trouble, Wanted, load, pins};
use evenair_linux::bpf::{self, Kind};
use evenair_linux::tcp;
use std::io::{ErrorKind, Read};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Puts a law into force under a separate name; returns none, and prints the reason, if the machine does not
/// support it.
fn in_force(law: Law, mark: &str, settings: &[&str]) -> Option<(Loaded, OwnedFd)> {
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    let params = with(&law.defaults(), &settings).unwrap();
    match load(&Wanted { params, for_everybody: false, mark: mark.into() }, None) {
        Ok(loaded) => {
            let link = pins::attach(&loaded).unwrap();
            Some((loaded, link))
        }
        Err(trouble @ (Trouble::Unprivileged | Trouble::OldKernel(_) | Trouble::NoTypes(_))) => {
            evenair_needs::skip("eBPF congestion control", trouble);
            None
        }
        Err(trouble) => panic!("{trouble}"),
    }
}

/// Returns a connection over the loopback: a sender with this congestion control, and the receiving end.
fn connection(control: &str) -> std::io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let sender = TcpStream::connect(listener.local_addr()?)?;
    tcp::set_congestion_control(&sender, control)?;
    Ok((sender, listener.accept()?.0))
}

/// Sends bytes, and returns the number received; the connection stays open.
fn carry(sender: &mut TcpStream, receiver: &mut TcpStream, bytes: u64) -> u64 {
    thread::scope(|scope| {
        let reader = scope.spawn(|| std::io::copy(&mut receiver.take(bytes), &mut std::io::sink()).unwrap());
        std::io::copy(&mut std::io::repeat(7).take(bytes), sender).unwrap();
        reader.join().unwrap()
    })
}

/// Kernels before 6.4 are refused by their version, in one line; later ones are not too old. `cargo xtask
/// foreign` tests Debian's 6.1.
#[test]
fn an_older_kernel_is_refused_by_its_version() {
    let release = evenair_linux::kernel();
    let mut numbers =
        release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse::<u32>().unwrap());
    let old = (numbers.next().unwrap(), numbers.next().unwrap()) < (6, 4);
    for law in Law::ALL {
        let wanted = Wanted { params: law.defaults(), for_everybody: false, mark: "_o".into() };
        match load(&wanted, None) {
            Err(trouble @ Trouble::OldKernel(_)) => {
                let line = trouble.to_string();
                assert!(old && line.starts_with(&format!("Linux {release} cannot load")), "{line}");
                assert!(!line.contains('\n') && line.ends_with("boot a newer kernel"), "{line}");
            }
            other => assert!(!old, "{other:?}"),
        }
    }
}

#[test]
fn each_law_carries_ten_megabytes_and_is_seen() {
    for law in Law::ALL {
        let Some((loaded, link)) = in_force(law, "_a", &[]) else { return };
        let control = format!("{}_a", law.control());
        let (mut sender, mut receiver) = connection(&control).unwrap();
        assert_eq!(carry(&mut sender, &mut receiver, 10_000_000), 10_000_000);
        let seen = Look::new().unwrap().take().unwrap();
        let own = seen.iter().find(|socket| socket.from == sender.local_addr().unwrap()).unwrap();
        assert_eq!((own.law, own.to), (law.name(), sender.peer_addr().unwrap()));
        // The law's window equals the kernel's, and it has a sample.
        assert_eq!(own.law_window as u32, own.window, "{own:?}");
        assert!(own.window >= 2 && own.base_us.is_some(), "{own:?}");
        // The number of steps depends on the loopback (a window that no sender fills takes none); QUIC-TCP's
        // begin after slow start.
        assert!(law != Law::QuicTcp || own.steps == 0 || own.threshold.is_some(), "{own:?}");
        assert_eq!(pins::users(&loaded.functions).unwrap(), 2, "the socket and the link");
        drop(link);
        assert_eq!(
            tcp::set_congestion_control(TcpListener::bind("127.0.0.1:0").unwrap(), &control)
                .unwrap_err()
                .kind(),
            ErrorKind::NotFound
        );
        assert_eq!(pins::users(&loaded.functions).unwrap(), 1, "the socket keeps it");
        drop(sender);
        wait(|| pins::users(&loaded.functions).unwrap() == 0);
    }
}

/// Another process may hold the link of a law that is unloaded.
#[test]
fn a_detached_law_is_out_of_force_at_once() {
    let Some((loaded, link)) = in_force(Law::Vegas, "_y", &[]) else { return };
    let (sender, _receiver) = connection("evenair_vegas_y").unwrap();
    if let Err(error) = bpf::detach(&link) {
        return evenair_needs::skip("eBPF congestion control", format!("no detaching: {error}"));
    }
    assert_eq!(pins::users(&loaded.functions).unwrap(), 1, "the socket alone");
    assert_eq!(connection("evenair_vegas_y").unwrap_err().kind(), ErrorKind::NotFound);
    drop(sender);
    wait(|| pins::users(&loaded.functions).unwrap() == 0);
    drop(link);
}

/// Waits, for at most a minute, for a delayed action of the kernel, which itself waits for all processors.
fn wait(holds: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < until, "it does not come");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn parameters_are_read_and_bad_ones_refused() {
    let Some((loaded, _link)) = in_force(Law::QuicTcp, "_b", &["p=3"]) else { return };
    let numbers = |map: &OwnedFd| bpf::read(map).unwrap();
    assert_eq!(numbers(&loaded.parameters)[..8], (3_u64 << 16).to_le_bytes());
    let params = with(&Law::QuicTcp.defaults(), &["p=5".into(), "rho=1".into()]).unwrap();
    let bytes: Vec<u8> = encode(&params).unwrap().iter().flat_map(|n| n.to_le_bytes()).collect();
    bpf::write(&loaded.parameters, &bytes).unwrap();
    assert_eq!(numbers(&loaded.parameters), bytes);
    assert_eq!(bpf::write(&loaded.parameters, &bytes[8..]).unwrap_err().kind(), ErrorKind::InvalidInput);
    // A second one of the same name is refused, and the error has the name.
    let again = Wanted { params, for_everybody: true, mark: "_b".into() };
    let again = load(&again, None).unwrap();
    assert!(matches!(pins::attach(&again), Err(Trouble::Held(name)) if name == "evenair_quic_b"));
}

#[test]
fn sockets_are_moved_to_another_law() {
    let Some((loaded, link)) = in_force(Law::Fast, "_c", &[]) else { return };
    let (mut sender, mut receiver) = connection("evenair_fast_c").unwrap();
    assert_eq!(carry(&mut sender, &mut receiver, 1000), 1000);
    drop(link);
    let seen = Look::moving("evenair_fast_c", "reno").unwrap().take().unwrap();
    assert_eq!((seen.len(), seen[0].moved), (1, 0), "{seen:?}");
    assert_eq!(rustix::net::sockopt::tcp_congestion(&sender).unwrap(), "reno");
    wait(|| pins::users(&loaded.functions).unwrap() == 0);
    assert_eq!(carry(&mut sender, &mut receiver, 1_000_000), 1_000_000);
}

/// A hundred laws, or a thousand if `EVENAIR_TEN_THOUSAND` is set, are loaded, replaced and unloaded while
/// sockets open, send and close. None fails, and no program, map or link remains.
#[test]
fn laws_that_come_and_go_leave_nothing() {
    let turns = if std::env::var_os("EVENAIR_TEN_THOUSAND").is_some() { 500 } else { 50 };
    if in_force(Law::QuicTcp, "_d", &[]).is_none() {
        return;
    }
    let (over, carried, chosen) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let mut made = (Vec::new(), Vec::new(), Vec::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                match connection("evenair_quic_d") {
                    Ok((mut sender, mut receiver)) => {
                        carried.fetch_add(carry(&mut sender, &mut receiver, 100_000), Ordering::Relaxed);
                        chosen.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{error}"),
                }
            }
        });
        for turn in 0..turns {
            let (loaded, link) = in_force(Law::QuicTcp, "_d", &["p=20"]).unwrap();
            let params = with(&Law::QuicTcp.defaults(), &[format!("p={}", 1 + turn)]).unwrap();
            let next = load(&Wanted { params, for_everybody: true, mark: "_d".into() }, None).unwrap();
            if turn % 10 == 0 {
                thread::sleep(Duration::from_millis(20)); // long enough for a connection
            }
            bpf::replace_struct_ops(&link, &next.functions).unwrap();
            for loaded in [&loaded, &next] {
                made.0.extend(loaded.programs.iter().map(|(_, info)| info.id));
                made.1.extend([&loaded.functions, &loaded.parameters].map(|map| bpf::number(map).unwrap()));
            }
            made.2.push(bpf::number(&link).unwrap());
        }
        over.store(true, Ordering::Relaxed);
    });
    let (carried, chosen) = (carried.into_inner(), chosen.into_inner());
    assert!(chosen > 0 && carried == 100_000 * chosen, "{chosen} connections carried {carried} bytes");
    assert_eq!((made.0.len(), made.1.len(), made.2.len()), (14 * turns, 4 * turns, turns));
    wait(|| {
        let left =
            |kind, made: &[u32]| bpf::numbers(kind).unwrap().iter().any(|number| made.contains(number));
        !left(Kind::Program, &made.0) && !left(Kind::Map, &made.1) && !left(Kind::Link, &made.2)
    });
    eprintln!("{chosen} connections while {} laws came and went", 2 * turns);
}
