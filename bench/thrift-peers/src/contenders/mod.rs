//! One module for each codec, with its best code for each shape.

pub mod apache;
pub mod breezeway;
pub mod capnp;
pub mod pilota;
pub mod prost;
pub mod rkyv;
pub mod wide;

use crate::ours::{Batch, MyTest};

/// Something to measure: it does its work once and returns a number that depends on all of it.
pub type Work = Box<dyn FnMut() -> u64>;

/// Operation at which a codec can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// An owned value into a buffer that is there.
    Encode,
    /// A buffer into an owned value, which is dropped.
    Decode,
    /// From a buffer, in whatever way is best, every field read.
    Read,
    /// A message made of numbers that are computed, encoded, read in place, and summed.
    Cycle,
}

/// A codec doing an operation.
pub struct Case {
    /// The codec.
    pub codec: &'static str,
    /// The operation.
    pub operation: Operation,
    /// The work.
    pub work: Work,
}

impl Case {
    fn new(codec: &'static str, operation: Operation, work: impl FnMut() -> u64 + 'static) -> Self {
        Self { codec, operation, work: Box::new(work) }
    }
}

/// All bytes and fields of a small struct, in one number.
#[inline(always)]
pub fn fold_mixed(flag: bool, count: i32, stamp: i64, ratio: f64, name: &str) -> u64 {
    let text = name.len() as u64 + u64::from(name.as_bytes().first().copied().unwrap_or(0));
    u64::from(flag) + count as u64 + stamp as u64 + ratio.to_bits() + text
}

/// Returns the numbers with which a cycle fills its list.
#[inline(always)]
pub fn number(index: usize) -> i64 {
    index as i64 * 3 + 1
}

/// Every codec with a list of small structs.
pub fn batch(value: &Batch) -> Vec<Case> {
    let mut cases = Vec::new();
    for add in
        [breezeway::batch, pilota::batch, apache::batch, prost::batch, capnp::batch, rkyv::batch]
    {
        add(value.clone(), &mut cases);
    }
    cases
}

/// Every codec with a long list of numbers.
pub fn my_test(value: &MyTest) -> Vec<Case> {
    let mut cases = Vec::new();
    for add in [
        breezeway::my_test,
        pilota::my_test,
        apache::my_test,
        prost::my_test,
        capnp::my_test,
        rkyv::my_test,
    ] {
        add(value.clone(), &mut cases);
    }
    cases
}
