//! One stream of quinn with CUBIC, as a tunnel: a contender of validation/multiconn/live.py.
//!
//!     forward serve PORT CERTIFICATE TO      # each stream that comes goes on to the TCP port TO of this machine
//!     forward connect HOST:PORT CERTIFICATE LOCAL
//!
//! CERTIFICATE is a file that `serve` writes and `connect` waits for. One way only: data from LOCAL are carried over.

use quinn::congestion::CubicConfig;
use quinn::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig, VarInt};
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};

/// Windows that nothing here reaches: the congestion window decides.
const WINDOW: u32 = 1 << 26;

fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(CubicConfig::default()));
    transport.receive_window(WINDOW.into()).stream_receive_window(WINDOW.into()).send_window(WINDOW.into());
    transport.max_idle_timeout(Some(VarInt::from_u32(60_000).into()));
    Arc::new(transport)
}

async fn serve(port: u16, certificate: &Path, to: u16) -> Result<(), Box<dyn Error>> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()])?;
    let key = made.signing_key.serialize_der().try_into()?;
    let mut config = ServerConfig::with_single_cert(vec![made.cert.der().clone()], key)?;
    config.transport_config(transport());
    let endpoint = Endpoint::server(config, SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port))?;
    // A reader that waits for it finds all of it.
    let draft = certificate.with_extension("draft");
    std::fs::write(&draft, made.cert.der())?;
    std::fs::rename(&draft, certificate)?;
    while let Some(incoming) = endpoint.accept().await {
        let connection = incoming.await?;
        tokio::spawn(async move { while passes_on(&connection, to).await.is_ok() {} });
    }
    Ok(())
}

/// The next stream of a connection goes on to a port.
async fn passes_on(connection: &Connection, to: u16) -> Result<(), Box<dyn Error>> {
    let mut stream = connection.accept_uni().await?;
    let mut socket = TcpStream::connect((Ipv4Addr::LOCALHOST, to)).await?;
    tokio::spawn(async move { tokio::io::copy(&mut stream, &mut socket).await });
    Ok(())
}

async fn connect(to: &str, certificate: &Path, local: u16) -> Result<(), Box<dyn Error>> {
    while !certificate.exists() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let mut roots = rustls::RootCertStore::empty();
    roots.add(std::fs::read(certificate)?.into())?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(transport());
    let mut endpoint = Endpoint::client(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0))?;
    endpoint.set_default_client_config(config);
    let to = to.to_socket_addrs()?.find(SocketAddr::is_ipv4).ok_or("it has no IPv4 address")?;
    let connection = endpoint.connect(to, "localhost")?.await?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, local)).await?;
    loop {
        let (mut socket, _) = listener.accept().await?;
        let mut stream = connection.open_uni().await?;
        tokio::spawn(async move {
            let _ = tokio::io::copy(&mut socket, &mut stream).await;
            let _ = stream.shutdown().await;
        });
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", port, certificate, to] => serve(port.parse()?, certificate.as_ref(), to.parse()?).await,
        ["connect", to, certificate, local] => connect(to, certificate.as_ref(), local.parse()?).await,
        _ => Err("forward serve PORT CERTIFICATE TO, or forward connect HOST:PORT CERTIFICATE LOCAL".into()),
    }
}
