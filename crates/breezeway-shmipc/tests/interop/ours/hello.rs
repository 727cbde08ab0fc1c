//! The two programs of upstream's quick start.

use std::io::Read;

use super::settings::Settings;
use super::{Outcome, say};

const REQUEST: &[u8] = b"client say hello world!!!";
const RESPONSE: &[u8] = b"server hello world!!!";

/// Answers the request of one client with the response.
pub(super) fn serve(settings: &Settings) -> Outcome<()> {
    let server = settings.listen()?;
    let session = server.accept().ok_or("the server was stopped")?;
    let mut stream = session.accept()?;
    let mut received = [0; REQUEST.len()];
    stream.read_exact(&mut received)?;
    say(format_args!("server receive request message:{}", String::from_utf8_lossy(&received)));
    stream.send(RESPONSE)?;
    // A session that ends at once loses what was sent: the client closes when it has read.
    stream.read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Sends the request and prints the response.
pub(super) fn call(settings: &Settings) -> Outcome<()> {
    let client = settings.connect()?;
    let mut stream = client.open()?;
    stream.send(REQUEST)?;
    let mut received = [0; RESPONSE.len()];
    stream.read_exact(&mut received)?;
    say(format_args!("client stream receive response {}", String::from_utf8_lossy(&received)));
    Ok(())
}
