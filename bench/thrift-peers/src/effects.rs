//! Effect of each technique: the same work with and without it.

use std::hint::black_box;

use breezeway_thrift::{
    Chain, Encode, EncodeError, Fields, InPlace, Output, Pool, Sink, Slice, decode_slice,
    encode_slice, to_vec, view_slice,
};

use crate::contenders::Work;
use crate::ours::{Batch, BatchView, Mixed, MyTest, MyTestView};
use crate::shapes;

/// One technique.
pub struct Effect {
    /// Name of the comparison.
    pub name: &'static str,
    /// The work with it.
    pub with: Work,
    /// The work without it.
    pub without: Work,
}

impl Effect {
    fn new(
        name: &'static str,
        with: impl FnMut() -> u64 + 'static,
        without: impl FnMut() -> u64 + 'static,
    ) -> Self {
        Self { name, with: Box::new(with), without: Box::new(without) }
    }
}

/// All of them.
pub fn all() -> Vec<Effect> {
    vec![
        one_reservation(),
        registers_and_group_when_writing(),
        group_when_reading(),
        in_place_binary(),
        chained_binary(),
        vectors_when_writing(
            "write 131,072 numbers: vectors found at run time, not one by one",
            one_by_one,
        ),
        vectors_when_writing(
            "write 131,072 numbers: vectors found at run time, not the compiler's usual ones",
            usual,
        ),
        vectors_when_summing(),
        reused_buffers(),
        view_of_structs(),
        view_of_numbers(),
    ]
}

/// A sink that grows.
struct Growing(Vec<u8>);

impl<'a> Sink<'a> for Growing {
    #[inline(always)]
    fn fixed(&mut self, size: usize, fill: impl FnOnce(&mut [u8])) {
        let start = self.0.len();
        self.0.resize(start + size, 0);
        fill(&mut self.0[start..]);
    }

