//! Searches for the worst message of 1 MiB: the one that takes the most time to view, to walk
//! through its view, or to decode, and the one that takes the most memory decoded.
//!
//! `cargo bench -p breezeway-thrift --bench worst` searches for about a minute; the first argument
//! is the number of generations, the second a seed. Messages are made of fields of the corpus'
//! `Node`, known, repeated and unknown, with lists of any length, nested in each other. The best of
//! each generation are mutated, so that the search climbs.
#![allow(missing_docs)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

use breezeway_idl_corpus::dice::Dice;
use breezeway_idl_corpus::sample::{Node, NodeView};
use breezeway_thrift::{Limits, Slice, View, decode_slice, view_slice};
use rustix::time::{ClockId, clock_gettime};

const SIZE: usize = 1 << 20;

thread_local! {
    /// Bytes that this thread holds, and their maximum.
    static HELD: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

struct Counting;

// SAFETY: the system's allocator does all the work.
#[allow(unsafe_code, reason = "an allocator cannot be written without")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (now, most) = HELD.get();
        let now = now + layout.size();
        HELD.set((now, most.max(now)));
        // SAFETY: the caller of this function keeps the requirements of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        let (now, most) = HELD.get();
        HELD.set((now.saturating_sub(layout.size()), most));
        // SAFETY: the caller of this function keeps the requirements of `GlobalAlloc::dealloc`.
        unsafe { System.dealloc(address, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A field, with a list of `count` elements if it has one.
#[derive(Clone, Copy, Debug)]
struct Piece {
    kind: u32,
    count: u32,
}

/// The kinds of [`Piece`].
const KINDS: u32 = 17;

impl Piece {
    fn random(dice: &mut Dice) -> Self {
        let (kind, power) = (dice.below(KINDS as usize) as u32, dice.below(15));
        Self { kind, count: dice.below(1 << power) as u32 }
    }

    fn write(self, to: &mut Vec<u8>) {
        let count = self.count.to_be_bytes();
        let repeated = |to: &mut Vec<u8>, element: &[u8]| {
            (0..self.count).for_each(|_| to.extend(element));
        };
        let (header, element): (&[u8], &[u8]) = match self.kind {
            // Unknown fields, and known ones of another type.
            0 => (&[2, 0, 99, 0], &[]),
            1 => (&[12, 0, 99, 0], &[]),
            2 => (&[3, 0, 1, 0], &[]),
            3 => (&[15, 0, 99, 12], &[0]),
            4 => (&[14, 0, 99, 11], &[0; 4]),
            // Known ones, which may already be present.
            5 => (&[10, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], &[]),
            6 => (&[8, 0, 11, 0, 0, 0, 0], &[]),
            7 => (&[12, 0, 8, 0], &[]),
            8 => (&[12, 0, 8, 11, 0, 2, 0, 0, 0, 1, b'x', 0], &[]),
            9 => (&[15, 0, 7, 12], &[0]),
            10 => (&[15, 0, 7, 12], &[11, 0, 5, 0, 0, 0, 1, b'x', 0]),
            11 => (&[15, 0, 10, 8], &[0; 4]),
            12 => (&[14, 0, 12, 11], &[0; 4]),
            13 => (&[14, 0, 12, 11], &[0, 0, 0, 1, b'x']),
            14 => (&[13, 0, 13, 4, 12], &[0; 9]),
            15 => (&[13, 0, 4, 11, 15], &[0, 0, 0, 0, 8, 0, 0, 0, 0]),
            _ => (&[15, 0, 3, 12], &[10, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        };
        to.extend(header);
        if !element.is_empty() {
            to.extend(count);
            repeated(to, element);
        }
    }
}

/// Nested nodes, and the fields that fill them repeatedly.
#[derive(Clone, Debug)]
struct Recipe {
    /// Position of each level in the one around it: the next node, or a list element.
    levels: Vec<bool>,
    /// Fields of the innermost node; if `shared`, all other nodes get a share of them too.
    pieces: Vec<Piece>,
    shared: bool,
}

impl Recipe {
    fn random(dice: &mut Dice) -> Self {
        let depth = dice.below(63);
        let levels = (0..depth).map(|_| dice.below(2) == 0).collect();
        let pieces = (0..=dice.below(4)).map(|_| Piece::random(dice)).collect();
        Self { levels, pieces, shared: dice.below(2) == 0 }
    }

    fn changed(&self, dice: &mut Dice) -> Self {
        let mut recipe = self.clone();
        match dice.below(5) {
            0 => recipe.shared = !recipe.shared,
            1 => recipe.levels = Self::random(dice).levels,
            2 => recipe.pieces.push(Piece::random(dice)),
            3 if recipe.pieces.len() > 1 => drop(recipe.pieces.remove(0)),
            _ => {
                let index = dice.below(recipe.pieces.len());
                recipe.pieces[index] = Piece::random(dice);
            }
        }
        recipe
    }

    /// Returns a message of up to 1 MiB.
    fn message(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SIZE + SIZE / 4);
        let shares = if self.shared { self.levels.len() + 1 } else { 1 };
        // A level is opened and closed by 25 bytes at most.
        let share = (SIZE - 25 * (self.levels.len() + 1)) / shares;
        for next in &self.levels {
            bytes.extend([10, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
            if self.shared {
                self.fill(share, &mut bytes);
            }
            if *next { bytes.extend([12, 0, 2]) } else { bytes.extend([15, 0, 3, 12, 0, 0, 0, 1]) }
        }
        bytes.extend([10, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        self.fill(share, &mut bytes);
        bytes.extend(vec![0; self.levels.len() + 1]);
        bytes
    }

    fn fill(&self, share: usize, to: &mut Vec<u8>) {
        let start = to.len();
        for piece in self.pieces.iter().cycle() {
            let before = to.len();
            piece.write(to);
            if to.len() - start > share {
                return to.truncate(before);
            }
        }
    }
}

/// Reads all fields of a view.
fn walk(node: &NodeView<'_>) -> u64 {
    let mut sum = node.value as u64 + u64::from(node.limit.is_some()) + node.blob.len() as u64;
    if let Some(next) = node.next_node {
        sum += walk(&next.get());
    }
    for child in node.children {
        sum += walk(&child);
    }
    for (key, list) in node.table {
        sum += key.len() as u64 + list.iter().fold(0, |all, number| all + number as u64);
    }
    for mixed in node.mixed {
        sum += mixed.name.len() as u64 + mixed.numbers.iter().fold(0, |all, it| all + it as u64);
    }
    sum += node.set_of_numbers.iter().fold(0, |all, number| all + number as u64);
    sum += node.colors.iter().fold(0, |all, color| all + color.0 as u64);
    sum += node.tags.iter().map(|tag| tag.len() as u64).sum::<u64>();
    sum + node.by_number.iter().map(|(_, ano)| ano.a as u64).sum::<u64>()
}

/// Returns the CPU time of this thread in milliseconds, without that of other threads.
fn used() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// Quantity that is maximised.
#[derive(Clone, Copy)]
enum Goal {
    View,
    Walk,
    Decode,
    Memory,
}

impl Goal {
    /// Returns the milliseconds or MiB of this message.
    fn of(self, bytes: &[u8]) -> f64 {
        match self {
            Self::Memory => {
                let before = HELD.get().0;
                HELD.set((before, before));
                drop(black_box(decode_slice::<Node>(bytes)));
                (HELD.get().1 - before) as f64 / f64::from(1 << 20)
            }
            time => time.milliseconds(bytes),
        }
    }

    fn milliseconds(self, bytes: &[u8]) -> f64 {
        let start = used();
        match self {
            Self::View => drop(black_box(view_slice::<NodeView<'_>>(bytes))),
            Self::Decode => drop(black_box(decode_slice::<Node>(bytes))),
            _ => {
                let view = NodeView::view(&mut Slice::within(Limits::default(), bytes).unwrap());
                black_box(view.as_ref().map_or(0, walk));
            }
        }
        used() - start
    }
}

fn search(name: &str, unit: &str, goal: Goal, generations: usize, dice: &mut Dice) {
    let rate = |recipe: Recipe| (goal.of(&recipe.message()), recipe);
    let mut best: Vec<_> = (0..100).map(|_| rate(Recipe::random(dice))).collect();
    for _ in 0..generations {
        best.sort_by(|a, b| b.0.total_cmp(&a.0));
        best.truncate(10);
        let changed: Vec<_> = best.iter().map(|(_, recipe)| recipe.changed(dice)).collect();
        best.extend(changed.into_iter().map(rate));
    }
    best.sort_by(|a, b| b.0.total_cmp(&a.0));
    let recipe = &best[0].1;
    let bytes = recipe.message();
    // The least of five: other programs use the caches too.
    let worst = (0..5).map(|_| goal.of(&bytes)).fold(f64::MAX, f64::min);
    let verdict = match view_slice::<NodeView<'_>>(&bytes) {
        Ok(_) => "taken".to_owned(),
        Err(error) => format!("refused, {error}"),
    };
    println!("{name:<8}{worst:>9.2} {unit} for {} bytes, {verdict}", bytes.len());
    println!("        {} levels, filled with {:?}", recipe.levels.len() + 1, recipe.pieces);
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|it| !it.starts_with('-'));
    let mut number = |usual| arguments.next().and_then(|it| it.parse().ok()).unwrap_or(usual);
    let (generations, seed) = (number(30), number(1));
    let mut dice = Dice(seed as u64);
    search("view", "ms", Goal::View, generations, &mut dice);
    search("walk", "ms", Goal::Walk, generations, &mut dice);
    search("decode", "ms", Goal::Decode, generations, &mut dice);
    search("memory", "MiB", Goal::Memory, generations, &mut dice);
}
