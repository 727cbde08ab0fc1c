//! The lists of free slices, which all threads of both processes take from and give to: a linked
//! queue, with slices taken at the head and given back at the tail.
//!
//! The last slice of a list is never taken, which keeps head and tail apart. Between taking over
//! the tail and linking the slice before it the list is cut for a moment; a thread that takes then
//! sees no successor and tries again.
//!
//! The comparison of the head has no generations. If a list rotates completely while a thread is
//! between reading a successor and taking the head, it gives out a slice twice. Within this process
//! a lock prevents that, and each side's [holdings](crate::pool) detect some cases; between
//! processes it is a property of the protocol.

use crate::layout::buffer::{
    BufferLayout, CAPACITY_AT, COUNT_AT, FLAGS_AT, FREE_AT, HAS_NEXT, HEAD_AT, List, NEXT_AT,
    SIZE_AT, SLICE_CAPACITY_AT, START_AT, TAIL_AT, USED_AT,
};
use crate::region::Region;
use crate::sync::{Ordering, Step, removed};
use crate::violation::Violation;

/// Attempts at a cut list or a moving head before giving up, as in upstream.
const ATTEMPTS: u32 = if cfg!(loom) { 3 } else { 200 };

/// Lays out a fresh region: all slices free.
pub(crate) fn initialise(region: &Region, layout: &BufferLayout) {
    region.word(0).store(layout.lists().len() as u32, Ordering::Relaxed);
    region.word(USED_AT).store(layout.used(), Ordering::Relaxed);
    for list in layout.lists() {
        initialise_list(region, list);
    }
}

fn initialise_list(region: &Region, list: &List) {
    let last = (list.count - 1) * list.stride();
    for (at, value) in [
        (FREE_AT, list.count),
        (COUNT_AT, list.count),
        (HEAD_AT, 0),
        (TAIL_AT, last),
        (CAPACITY_AT, list.capacity),
    ] {
        region.word(list.header + at).store(value, Ordering::Relaxed);
    }
    for index in 0..list.count {
        let slice = list.area() + index * list.stride();
        region.word(slice + SLICE_CAPACITY_AT).store(list.capacity, Ordering::Relaxed);
        if index + 1 < list.count {
            region.word(slice + NEXT_AT).store((index + 1) * list.stride(), Ordering::Relaxed);
            region.byte(slice + FLAGS_AT).store(HAS_NEXT, Ordering::Relaxed);
        }
    }
}

/// Returns the number of free slices in the list's header: a hint.
pub(crate) fn free_count(region: &Region, list: &List) -> u32 {
    region.word(list.header + FREE_AT).load(Ordering::Relaxed).cast_signed().max(0) as u32
}

/// Takes a slice off the list, and returns its offset in the region. `None` if none is available.
/// Only one thread of this process may call it at a time; the peer may take and give concurrently.
pub(crate) fn take(region: &Region, list: &List) -> Result<Option<u32>, Violation> {
    let free = region.word(list.header + FREE_AT);
    if free.fetch_sub(1, Ordering::SeqCst).cast_signed() <= 1 {
        free.fetch_add(1, Ordering::SeqCst);
        return Ok(None);
    }
    let taken = take_head(region, list)?;
    if taken.is_none() {
        free.fetch_add(1, Ordering::SeqCst);
    }
    Ok(taken)
}

fn take_head(region: &Region, list: &List) -> Result<Option<u32>, Violation> {
    let head = region.word(list.header + HEAD_AT);
    let mut first = head.load(Ordering::SeqCst);
    for _ in 0..ATTEMPTS {
        let slice = slice_at(list, first)?;
        if region.byte(slice + FLAGS_AT).load(Ordering::Acquire) & HAS_NEXT == 0 {
            pause();
            first = head.load(Ordering::SeqCst);
            continue;
        }
        let second = region.word(slice + NEXT_AT).load(Ordering::Relaxed);
        match head.compare_exchange(first, second, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => return Ok(Some(slice)),
            Err(other) => first = other,
        }
    }
    Ok(None)
}

/// Gives a slice back to its list. The caller holds it, so that it is in no list.
pub(crate) fn give(region: &Region, list: &List, slice: u32) -> Result<(), Violation> {
    region.word(slice + SIZE_AT).store(0, Ordering::Relaxed);
    region.word(slice + START_AT).store(0, Ordering::Relaxed);
    region.byte(slice + FLAGS_AT).store(0, Ordering::Relaxed);
    let relative = slice - list.area();
    let tail = region.word(list.header + TAIL_AT);
    let before = if removed(Step::TailBeforeLink) {
        let seen = tail.load(Ordering::SeqCst);
        tail.store(relative, Ordering::SeqCst);
        seen
    } else {
        tail.swap(relative, Ordering::SeqCst)
    };
    let before = slice_at(list, before)?;
    region.word(before + NEXT_AT).store(relative, Ordering::Relaxed);
    region.byte(before + FLAGS_AT).fetch_or(HAS_NEXT, Ordering::Release);
    region.word(list.header + FREE_AT).fetch_add(1, Ordering::SeqCst);
    Ok(())
}

/// Returns the offset of the slice at `relative` to the list's area, if there is one: the peer can
/// write anything into head and tail.
fn slice_at(list: &List, relative: u32) -> Result<u32, Violation> {
    let offset = list.area().wrapping_add(relative);
    list.index(relative).map(|_| list.area() + relative).ok_or(Violation::NoSlice(offset))
}

#[cfg(not(loom))]
fn pause() {
    std::hint::spin_loop();
}

#[cfg(loom)]
fn pause() {
    loom::thread::yield_now();
}
