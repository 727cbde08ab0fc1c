//! Threads that change memory, or fill a socket, as fast as they can while something else happens.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Ends the threads also when the attack panics.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `attack` while one thread for each of `flip` calls it with round numbers all the time.
pub fn while_flipping<R>(flip: &[&(dyn Fn(u64) + Sync)], attack: impl FnOnce() -> R) -> R {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = Stop(&stop);
        for flip in flip {
            scope.spawn(|| {
                for round in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    flip(round);
                }
            });
        }
        attack()
    })
}
