//! Names, looked up by the system's resolver (getaddrinfo(3)), with its hosts file, its search list and all
//! other configured sources.
//!
//! A lookup with silent servers holds a thread until the resolver gives up, which cannot be shortened: 10 s
//! for each server, by resolv.conf(5). So threads are few, and keys [take turns](super::turns) at them. A
//! name is looked up once for a key, and the answer is kept for a while. Answers are kept by key: no key can
//! infer another's lookups from its own response times.

use super::turns::Turns;
use crate::keys::PublicKey;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// The number of lookup threads.
const THREADS: u32 = 32;
/// The lifetime of an answer: the resolver does not report one, and this is short for a name that changes.
const KEPT: Duration = Duration::from_secs(30);
/// The lifetime of a failed lookup.
const NONE_KEPT: Duration = Duration::from_secs(5);
/// The most answers that are kept of a key.
const ANSWERS_MAX: usize = 256;

/// The addresses of a name; none, if it has none or the servers were silent.
pub(super) type Answer = Arc<[IpAddr]>;

/// The lookup function, called in a thread of its own.
type Resolve = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

/// The names and their answers.
pub(super) struct Names {
    resolve: Box<Resolve>,
    clock: Box<dyn Fn() -> Instant + Send + Sync>,
    turns: Arc<Turns>,
    kept: Mutex<BTreeMap<PublicKey, BTreeMap<String, Kept>>>,
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Names").finish_non_exhaustive()
    }
}

/// An answer, present or pending.
struct Kept {
    answer: Arc<watch::Sender<Option<Answer>>>,
    /// The end of its lifetime; none while it is pending.
    until: Option<Instant>,
}

impl Names {
    /// Uses the system's resolver.
    pub(super) fn of_system() -> Arc<Self> {
        use std::net::ToSocketAddrs as _;
        let resolve = |name: &str| Ok((name, 0).to_socket_addrs()?.map(|address| address.ip()).collect());
        Self::new(Box::new(resolve), Box::new(Instant::now))
    }

