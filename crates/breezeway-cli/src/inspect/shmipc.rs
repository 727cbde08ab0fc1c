//! The regions of shmipc: sessions.

use std::io::{self, Write};

use breezeway_shmipc::dump::{BufferDump, ListDump, ProcessDump, QueueDump, RingDump};
use serde::Serialize;

use crate::printable::one_line;

/// Largest number of waiting elements that are shown to people.
const MOST_SHOWN: usize = 8;

#[derive(Debug, Serialize)]
pub(super) struct Regions {
    queues: Vec<Queue>,
    buffers: Vec<Buffer>,
    unreadable: Vec<Unreadable>,
}

#[derive(Debug, Serialize)]
struct Queue {
    name: String,
    to_server: Ring,
    to_client: Ring,
}

#[derive(Debug, Serialize)]
struct Ring {
    capacity: u32,
    put: u64,
    taken: u64,
    depth: u32,
    /// True if the consumer polls or has been woken.
    working: bool,
    /// The oldest, at most 256.
    waiting: Vec<Element>,
}

#[derive(Debug, Serialize)]
struct Element {
    stream: u32,
    offset: u32,
    closes: bool,
}

#[derive(Debug, Serialize)]
struct Buffer {
    name: String,
    used: u32,
    lists: Vec<List>,
}

#[derive(Debug, Serialize)]
struct List {
    slice_size: u32,
    slices: u32,
    free: i32,
    reachable: u32,
    whole: bool,
}

#[derive(Debug, Serialize)]
struct Unreadable {
    name: String,
    error: String,
}

impl Regions {
    pub(super) fn of(pid: u32) -> io::Result<Self> {
        let dump = ProcessDump::of(pid)?;
        let unreadable = |(name, error)| Unreadable { name, error };
        Ok(Self {
            queues: dump.queues.into_iter().map(Queue::from).collect(),
            buffers: dump.buffers.into_iter().map(Buffer::from).collect(),
            unreadable: dump.unreadable.into_iter().map(unreadable).collect(),
        })
    }

    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        self.queues.iter().try_for_each(|queue| queue.write(out))?;
        self.buffers.iter().try_for_each(|buffer| buffer.write(out))?;
        self.unreadable.iter().try_for_each(|Unreadable { name, error }| {
            writeln!(out, "not readable: {}: {error}; try as root", one_line(name))
        })
    }
}

impl Queue {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "queue {}", one_line(&self.name))?;
        self.to_server.write("to server", out)?;
        self.to_client.write("to client", out)
    }
}

impl Ring {
    fn write(&self, direction: &str, out: &mut impl Write) -> io::Result<()> {
        let Self { capacity, put, taken, depth, working, waiting } = self;
        let consumer = if *working { "consumer working" } else { "consumer asleep" };
        writeln!(
            out,
            "  {direction}  {depth} of {capacity} wait, {put} put, {taken} taken, {consumer}"
        )?;
        for Element { stream, offset, closes } in waiting.iter().take(MOST_SHOWN) {
            match closes {
                true => writeln!(out, "    stream {stream} closes")?,
                false => writeln!(out, "    stream {stream}, slice at {offset}")?,
            }
        }
        match (*depth as usize).saturating_sub(MOST_SHOWN) {
            0 => Ok(()),
            more => writeln!(out, "    and {more} more"),
        }
    }
}

impl Buffer {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "buffer {}, {} B of lists", one_line(&self.name), self.used)?;
        for List { slice_size, slices, free, reachable, whole } in &self.lists {
            let state = if *whole { "whole" } else { "not whole" };
            writeln!(
                out,
                "  slices of {slice_size} B  {free} of {slices} free, {reachable} in the list, \
                 {state}"
            )?;
        }
        Ok(())
    }
}

impl From<QueueDump> for Queue {
    fn from(QueueDump { name, to_server, to_client, .. }: QueueDump) -> Self {
        Self { name, to_server: to_server.into(), to_client: to_client.into() }
    }
}

impl From<RingDump> for Ring {
    fn from(ring: RingDump) -> Self {
        let RingDump { capacity, put, taken, depth, working, waiting, .. } = ring;
        let waiting = waiting.iter().map(|element| Element {
            stream: element.stream,
            offset: element.offset,
            closes: element.closes,
        });
        Self { capacity, put, taken, depth, working, waiting: waiting.collect() }
    }
}

impl From<BufferDump> for Buffer {
    fn from(BufferDump { name, used, lists, .. }: BufferDump) -> Self {
        Self { name, used, lists: lists.into_iter().map(List::from).collect() }
    }
}

impl From<ListDump> for List {
    fn from(ListDump { slice_size, slices, free, reachable, whole, .. }: ListDump) -> Self {
        Self { slice_size, slices, free, reachable, whole }
    }
}
