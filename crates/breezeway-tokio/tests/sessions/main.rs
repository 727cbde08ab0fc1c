//! Sessions under tokio as their users see them, on both kinds of runtime.

mod abi_page;
mod bytes;
mod calls;
mod cancelling;
mod closing;
mod deaths;
mod foreign;
mod generations;
mod handlers;
mod idle;
mod large_echoes;
mod offers;
mod rare_messages;
mod resending;
mod restarting;
mod servers;
mod shortage;
mod socket_bytes;
mod spaces;
mod standing_in;
mod stream_openers;
mod streams;
mod support;
mod vectors;

#[test]
#[ignore = "a process that other tests start"]
fn another_process() {
    support::play(&[
        ("server", support::serve_echo),
        ("client that forks", deaths::client_that_forks),
        ("short server", shortage::serve_short_of_memory),
        ("short client", shortage::call_short_of_memory),
        ("blocking generation", generations::serve_blocking),
        ("tokio generation", generations::serve_tokio),
    ]);
}
