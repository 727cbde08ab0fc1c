//! Who waits for a stream, to read or to write.

use std::task::{Context, Waker};

use super::waiters::{replace, withdraw};
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

    /// Remembers who waits for something to read; gives whom it replaces.
    #[must_use]
    pub(super) fn set_reader(&mut self, key: StreamKey, cx: &Context<'_>) -> Option<Waker> {
        replace(&mut self.pair(key).reader, cx)
    }

    /// Remembers who waits for room to write; gives whom it replaces.
    #[must_use]
    pub(super) fn set_writer(&mut self, key: StreamKey, cx: &Context<'_>) -> Option<Waker> {
        replace(&mut self.pair(key).writer, cx)
    }

    /// The task of `cx` no longer waits for something to read.
    pub(super) fn withdraw_reader(&mut self, key: StreamKey, cx: &Context<'_>) {
        withdraw(&mut self.pair(key).reader, cx);
    }

    pub(super) fn reader(&mut self, key: StreamKey) -> Option<Waker> {
        self.pair(key).reader.take()
    }

    pub(super) fn writer(&mut self, key: StreamKey) -> Option<Waker> {
        self.pair(key).writer.take()
    }

    /// Nobody waits for a stream any more; gives who did.
    pub(super) fn forget(&mut self, key: StreamKey) -> impl Iterator<Item = Waker> + use<> {
        let Pair { reader, writer } = std::mem::take(self.pair(key));
        reader.into_iter().chain(writer)
    }

    pub(super) fn wake_all(&mut self, due: &mut Vec<Waker>) {
        for Pair { reader, writer } in &mut self.streams {
            due.extend(reader.take().into_iter().chain(writer.take()));
        }
    }
}
