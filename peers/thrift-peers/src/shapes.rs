//! The three shapes that are measured, from a fixed seed.

use crate::ours::{Ano, Batch, Mixed, MyTest};

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `low` to `high`, both included.
    pub fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.draw() % (high - low + 1)
    }
}

/// With this seed 130 structs take 14,255 bytes.
pub const SEED: u64 = 313;

/// A small struct: a name of 12 to 28 ASCII letters, up to 10 numbers.
pub fn mixed(random: &mut Random) -> Mixed {
    let name = random.range(12, 28);
    let numbers = random.range(0, 10);
    Mixed {
        flag: random.draw() & 1 == 1,
        count: random.draw() as i32,
        stamp: random.draw() as i64,
        ratio: random.draw() as f64 / 1e9,
        name: (0..name).map(|_| char::from(b'a' + random.range(0, 25) as u8)).collect(),
        numbers: (0..numbers).map(|_| random.draw() as i64).collect(),
    }
}

/// A list of `count` small structs.
pub fn batch(count: usize) -> Batch {
    let mut random = Random(SEED);
    Batch { items: (0..count).map(|_| mixed(&mut random)).collect() }
}

/// `count` numbers in one list.
pub fn my_test(count: usize) -> MyTest {
    let mut random = Random(SEED);
    MyTest { num: 1, ano: Ano { a: 2 }, nums: (0..count).map(|_| random.draw() as i64).collect() }
}
