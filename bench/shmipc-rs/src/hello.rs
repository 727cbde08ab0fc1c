//! The two programs of upstream's quick start.

use crate::message::{read_available, read_exactly, send};
use crate::settings::Settings;
use anyhow::Result;

const REQUEST: &str = "client say hello world!!!";
const RESPONSE: &str = "server hello world!!!";

/// Answers the request of one client with the response.
pub(crate) async fn serve(settings: &Settings) -> Result<()> {
    let mut listener = settings.listen().await?;
    let mut stream = listener.accept().await?;
    let received = read_exactly(&mut stream, REQUEST.len()).await?;
    println!("server receive request message:{}", String::from_utf8(received)?);
    send(&mut stream, RESPONSE.as_bytes()).await?;
    // A session that ends at once loses what was sent: the client closes when it has read.
    read_available(&mut stream, |_| {}).await?;
    Ok(())
}

/// Sends the request and prints the response.
pub(crate) async fn call(settings: &Settings) -> Result<()> {
    let client = settings.connect().await?;
    let mut stream = client.get_stream()?;
    send(&mut stream, REQUEST.as_bytes()).await?;
    let received = read_exactly(&mut stream, RESPONSE.len()).await?;
    println!("client stream receive response {}", String::from_utf8(received)?);
    stream.close().await?;
    client.close().await;
    Ok(())
}
