//! Waiters for streams, to read or to write.

mod reader;

use std::sync::Arc;
use std::task::{Context, Waker};

use super::waiters::replace;

use breezeway_proto::connection::StreamKey;
use reader::Reader;
pub(super) use reader::{QuietStreams, Registration, Waiting, task_of};

/// The waiters of one stream, in a cache line of their own.
#[derive(Default)]
#[repr(align(64))]
struct Waiters {
    reader: Reader<Waker>,
    writer: Option<Waker>,
    /// The waiter for a reset alone. It may be another one than the writer, of the same task.
    watcher: Option<Waker>,
}

const _: () = assert!(size_of::<Waiters>() == 64);

/// Waiters by stream.
#[derive(Default)]
pub(super) struct StreamWaiters {
    streams: Vec<Waiters>,
    quiet: Arc<QuietStreams>,
    /// Number of readers that were registered so far.
    registrations: u64,
}

impl StreamWaiters {
    /// Returns the streams with readers that need not ask.
    pub(super) fn quiet_streams(&self) -> &Arc<QuietStreams> {
        &self.quiet
    }

    fn waiters(&mut self, key: StreamKey) -> &mut Waiters {
        let index = key.index();
        if index >= self.streams.len() {
            self.streams.resize_with(index + 1, Waiters::default);
        }
        &mut self.streams[index]
    }

    /// Remembers the waiter for something to read; returns the one that it replaces.
    #[must_use]
    pub(super) fn set_reader(&mut self, key: StreamKey, cx: &Context<'_>) -> Option<Waker> {
        let next = self.registrations + 1;
        let reader = &mut self.waiters(key).reader;
        if reader.wait_again(|waker| waker.will_wake(cx.waker())) {
            return None;
        }
        let replaced = reader.wait(cx.waker().clone(), next);
        self.registrations = next;
        replaced
    }

    /// Notes that the task of `cx` will wait for something to read, of which there is nothing now.
    /// If it waited before, it need not ask again.
    #[inline]
    pub(super) fn expect_reader(&mut self, key: StreamKey, cx: &Context<'_>) {
        let Some(Waiters { reader, .. }) = self.streams.get_mut(key.index()) else { return };
        if reader.wait_again(|waker| waker.will_wake(cx.waker())) {
            self.quiet.set(key.index());
        }
    }

    /// Remembers the waiter for room to write; returns the one that it replaces.
    #[must_use]
    pub(super) fn set_writer(&mut self, key: StreamKey, cx: &Context<'_>) -> Option<Waker> {
        replace(&mut self.waiters(key).writer, cx)
    }

    /// Remembers the waiter for a reset; returns the one that it replaces.
    #[must_use]
    pub(super) fn set_watcher(&mut self, key: StreamKey, cx: &Context<'_>) -> Option<Waker> {
        replace(&mut self.waiters(key).watcher, cx)
    }

    /// Notes that the task of `cx` no longer waits for something to read.
    pub(super) fn withdraw_reader(&mut self, key: StreamKey, cx: &Context<'_>) {
        let reader = &mut self.waiters(key).reader;
        if reader.withdraw(|waker| waker.will_wake(cx.waker())) {
            self.quiet.clear(key.index());
        }
    }

    /// Takes a stream's reader, for which something came, if it waits. The caller wakes it, and
    /// then [gives it back](Self::give_back).
    #[inline]
    pub(super) fn take_reader(&mut self, key: StreamKey) -> Option<(Registration, Waker)> {
        let (number, waker) = self.streams.get_mut(key.index())?.reader.take()?;
        self.quiet.clear(key.index());
        Some((Registration { index: key.index(), number }, waker))
    }

    /// Keeps the waker of a reader that was woken, for when it waits again, which is the usual
    /// case. Returns a waker that is not kept, to be dropped without the lock.
    #[must_use]
    pub(super) fn give_back(&mut self, registration: Registration, waker: Waker) -> Option<Waker> {
        let Registration { index, number } = registration;
        match self.streams.get_mut(index) {
            Some(waiters) => waiters.reader.give_back(waker, number),
            None => Some(waker),
        }
    }

    pub(super) fn writer(&mut self, key: StreamKey) -> Option<Waker> {
        self.waiters(key).writer.take()
    }

    /// Removes the waiters that a reset concerns, apart from the reader, and returns them.
    pub(super) fn of_reset(&mut self, key: StreamKey) -> impl Iterator<Item = Waker> + use<> {
        let waiters = self.waiters(key);
        waiters.writer.take().into_iter().chain(waiters.watcher.take())
    }

    /// Removes the waiters of a stream and returns them.
    pub(super) fn forget(&mut self, key: StreamKey) -> impl Iterator<Item = Waker> + use<> {
        self.quiet.clear(key.index());
        let Waiters { reader, writer, watcher } = std::mem::take(self.waiters(key));
        reader.into_waker().into_iter().chain(writer).chain(watcher)
    }

    pub(super) fn wake_all(&mut self, due: &mut Vec<Waker>) {
        for (index, Waiters { reader, writer, watcher }) in self.streams.iter_mut().enumerate() {
            self.quiet.clear(index);
            let reader = std::mem::take(reader).into_waker();
            due.extend(reader.into_iter().chain(writer.take()).chain(watcher.take()));
        }
    }
}
