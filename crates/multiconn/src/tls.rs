//! TLS 1.3 with raw public keys on both sides (RFC 7250): a peer's identity is its key, and nothing else.

use crate::keys::{PublicKey, SecretKey};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig,
    SignatureScheme,
};
use std::sync::Arc;

/// The protocol with its version.
const PROTOCOL: &[u8] = b"evenair-multiconn/1";

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Returns a client's configuration: its own key, and the keys accepted of a relay.
pub(crate) fn client(own: &SecretKey, relays: Vec<PublicKey>) -> Result<ClientConfig, Error> {
    let provider = provider();
    let verifier = Arc::new(Relays { keys: relays, provider: Arc::clone(&provider) });
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(own.certified())));
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.resumption = Resumption::disabled();
    Ok(config)
}

/// Returns a relay's configuration: its own keys, and the clients' keys that it accepts.
pub(crate) fn relay(own: &[SecretKey], knows: Arc<dyn Knows>) -> Result<ServerConfig, Error> {
    let provider = provider();
    let keys = own.iter().map(|key| (key.public().server_name(), key.certified())).collect();
    let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(Arc::new(Clients { knows, provider }))
        .with_cert_resolver(Arc::new(Own(keys)));
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    // Nothing is kept of a peer beyond its connection.
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
    Ok(config)
}

/// The keys that a relay accepts.
pub(crate) trait Knows: std::fmt::Debug + Send + Sync {
    fn knows(&self, key: PublicKey) -> bool;
}

/// The keys of a relay, by the names that clients request; the first answers all other requests.
#[derive(Debug)]
struct Own(Vec<(String, Arc<CertifiedKey>)>);

impl ResolvesServerCert for Own {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let asked = self.0.iter().find(|(name, _)| hello.server_name() == Some(name));
        asked.or(self.0.first()).map(|(_, key)| Arc::clone(key))
    }

    fn only_raw_public_keys(&self) -> bool {
        true
    }
}

fn refused() -> Error {
    CertificateError::ApplicationVerificationFailure.into()
}

fn signature(
    message: &[u8],
    key: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
    provider: &CryptoProvider,
) -> Result<HandshakeSignatureValid, Error> {
    let key = SubjectPublicKeyInfoDer::from(key.as_ref());
    verify_tls13_signature_with_raw_key(message, &key, signed, &provider.signature_verification_algorithms)
}

/// The methods that both sides' verifiers share: raw public keys, Ed25519 under TLS 1.3, and nothing else.
macro_rules! ed25519_under_tls13_only {
    () => {
        fn verify_tls12_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Err(refused())
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            key: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            signature(message, key, signed, &self.provider)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            vec![SignatureScheme::ED25519]
        }

        fn requires_raw_public_keys(&self) -> bool {
            true
        }
    };
}

/// The relay's keys that a client accepts.
#[derive(Debug)]
struct Relays {
    keys: Vec<PublicKey>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Relays {
    fn verify_server_cert(
        &self,
        key: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let key = PublicKey::from_spki(key).filter(|key| self.keys.contains(key));
        key.map(|_| ServerCertVerified::assertion()).ok_or_else(refused)
    }

    ed25519_under_tls13_only!();
}

/// The clients that a relay accepts.
#[derive(Debug)]
struct Clients {
    knows: Arc<dyn Knows>,
    provider: Arc<CryptoProvider>,
}

impl ClientCertVerifier for Clients {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        key: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let key = PublicKey::from_spki(key).filter(|key| self.knows.knows(*key));
        key.map(|_| ClientCertVerified::assertion()).ok_or_else(refused)
    }

    ed25519_under_tls13_only!();
}
