//! The time of day, by which keys and remembered paths expire. It may be set and may jump, so all waiting
//! uses the monotonic clock instead.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

/// A source of the time of day.
#[derive(Clone)]
pub struct TimeOfDay(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl TimeOfDay {
    /// Returns a custom clock.
    pub fn new(clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(clock))
    }

    pub(crate) fn now(&self) -> SystemTime {
        (self.0)()
    }
}

impl Default for TimeOfDay {
    /// Returns the system's clock.
    fn default() -> Self {
        Self::new(SystemTime::now)
    }
}

impl fmt::Debug for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TimeOfDay({:?})", self.now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authorised::Authorised;
    use crate::connect::ConnectError;
    use crate::keys::SecretKey;
    use crate::listen::{ListenOptions, Listener, Source, Watcher, listen};
    use crate::target::DISCARD;
    use crate::{Client, ConnectOptions, Stream, connect, relay};
    use std::path::Path;
    use std::sync::Mutex;
    use std::time::{Duration, Instant, UNIX_EPOCH};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    /// The first second of 2027.
    const BEGUN: u64 = 1_798_761_600;
    const YEAR: u64 = 365 * 86_400;

    /// A relay with a clock that is set by hand.
    struct Clocked {
        seconds: Arc<Mutex<u64>>,
        watcher: Watcher,
        address: String,
        key: SecretKey,
    }

    impl Clocked {
        /// Starts a relay with keys that expire at given times.
        async fn begin(tenants: &[(&str, &SecretKey, &str)]) -> Self {
            let table = |(name, key, expires): &(&str, &SecretKey, &str)| {
                format!("[[key]]\nname = \"{name}\"\nkey = \"{}\"\n{expires}\n", key.public())
            };
            let authorised = tenants.iter().map(table).collect::<String>();
            let authorised = Authorised::parse("who", &authorised).unwrap();
            let (key, seconds) = (SecretKey::generate(), Arc::new(Mutex::new(BEGUN)));
            let reads = Arc::clone(&seconds);
            let time = move || UNIX_EPOCH + Duration::from_secs(*reads.lock().unwrap());
            let at = "127.0.0.1:0".parse().unwrap();
            let mut options = ListenOptions::new(at, key.clone(), Source::These(authorised));
            options.time_of_day = TimeOfDay::new(time);
            let listener: Listener = listen(options).await.unwrap();
            let (address, watcher) = (listener.addresses()[0].to_string(), listener.watcher());
            tokio::spawn(relay::serve(listener));
            Self { seconds, watcher, address, key }
        }

        async fn connect(&self, key: &SecretKey) -> Result<Client, ConnectError> {
            connect(ConnectOptions::new(self.address.clone(), self.key.public(), key.clone())).await
        }

        /// Sets the time and waits until the relay has read it.
        async fn set(&self, seconds: u64) {
            *self.seconds.lock().unwrap() = seconds;
            tokio::time::sleep(3 * crate::listen::LOOK).await;
        }

        fn names(&self) -> Vec<String> {
            let mut names: Vec<_> = self.watcher.sessions().into_iter().map(|session| session.peer).collect();
            names.sort();
            names
        }
    }

    /// Opens a stream that the relay reads.
    async fn stream(client: &Client) -> Stream {
        let mut stream = client.open().await.unwrap();
        stream.write_all(&DISCARD.encode()).await.unwrap();
        assert_eq!(stream.read_u8().await.unwrap(), 0);
        stream
    }

    /// Returns whether bytes still pass soon: waiting uses another clock.
    async fn passes(client: &Client, stream: &mut Stream) -> bool {
        let before = client.status()[0].sent_bytes;
        let begun = Instant::now();
        stream.write_all(&[1; 10_000]).await.is_ok() && {
            while client.status()[0].sent_bytes < before + 10_000 && begun.elapsed() < Duration::from_secs(20)
            {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            client.status()[0].sent_bytes >= before + 10_000
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn clock_jump_ends_expired_keys_only() {
        let [anna, ben, carla] = [(); 3].map(|()| SecretKey::generate());
        let relay = Clocked::begin(&[
            ("anna", &anna, "expires = 2027-06-01T00:00:00Z"),
            ("ben", &ben, ""),
            ("carla", &carla, "expires = 2030-01-01T00:00:00Z"),
        ])
        .await;
        let mut held = Vec::new();
        for key in [&anna, &ben, &carla] {
            let client = relay.connect(key).await.unwrap();
            let stream = stream(&client).await;
            held.push((client.session_id().unwrap(), client, stream));
        }
        assert_eq!(relay.names(), ["anna", "ben", "carla"]);

        relay.set(BEGUN + YEAR).await;
        assert_eq!(relay.names(), ["ben", "carla"], "a year later");
        let (_, annas, mut broken) = held.remove(0);
        assert!(broken.read_u8().await.is_err(), "her stream has broken");
        assert_eq!(relay.connect(&anna).await.err(), Some(ConnectError::UnknownKey));

        // Back, and further than it ever was; then to the value before any clock is set.
        for seconds in [BEGUN - 20 * YEAR, 0, BEGUN + YEAR] {
            relay.set(seconds).await;
            for (session, client, stream) in &mut held {
                assert!(passes(client, stream).await, "at {seconds}");
                assert_eq!(
                    client.session_id(),
                    Some(*session),
                    "it is the session that it was, at {seconds}"
                );
                assert_eq!((client.status()[0].lost, client.status()[0].stuck), (0, 0), "at {seconds}");
            }
        }
        drop(annas);
        relay.set(BEGUN).await;
        assert!(relay.connect(&anna).await.is_ok(), "where the clock was wrong, her key holds again");
    }

    #[test]
    fn the_time_of_day_is_asked_here_alone() {
        fn files(folder: &Path, found: &mut Vec<String>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    files(&path, found);
                } else if std::fs::read_to_string(&path).unwrap().contains("SystemTime::now") {
                    found.push(path.file_name().unwrap().to_string_lossy().into_owned());
                }
            }
        }
        let mut found = Vec::new();
        files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
        assert_eq!(found, ["clock.rs"], "what waits goes by the monotonic clock");
    }
}
