//! Measures breezeway-rpc beside Volo over unix sockets, and with `kitex`, beside Kitex: two
//! processes, each pinned to a CPU of its own, measured in turn. Servers are this program too.
#![deny(unsafe_code)]

mod kitex;
mod load;
mod ours;
mod servers;
mod table;
mod volo;

use anyhow::{Result, bail};

/// CPUs of the server and of the client.
const SERVER_CPU: usize = 0;
const CLIENT_CPU: usize = 1;

fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["volo"] => runtime()?.block_on(volo::beside()),
        ["paced"] => runtime()?.block_on(volo::beside_paced()),
        ["kitex", program] => kitex::beside(program),
        ["call", address, millis] => ours::call(address, millis.parse()?),
        ["call-awaited", address, millis] => ours::call_awaited(address, millis.parse()?),
        ["serve", what, address] => {
            breezeway_os::cpu::pin_current_thread(SERVER_CPU)?;
            servers::serve(what, address)
        }
        _ => bail!("usage: rpc-peers volo | paced | kitex PROGRAM"),
    }
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    breezeway_os::cpu::pin_current_thread(CLIENT_CPU)?;
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}
