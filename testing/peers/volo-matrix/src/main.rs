//! Volo in the service matrix: alone (volo), in TTHeader on sockets, and over Breezeway sessions
//! (breezeway-volo).
//!
//! ```text
//! volo-matrix serve volo ADDRESS                serves until standard input ends
//! volo-matrix call breezeway-volo ADDRESS CASE  runs a client's case, and prints "ok"
//! ```

mod client;
#[path = "volo_gen.rs"]
#[allow(warnings, unreachable_pub, missing_docs, unsafe_code, reason = "generated")]
#[allow(clippy::undocumented_unsafe_blocks, reason = "generated")]
#[rustfmt::skip]
mod generated;
mod server;

use std::process::ExitCode;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Result of a client's case: an error names the deviation.
type Outcome = Result<(), String>;

#[tokio::main]
async fn main() -> ExitCode {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Each concurrent call has a connection. Without, a case may fail, and names the limit.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["serve", "volo", address] => server::serve(path(address)).await,
        ["serve", "breezeway-volo", address] => server::serve_sessions(address).await,
        ["call", "volo", address, case] => {
            let client = client::Clients::Plain(path(address).to_owned());
            client::call(&client, case).await.map(|()| println!("ok"))
        }
        ["call", "breezeway-volo", address, case] => match client::Clients::native(address).await {
            Ok(client) => client::call(&client, case).await.map(|()| println!("ok")),
            Err(words) => Err(words),
        },
        _ => Err("volo-matrix serve|call: see src/main.rs".to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(words) => {
            println!("{words}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the socket of an address.
fn path(address: &str) -> &str {
    address.split_once(':').map_or(address, |(_, path)| path)
}