    #[inline(always)]
    fn bytes(&mut self, bytes: &'a [u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn fail(&mut self, _: EncodeError) {}
}

fn one_reservation() -> Effect {
    let batch = shapes::batch(130);
    let same = batch.clone();
    Effect::new(
        "130 structs into new memory: size first and one reservation, not growing",
        move || to_vec(black_box(&batch)).unwrap().len() as u64,
        move || {
            let mut growing = Growing(Vec::new());
            black_box(&same).encode(&mut growing);
            black_box(growing.0).len() as u64
        },
    )
}

/// Writes the fixed fields of all structs with `write`.
fn write_fixed(items: &[Mixed], buffer: &mut [u8], write: impl Fn(&Mixed, &mut Output<'_>)) -> u64 {
    let mut output = Output::new(buffer);
    for mixed in black_box(items) {
        write(mixed, &mut output);
    }
    output.finish().unwrap() as u64
}

fn registers_and_group_when_writing() -> Effect {
    let items = shapes::batch(130).items;
    let same = items.clone();
    let (mut buffer, mut other) = (vec![0; 130 * 33], vec![0; 130 * 33]);
    Effect::new(
        "four fixed fields written: one check, not four",
        move || {
            write_fixed(&items, &mut buffer, |mixed, to| {
                to.group(((1, mixed.flag), (2, mixed.count), (3, mixed.stamp), (4, mixed.ratio)));
            })
        },
        move || {
            write_fixed(&same, &mut other, |mixed, to| {
                to.put(1, mixed.flag);
                to.put(2, mixed.count);
                to.put(3, mixed.stamp);
                to.put(4, mixed.ratio);
            })
        },
    )
}

/// The fixed fields of 130 structs, each a struct of its own.
fn fixed_fields() -> Vec<u8> {
    let items = shapes::batch(130).items;
    let mut bytes = vec![0; 130 * 34];
    write_fixed(&items, &mut bytes, |mixed, to| {
        to.group(((1, mixed.flag), (2, mixed.count), (3, mixed.stamp), (4, mixed.ratio)));
        to.stop();
    });
    bytes
}

type FixedFields = (bool, i32, i64, f64);

/// Reads the fixed fields of all structs in `bytes`, each round with `round`.
fn read_fixed(bytes: &[u8], round: impl Fn(&mut Fields<'_, Slice<'_>>, &mut FixedFields)) -> u64 {
    let mut from = Slice::new(black_box(bytes)).unwrap();
    let mut sum = 0u64;
    while !from.rest().is_empty() {
        let mut place = FixedFields::default();
        let mut fields = Fields::begin(&mut from).unwrap();
        round(&mut fields, &mut place);
        assert_eq!(fields.next_id().unwrap(), None);
        sum = sum
            .wrapping_add(u64::from(place.0) + place.1 as u64 + place.2 as u64 + place.3.to_bits());
    }
    sum
}

fn group_when_reading() -> Effect {
    let bytes = fixed_fields();
    let same = bytes.clone();
    Effect::new(
        "four fixed fields read: one check, not four",
        move || {
            read_fixed(&bytes, |fields, (flag, count, stamp, ratio)| {
                fields.group(((1, flag), (2, count), (3, stamp), (4, ratio))).unwrap();
            })
        },
        move || {
            read_fixed(&same, |fields, (flag, count, stamp, ratio)| {
                fields.view(1, flag).unwrap();
                fields.view(2, count).unwrap();
                fields.view(3, stamp).unwrap();
                fields.view(4, ratio).unwrap();
            })
        },
    )
}

const LARGE: usize = 1 << 20;

/// Stands for the production of a large binary.
fn make(bytes: &mut [u8]) {
    bytes.fill(black_box(7));
}

fn in_place_binary() -> Effect {
    let (mut buffer, mut other) = (vec![0; LARGE + 16], vec![0; LARGE + 16]);
    let mut binary = vec![0; LARGE];
    Effect::new(
        "a binary of 1 MiB made: in the message, not copied into it",
        move || {
            let mut output = Output::new(&mut buffer);
            output.bytes_in_place(1, LARGE, make);
            output.finish().unwrap() as u64
        },
        move || {
            make(&mut binary);
            let mut output = Output::new(&mut other);
            output.field(1, &binary);
            output.finish().unwrap() as u64
        },
    )
}

fn chained_binary() -> Effect {
    let binary = vec![7u8; LARGE];
    let same = binary.clone();
    let (mut pool, mut other) = (Pool::new(), vec![0; LARGE + 16]);
    Effect::new(
        "a binary of 1 MiB sent on a socket: chained, not copied (without the write)",
        move || {
            let mut chain = Chain::new(&mut pool);
            chain.field(1, black_box(&binary));
            black_box(chain.slices().unwrap()).len() as u64
        },
        move || {
            let mut output = Output::new(&mut other);
            output.field(1, black_box(&same));
            output.finish().unwrap() as u64
        },
    )
}

/// Numbers one by one, as a compiler does that has no vectors.
fn one_by_one(list: &[i64], to: &mut [u8]) {
    for (number, to) in list.iter().zip(to.chunks_exact_mut(8)) {
        to.copy_from_slice(&number.to_be_bytes());
        // SAFETY: no instruction; it keeps the compiler from joining rounds to vectors.
        unsafe { std::arch::asm!("", options(nomem, nostack, preserves_flags)) };
    }
}

/// Numbers as the compiler likes it for the default target.
fn usual(list: &[i64], to: &mut [u8]) {
    for (number, to) in list.iter().zip(to.chunks_exact_mut(8)) {
        to.copy_from_slice(&number.to_be_bytes());
    }
}

fn vectors_when_writing(name: &'static str, without: fn(&[i64], &mut [u8])) -> Effect {
    let list = shapes::my_test(131_072).nums;
    let same = list.clone();
    let (mut buffer, mut other) = (vec![0; list.size()], vec![0; list.size()]);
    Effect::new(
        name,
        move || encode_slice(black_box(&list), &mut buffer).unwrap() as u64,
        move || {
            without(black_box(&same), black_box(&mut other[5..]));
            0
        },
    )
}

fn sum(test: &MyTestView<'_>) -> u64 {
    test.nums.iter().fold(0, i64::wrapping_add) as u64
}

fn vectors_when_summing() -> Effect {
    let bytes = to_vec(&shapes::my_test(131_072)).unwrap();
    let same = bytes.clone();
    Effect::new(
        "sum 131,072 numbers in place: vectors found at run time, not the compiler's usual ones",
        move || sum(&view_slice(black_box(&bytes)).unwrap()),
        move || {
            let test: MyTestView<'_> = view_slice(black_box(&same)).unwrap();
            let (numbers, _) = test.nums.as_bytes().as_chunks();
            numbers.iter().map(|bytes| i64::from_be_bytes(*bytes)).fold(0, i64::wrapping_add) as u64
        },
    )
}

fn reused_buffers() -> Effect {
    let test = shapes::my_test(131_072);
    let same = test.clone();
    let mut pool = Pool::new();
    Effect::new(
        "a message of 1 MiB: a buffer used again, not a new one",
        move || {
            let mut buffer = pool.take(test.size());
            let size = encode_slice(black_box(&test), &mut buffer).unwrap();
            pool.give(buffer);
            size as u64
        },
        move || black_box(to_vec(black_box(&same)).unwrap()).len() as u64,
    )
}

fn view_of_structs() -> Effect {
    let bytes = to_vec(&shapes::batch(130)).unwrap();
    let same = bytes.clone();
    Effect::new(
        "130 structs read: viewed, not owned",
        move || {
            let batch: BatchView<'_> = view_slice(black_box(&bytes)).unwrap();
            batch
                .items
                .iter()
                .map(|item| item.stamp as u64 + item.name.len() as u64)
                .fold(0, u64::wrapping_add)
        },
        move || {
            let batch: Batch = decode_slice(black_box(&same)).unwrap();
            batch
                .items
                .iter()
                .map(|item| item.stamp as u64 + item.name.len() as u64)
                .fold(0, u64::wrapping_add)
        },
    )
}

fn view_of_numbers() -> Effect {
    let bytes = to_vec(&shapes::my_test(131_072)).unwrap();
    let same = bytes.clone();
    Effect::new(
        "131,072 numbers summed: viewed, not owned",
        move || sum(&view_slice(black_box(&bytes)).unwrap()),
        move || {
            let test: MyTest = decode_slice(black_box(&same)).unwrap();
            test.nums.iter().copied().fold(0, i64::wrapping_add) as u64
        },
    )
}
