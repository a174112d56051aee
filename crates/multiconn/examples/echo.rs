//! Two ends in one program: one listens and sends back its input, the other connects to it. `cargo run -p evenair-multiconn
//! --example echo`
#![allow(clippy::print_stdout, reason = "it is a program")]

use evenair_multiconn::authorised::{Authorised, Entry};
use evenair_multiconn::keys::SecretKey;
use evenair_multiconn::listen::Source;
use evenair_multiconn::{ConnectOptions, ListenOptions, connect, listen};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    tokio::runtime::Runtime::new()?.block_on(async {
        let (there, here) = (SecretKey::generate(), SecretKey::generate());
        let who = Authorised::new("this program", vec![Entry::new("me", here.public())])?;
        let options = ListenOptions::new("127.0.0.1:0".parse()?, there.clone(), Source::These(who));
        let mut listener = listen(options).await?;
        let address = listener.addresses()[0];
        tokio::spawn(async move {
            while let Some(accepted) = listener.accept().await {
                let (mut hears, mut says) = tokio::io::split(accepted.stream);
                tokio::spawn(async move {
                    let _ = tokio::io::copy(&mut hears, &mut says).await;
                    let _ = says.shutdown().await;
                });
            }
        });
        let client = connect(ConnectOptions::new(address.to_string(), there.public(), here)).await?;
        let mut stream = client.open().await?;
        stream.write_all(b"hello over as many connections as the law says").await?;
        stream.shutdown().await?;
        let mut heard = String::new();
        stream.read_to_string(&mut heard).await?;
        println!("{heard}");
        Ok(())
    })
}
