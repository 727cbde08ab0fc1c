//! Who waits for a stream, to read or to write.

use std::task::{Context, Waker};

use crate::connection::StreamKey;

#[derive(Default)]
struct Pair {
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// Waiters by stream.
#[derive(Default)]
pub(super) struct StreamWaiters {
    streams: Vec<Pair>,
}

impl StreamWaiters {
    fn pair(&mut self, key: StreamKey) -> &mut Pair {
        let index = key.index();
        if index >= self.streams.len() {
            self.streams.resize_with(index + 1, Pair::default);
        }
        &mut self.streams[index]
    }

    /// Remembers who waits for something to read.
    pub(super) fn set_reader(&mut self, key: StreamKey, cx: &Context<'_>) {
        set(&mut self.pair(key).reader, cx);
    }

    /// Remembers who waits for room to write.
    pub(super) fn set_writer(&mut self, key: StreamKey, cx: &Context<'_>) {
        set(&mut self.pair(key).writer, cx);
    }

    pub(super) fn reader(&mut self, key: StreamKey) -> Option<Waker> {
        self.pair(key).reader.take()
    }

    pub(super) fn writer(&mut self, key: StreamKey) -> Option<Waker> {
        self.pair(key).writer.take()
    }

    /// Nobody waits for a stream any more.
    pub(super) fn forget(&mut self, key: StreamKey) {
        *self.pair(key) = Pair::default();
    }

    pub(super) fn wake_all(&mut self, due: &mut Vec<Waker>) {
        for Pair { reader, writer } in &mut self.streams {
            due.extend(reader.take().into_iter().chain(writer.take()));
        }
    }
}

fn set(waiter: &mut Option<Waker>, cx: &Context<'_>) {
    match waiter {
        Some(waker) => waker.clone_from(cx.waker()),
        None => *waiter = Some(cx.waker().clone()),
    }
}
