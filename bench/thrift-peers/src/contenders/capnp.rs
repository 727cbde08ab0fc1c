//! Cap'n Proto at its best: built in one segment that is used again, read where it was built, lists
//! of numbers as slices.

use std::hint::black_box;

use ::capnp::Word;
use ::capnp::message::{Builder, Reader, ReaderOptions, SegmentArray, SingleSegmentAllocator};

use super::{Case, Operation, fold_mixed, number};
use crate::generated::capnp as schema;
use crate::ours;

const NAME: &str = "capnp";

type Allocator = SingleSegmentAllocator<'static>;

/// An allocator of `size` bytes. Its memory lives as long as the program.
fn allocator(size: usize) -> Allocator {
    let words = Word::allocate_zeroed_vec(size.div_ceil(8)).leak();
    SingleSegmentAllocator::new(Word::words_to_bytes_mut(words))
}

/// The one segment of a message.
fn segment<'m>(message: &'m Builder<&mut Allocator>) -> &'m [u8] {
    message.get_segments_for_output()[0]
}

/// Reads a message of one segment.
fn with_reader<R>(bytes: &[u8], read: impl FnOnce(&Reader<SegmentArray<'_>>) -> R) -> R {
    let options = ReaderOptions { traversal_limit_in_words: None, nesting_limit: 64 };
    read(&Reader::new(SegmentArray::new(&[bytes]), options))
}

fn aligned_copy(bytes: &[u8]) -> &'static [u8] {
    let words = Word::allocate_zeroed_vec(bytes.len() / 8).leak();
    let copy = Word::words_to_bytes_mut(words);
    copy.copy_from_slice(bytes);
    copy
}

fn build_batch(batch: &ours::Batch, message: &mut Builder<&mut Allocator>) {
    let root = message.init_root::<schema::batch::Builder<'_>>();
    let mut items = root.init_items(batch.items.len() as u32);
    for (index, mixed) in batch.items.iter().enumerate() {
        let mut item = items.reborrow().get(index as u32);
        item.set_flag(mixed.flag);
        item.set_count(mixed.count);
        item.set_stamp(mixed.stamp);
        item.set_ratio(mixed.ratio);
        item.set_name(mixed.name.as_str());
        let mut numbers = item.init_numbers(mixed.numbers.len() as u32);
        numbers.as_slice().unwrap().copy_from_slice(&mixed.numbers);
    }
}

fn fold(mixed: schema::mixed::Reader<'_>) -> u64 {
    let name = mixed.get_name().unwrap().to_str().unwrap();
    let numbers = mixed.get_numbers().unwrap();
    let numbers = numbers.as_slice().unwrap().iter().copied().fold(0, i64::wrapping_add) as u64;
    let (count, stamp) = (mixed.get_count(), mixed.get_stamp());
    fold_mixed(mixed.get_flag(), count, stamp, mixed.get_ratio(), name).wrapping_add(numbers)
}

fn read_batch(bytes: &[u8]) -> u64 {
    with_reader(bytes, |message| {
        let batch = message.get_root::<schema::batch::Reader<'_>>().unwrap();
        batch.get_items().unwrap().iter().map(fold).fold(0, u64::wrapping_add)
    })
}

pub fn batch(value: ours::Batch, cases: &mut Vec<Case>) {
    let mut allocator = allocator(value.items.len() * 200 + 1024);
    let bytes = {
        let mut message = Builder::new(&mut allocator);
        build_batch(&value, &mut message);
        aligned_copy(segment(&message))
    };
    cases.push(Case::new(NAME, Operation::Encode, move || {
        let mut message = Builder::new(&mut allocator);
        build_batch(black_box(&value), &mut message);
        black_box(segment(&message)).len() as u64
    }));
    cases.push(Case::new(NAME, Operation::Read, move || read_batch(black_box(bytes))));
}

fn build_my_test<'m>(
    num: i64,
    ano: i64,
    count: usize,
    message: &'m mut Builder<&mut Allocator>,
) -> ::capnp::primitive_list::Builder<'m, i64> {
    let mut root = message.init_root::<schema::my_test::Builder<'_>>();
    root.set_num(num);
    root.reborrow().init_ano().set_a(ano);
    root.init_nums(count as u32)
}

fn sum(bytes: &[u8]) -> u64 {
    with_reader(bytes, |message| {
        let test = message.get_root::<schema::my_test::Reader<'_>>().unwrap();
        let nums = test.get_nums().unwrap();
        let sum = nums.as_slice().unwrap().iter().copied().fold(0, i64::wrapping_add);
        (test.get_num() + test.get_ano().unwrap().get_a()).wrapping_add(sum) as u64
    })
}

pub fn my_test(value: ours::MyTest, cases: &mut Vec<Case>) {
    let count = value.nums.len();
    let mut encoding = allocator(count * 8 + 1024);
    let bytes = {
        let mut message = Builder::new(&mut encoding);
        let mut nums = build_my_test(value.num, value.ano.a, count, &mut message);
        nums.as_slice().unwrap().copy_from_slice(&value.nums);
        aligned_copy(segment(&message))
    };
    cases.push(Case::new(NAME, Operation::Encode, move || {
        let value = black_box(&value);
        let mut message = Builder::new(&mut encoding);
        let mut nums = build_my_test(value.num, value.ano.a, value.nums.len(), &mut message);
        nums.as_slice().unwrap().copy_from_slice(&value.nums);
        black_box(segment(&message)).len() as u64
    }));
    cases.push(Case::new(NAME, Operation::Read, move || sum(black_box(bytes))));
    let mut cycling = allocator(count * 8 + 1024);
    cases.push(Case::new(NAME, Operation::Cycle, move || {
        let mut message = Builder::new(&mut cycling);
        let mut nums = build_my_test(1, 2, black_box(count), &mut message);
        for (index, place) in nums.as_slice().unwrap().iter_mut().enumerate() {
            *place = number(index);
        }
        sum(black_box(segment(&message)))
    }));
}