    fn new(resolve: Box<Resolve>, clock: Box<dyn Fn() -> Instant + Send + Sync>) -> Arc<Self> {
        Arc::new(Self { resolve, clock, turns: Turns::new(THREADS), kept: Mutex::default() })
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<PublicKey, BTreeMap<String, Kept>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the addresses of a name for a key. It takes as long as the resolver does: the caller bounds
    /// its wait.
    pub(super) async fn look_up(self: &Arc<Self>, key: PublicKey, name: &str) -> Answer {
        let mut answer = self.ask(key, name);
        let found = answer.wait_for(Option::is_some).await.ok().and_then(|answer| answer.clone());
        found.unwrap_or_default()
    }

    /// Returns a present or pending answer, or starts a lookup.
    fn ask(self: &Arc<Self>, key: PublicKey, name: &str) -> watch::Receiver<Option<Answer>> {
        let now = (self.clock)();
        let mut kept = self.kept();
        let own = kept.entry(key).or_default();
        own.retain(|_, one| one.until.is_none_or(|until| now < until));
        if let Some(one) = own.get(name) {
            return one.answer.subscribe();
        }
        if own.len() >= ANSWERS_MAX {
            let first = own.iter().filter(|(_, one)| one.until.is_some()).min_by_key(|(_, one)| one.until);
            let first = first.map(|(name, _)| name.clone());
            first.iter().for_each(|name| drop(own.remove(name)));
        }
        let (answer, waits) = watch::channel(None);
        let answer = Arc::new(answer);
        own.insert(name.into(), Kept { answer: Arc::clone(&answer), until: None });
        tokio::spawn(Arc::clone(self).resolve(key, name.into(), answer));
        waits
    }

    /// Looks a name up at its key's turn, unless no caller waits for the answer any more.
    async fn resolve(
        self: Arc<Self>,
        key: PublicKey,
        name: String,
        answer: Arc<watch::Sender<Option<Answer>>>,
    ) {
        let turn = loop {
            let turn = tokio::select! {
                turn = self.turns.take(key) => Some(turn),
                () = answer.closed() => None,
            };
            let mut kept = self.kept();
            // A caller may have begun to wait in this moment.
            if answer.receiver_count() == 0 {
                kept.entry(key).or_default().remove(&name);
                return;
            }
            if let Some(turn) = turn {
                break turn;
            }
        };
        let (names, asked) = (Arc::clone(&self), name.clone());
        // The turn lasts as long as the thread is held.
        let found = tokio::task::spawn_blocking(move || {
            let found = (names.resolve)(&asked);
            drop(turn);
            found
        });
        let found: Answer = found.await.ok().and_then(Result::ok).unwrap_or_default().into();
        let holds = if found.is_empty() { NONE_KEPT } else { KEPT };
        if let Some(one) = self.kept().get_mut(&key).and_then(|own| own.get_mut(&name)) {
            one.until = Some((self.clock)() + holds);
        }
        answer.send_replace(Some(found));
    }

    /// Forgets the answers of keys without recent lookups.
    pub(super) fn tidy(&self) {
        let now = (self.clock)();
        self.kept().retain(|_, own| {
            own.retain(|_, one| one.until.is_none_or(|until| now < until));
            !own.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::SecretKey;
    use std::sync::Condvar;
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

    /// A resolver in which names that end in "silent" hold their thread until released, with a clock that is
    /// set by hand.
    #[derive(Default)]
    struct Resolver {
        asked: AtomicUsize,
        silent: AtomicUsize,
        seconds: AtomicU64,
        ends: Mutex<bool>,
        changed: Condvar,
    }

    impl Resolver {
        fn begin() -> (Arc<Self>, Arc<Names>) {
            let (own, begun) = (Arc::new(Self::default()), Instant::now());
            let (resolves, clock) = (Arc::clone(&own), Arc::clone(&own));
            let clock = move || begun + Duration::from_secs(clock.seconds.load(Ordering::Relaxed));
            let names = Names::new(Box::new(move |name| resolves.resolve(name)), Box::new(clock));
            (own, names)
        }

        fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            if !name.ends_with("silent") {
                return Ok(vec![IpAddr::from([192, 0, 2, 1])]);
            }
            self.silent.fetch_add(1, Ordering::Relaxed);
            drop(self.changed.wait_while(self.ends.lock().unwrap(), |ends| !*ends).unwrap());
            Err(io::ErrorKind::TimedOut.into())
        }

        fn end(&self) {
            *self.ends.lock().unwrap() = true;
            self.changed.notify_all();
        }

        fn asked(&self) -> usize {
            self.asked.load(Ordering::Relaxed)
        }

        fn passes(&self, seconds: u64) {
            self.seconds.fetch_add(seconds, Ordering::Relaxed);
        }
    }

    #[tokio::test]
    async fn silent_names_of_some_keys_leave_others_theirs() {
        let (resolver, names) = Resolver::begin();
        let keys: Vec<PublicKey> = (0..4).map(|_| SecretKey::generate().public()).collect();
        let mut greedy = Vec::new();
        for (number, key) in keys[..3].iter().enumerate() {
            for name in 0..1600 {
                let (names, key) = (Arc::clone(&names), *key);
                greedy.push(tokio::spawn(async move {
                    names.look_up(key, &format!("k{number}n{name}.silent")).await
                }));
            }
        }
        // They hold their share of threads, and no more.
        while resolver.silent.load(Ordering::Relaxed) < 16 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let begun = Instant::now();
        for name in 0..100 {
            let answer = names.look_up(keys[3], &format!("n{name}.example")).await;
            assert_eq!(*answer, [IpAddr::from([192, 0, 2, 1])]);
        }
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        let held = resolver.silent.load(Ordering::Relaxed);
        assert!(held < THREADS as usize, "{held} threads are held");
        // The waiting callers leave: the rest of their names is not even looked up.
        for one in greedy {
            one.abort();
            let _ = one.await;
        }
        resolver.end();
        let mut left = usize::MAX;
        while left > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            left = names.kept().values().flat_map(BTreeMap::values).filter(|one| one.until.is_none()).count();
        }
        assert!(resolver.asked() < 100 + 2 * THREADS as usize, "{} were asked", resolver.asked());
        let kept: Vec<usize> = names.kept().values().map(BTreeMap::len).collect();
        assert!(
            kept.iter().sum::<usize>() < 100 + 2 * THREADS as usize,
            "nothing is kept of the others: {kept:?}"
        );
    }

    #[tokio::test]
    async fn answer_is_requested_once_by_key_and_kept() {
        let (resolver, names) = Resolver::begin();
        let [anna, ben] = [(); 2].map(|()| SecretKey::generate().public());
        let both = tokio::join!(names.look_up(anna, "a.example"), names.look_up(anna, "a.example"));
        assert_eq!((both.0, resolver.asked()), (both.1, 1));
        names.look_up(ben, "a.example").await;
        assert_eq!(resolver.asked(), 2, "another key learns nothing of it");
        resolver.passes(KEPT.as_secs() - 1);
        names.look_up(anna, "a.example").await;
        assert_eq!(resolver.asked(), 2);
        resolver.passes(2);
        names.look_up(anna, "a.example").await;
        assert_eq!(resolver.asked(), 3);
        for name in 0..2 * ANSWERS_MAX {
            names.look_up(anna, &format!("{name}.example")).await;
        }
        assert!(names.kept()[&anna].len() <= ANSWERS_MAX);
        resolver.passes(KEPT.as_secs());
        names.tidy();
        assert!(names.kept().is_empty(), "nothing is kept of keys that ask no more");
    }
}
