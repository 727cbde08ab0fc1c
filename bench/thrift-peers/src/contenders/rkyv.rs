//! rkyv, checked.

use std::hint::black_box;

use ::rkyv::api::high::to_bytes_in;
use ::rkyv::rancor::Error;
use ::rkyv::util::AlignedVec;
use ::rkyv::{Archive, Deserialize, Serialize, access, from_bytes, to_bytes};

use super::{Case, Operation, fold_mixed};
use crate::ours;

const NAME: &str = "rkyv";

#[derive(Archive, Serialize, Deserialize)]
pub struct Ano {
    pub a: i64,
}

#[derive(Archive, Serialize, Deserialize)]
pub struct MyTest {
    pub num: i64,
    pub ano: Ano,
    pub nums: Vec<i64>,
}

#[derive(Archive, Serialize, Deserialize)]
pub struct Mixed {
    pub flag: bool,
    pub count: i32,
    pub stamp: i64,
    pub ratio: f64,
    pub name: String,
    pub numbers: Vec<i64>,
}

#[derive(Archive, Serialize, Deserialize)]
pub struct Batch {
    pub items: Vec<Mixed>,
}

fn fold(mixed: &ArchivedMixed) -> u64 {
    let numbers = mixed.numbers.iter().map(|number| number.to_native()).fold(0, i64::wrapping_add);
    let (count, stamp) = (mixed.count.to_native(), mixed.stamp.to_native());
    let rest = fold_mixed(mixed.flag, count, stamp, mixed.ratio.to_native(), &mixed.name);
    rest.wrapping_add(numbers as u64)
}

fn sum(test: &ArchivedMyTest) -> u64 {
    let sum = test.nums.iter().map(|number| number.to_native()).fold(0, i64::wrapping_add);
    (test.num.to_native() + test.ano.a.to_native()).wrapping_add(sum) as u64
}

fn mixed(mixed: ours::Mixed) -> Mixed {
    let ours::Mixed { flag, count, stamp, ratio, name, numbers } = mixed;
    Mixed { flag, count, stamp, ratio, name, numbers }
}

/// Cases of either owned type; a macro, since the bounds of a generic function would be longer than
/// it.
macro_rules! owned {
    ($type:ty, $archived:ty, $value:expr, $read:expr, $cases:expr) => {{
        let value: $type = $value;
        let bytes = to_bytes::<Error>(&value).unwrap();
        let mut buffer = AlignedVec::<16>::with_capacity(bytes.len());
        $cases.push(Case::new(NAME, Operation::Encode, move || {
            buffer.clear();
            let written = std::mem::take(&mut buffer);
            buffer = to_bytes_in::<_, Error>(black_box(&value), written).unwrap();
            buffer.len() as u64
        }));
        let message = bytes.clone();
        $cases.push(Case::new(NAME, Operation::Decode, move || {
            black_box(from_bytes::<$type, Error>(black_box(&message)).unwrap());
            0
        }));
        $cases.push(Case::new(NAME, Operation::Read, move || {
            $read(access::<$archived, Error>(black_box(&bytes)).unwrap())
        }));
    }};
}

pub fn batch(value: ours::Batch, cases: &mut Vec<Case>) {
    let value = Batch { items: value.items.into_iter().map(mixed).collect() };
    let read = |batch: &ArchivedBatch| batch.items.iter().map(fold).fold(0, u64::wrapping_add);
    owned!(Batch, ArchivedBatch, value, read, cases);
}

pub fn my_test(value: ours::MyTest, cases: &mut Vec<Case>) {
    let value = MyTest { num: value.num, ano: Ano { a: value.ano.a }, nums: value.nums };
    owned!(MyTest, ArchivedMyTest, value, sum, cases);
}
