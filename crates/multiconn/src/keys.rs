//! Keys: Ed25519, as lines of text; secret ones in files that only their owner may read.

use crate::Mistake;
use evenair_service::file::sync_folder;
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

/// Precedes a public key's 32 bytes in a `SubjectPublicKeyInfo` (RFC 8410 §4).
const SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
/// Precedes a secret key's 32 bytes in PKCS #8 (RFC 8410 §7).
const PKCS8: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
/// The prefix of a secret key's line.
const SECRET: &str = "evenair-secret-ed25519:";

/// A public key; as text `ed25519:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// Returns the key in a certificate's place (RFC 7250), if it is an Ed25519 key.
    pub fn from_spki(spki: &[u8]) -> Option<Self> {
        spki.strip_prefix(&SPKI)?.try_into().ok().map(Self)
    }

    /// Encodes the key in a certificate's place.
    pub(crate) fn spki(self) -> CertificateDer<'static> {
        [SPKI.as_slice(), &self.0].concat().into()
    }

    /// Returns a name for the key that may be sent unencrypted; it selects a key of a relay that has two.
    pub(crate) fn server_name(self) -> String {
        let digest = ring::digest::digest(&ring::digest::SHA256, &self.0);
        format!("k{}.relay", hex(&digest.as_ref()[..16]))
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ed25519:{}", hex(&self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The error of a text that is no public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoKey;

impl fmt::Display for NoKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a public key is ed25519: and 64 hexadecimal digits, as `evenair multiconn keygen` prints it",
        )
    }
}

impl std::error::Error for NoKey {}

impl FromStr for PublicKey {
    type Err = NoKey;

    fn from_str(text: &str) -> Result<Self, NoKey> {
        text.trim().strip_prefix("ed25519:").and_then(unhex).map(Self).ok_or(NoKey)
    }
}

impl TryFrom<String> for PublicKey {
    type Error = NoKey;

    fn try_from(text: String) -> Result<Self, NoKey> {
        text.parse()
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> Self {
        key.to_string()
    }
}

/// A secret key.
#[derive(Clone)]
pub struct SecretKey {
    seed: [u8; 32],
    public: PublicKey,
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the secret key of {}", self.public)
    }
}

impl SecretKey {
    /// Generates a key from the system's randomness.
    ///
    /// # Panics
    /// If the system has none.
    pub fn generate() -> Self {
        let mut seed = [0; 32];
        SystemRandom::new().fill(&mut seed).expect("the system has randomness");
        Self::of(seed)
    }

    fn of(seed: [u8; 32]) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).expect("32 bytes are a seed");
        let mut public = [0; 32];
        public.copy_from_slice(pair.public_key().as_ref());
        Self { seed, public: PublicKey(public) }
    }

    /// Returns its public key.
    pub fn public(&self) -> PublicKey {
        self.public
    }

    /// Parses the text of a file.
    pub fn parse(text: &str) -> Option<Self> {
        text.trim().strip_prefix(SECRET).and_then(unhex).map(Self::of)
    }

    /// Reads a file that only its owner may read.
    ///
    /// # Errors
    /// If others may, or it holds no key.
    pub fn load(path: &Path) -> Result<Self, Mistake> {
        let name = path.display().to_string();
        let open = || {
            let mut file = std::fs::File::open(path)?;
            let mode = file.metadata()?.mode();
            let mut text = String::new();
            io::Read::by_ref(&mut file).take(1024).read_to_string(&mut text)?;
            Ok((mode, text))
        };
        let (mode, text) = open().map_err(|error: io::Error| {
            let hint = if error.kind() == io::ErrorKind::NotFound {
                "; make one: evenair multiconn keygen"
            } else {
                ""
            };
            Mistake::of(&name, format!("{error}{hint}"))
        })?;
        if mode & 0o077 != 0 {
            let why = format!("others may read it (mode {:o}); chmod 600 {name}", mode & 0o777);
            return Err(Mistake::of(&name, why));
        }
        Self::parse(&text).ok_or_else(|| {
            Mistake::of(&name, "no secret key of evenair's; make one: evenair multiconn keygen")
        })
    }

    /// Writes a new file that only its owner may read.
    ///
    /// # Errors
    /// If there is one already, or it cannot be written.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        writeln!(file, "{SECRET}{}", hex(&self.seed))?;
        file.sync_all()?;
        path.parent().map_or(Ok(()), sync_folder)
    }

    /// Returns the raw key with its signer, for TLS.
    pub(crate) fn certified(&self) -> Arc<CertifiedKey> {
        let der = PrivatePkcs8KeyDer::from([PKCS8.as_slice(), &self.seed].concat());
        let signs = rustls::crypto::ring::sign::any_eddsa_type(&der).expect("32 bytes are a key");
        Arc::new(CertifiedKey::new(vec![self.public.spki()], signs))
    }
}

/// Returns bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != 2 * N || !text.bytes().all(|c| c.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_key_reads_back_and_its_file_is_its_owners() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.key");
        let key = SecretKey::generate();
        key.save(&path).unwrap();
        assert!(key.save(&path).is_err(), "never over another");
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(SecretKey::load(&path).unwrap().public(), key.public());
        assert_eq!(key.public().to_string().parse(), Ok(key.public()));
        assert_eq!(PublicKey::from_spki(&key.public().spki()), Some(key.public()));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let why = SecretKey::load(&path).unwrap_err().to_string();
        assert!(why.contains("chmod 600"), "{why}");
        let none = SecretKey::load(&folder.path().join("b.key")).unwrap_err().to_string();
        assert!(none.contains("keygen"), "{none}");
        assert!(!format!("{key:?}").contains(&hex(&key.seed)));
    }

    #[test]
    fn the_public_key_of_a_known_secret_one() {
        // RFC 8032 §7.1, test 1.
        let seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
        let key = SecretKey::parse(&format!("{SECRET}{seed}\n")).unwrap();
        let public = "ed25519:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
        assert_eq!(key.public().to_string(), public);
    }

    #[test]
    fn bad_key_is_refused() {
        for text in ["", "ed25519:", "ed25519:zz", "rsa:00", &format!("ed25519:{}", "é".repeat(32))] {
            assert_eq!(text.parse::<PublicKey>(), Err(NoKey), "{text}");
            assert!(SecretKey::parse(text).is_none());
        }
    }
}
