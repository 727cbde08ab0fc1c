//! The server's side of a load.

use std::cell::OnceCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use breezeway::{Call, ForeignBytes, Handler, HandlerError, Replied};

use super::methods::{ECHO, GLANCE, HOLLOW, HOLLOW_BYTES, SINK, TALLY, sum};

/// A handler of the [`methods`](super::methods) that a [`Load`](super::Load) needs.
#[derive(Debug, Default)]
pub struct Echo {
    pub(super) tallies: Tallies,
}

impl Handler for Echo {
    #[inline]
    fn handle(&self, call: Call<'_>) -> Result<Replied, HandlerError> {
        match call.method() {
            ECHO => call.echo(),
            HOLLOW => {
                let len = call.request().len();
                let mut reply = call.reserve(len)?;
                let (request, bytes) = reply.request_and_bytes_mut();
                let few = len.min(HOLLOW_BYTES);
                request.slice(..few).copy_to(&mut bytes[..few]);
                reply.commit()
            }
            SINK => {
                self.tallies.add(call.request());
                call.done()
            }
            GLANCE => {
                let request = call.request();
                self.tallies.add(request.slice(..request.len().min(HOLLOW_BYTES)));
                call.done()
            }
            TALLY => {
                let (count, sum) = self.tallies.total();
                call.reply([count.to_le_bytes(), sum.to_le_bytes()].concat())
            }
            _ => call.no_such_method(),
        }
    }
}

/// Messages that one worker thread has sunk. Only that thread writes.
#[derive(Debug, Default)]
struct Tally {
    count: AtomicU64,
    sum: AtomicU64,
}

/// Messages that all workers have sunk.
#[derive(Debug, Default)]
pub(super) struct Tallies(Mutex<Vec<Arc<Tally>>>);

impl Tallies {
    pub(super) fn add(&self, request: ForeignBytes<'_>) {
        thread_local! {
            static OWN: OnceCell<Arc<Tally>> = const { OnceCell::new() };
        }
        let sum = match request.as_slice() {
            Some(bytes) => sum(bytes),
            None => sum_of_lines(request),
        };
        OWN.with(|own| {
            let own = own.get_or_init(|| {
                let tally = Arc::new(Tally::default());
                self.0.lock().expect("no thread panics with the lock").push(Arc::clone(&tally));
                tally
            });
            let count = own.count.load(Ordering::Relaxed) + 1;
            let sum = own.sum.load(Ordering::Relaxed).wrapping_add(sum);
            own.sum.store(sum, Ordering::Relaxed);
            own.count.store(count, Ordering::Release);
        });
    }

    pub(super) fn total(&self) -> (u64, u64) {
        let tallies = self.0.lock().expect("no thread panics with the lock");
        tallies.iter().fold((0, 0), |(count, sum), tally| {
            let more = tally.count.load(Ordering::Acquire);
            (count + more, sum.wrapping_add(tally.sum.load(Ordering::Relaxed)))
        })
    }
}

fn sum_of_lines(request: ForeignBytes<'_>) -> u64 {
    let mut total = 0u64;
    let all: Result<(), std::convert::Infallible> = request.try_for_each_line(|line| {
        total = total.wrapping_add(sum(line));
        Ok(())
    });
    match all {
        Ok(()) => total,
        Err(never) => match never {},
    }
}
