//! Commands that keep two CPUs busy. Each test runs alone, because two in parallel would only wait
//! for each other's spinning.

mod compare;
mod floor;

#[path = "../support/mod.rs"]
mod support;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Both CPUs, for as long as the guard lives.
fn both_cpus() -> MutexGuard<'static, ()> {
    static CPUS: Mutex<()> = Mutex::new(());
    let allowed = breezeway_os::cpu::allowed();
    assert!(
        allowed.len() >= 2,
        "this test needs two CPUs and may use {allowed:?}; to leave it out: \
         cargo test -p breezeway-cli --test command"
    );
    // A test that failed has left nothing that matters to the next.
    CPUS.lock().unwrap_or_else(PoisonError::into_inner)
}
