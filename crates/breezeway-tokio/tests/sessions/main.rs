//! Sessions under tokio as their users see them, on both kinds of runtime.

mod bytes;
mod calls;
mod cancelling;
mod deaths;
mod idle;
mod servers;
mod streams;
mod support;

#[test]
#[ignore = "a process that other tests start"]
fn another_process() {
    support::play(&[
        ("server", support::serve_echo),
        ("client that forks", deaths::client_that_forks),
    ]);
}
