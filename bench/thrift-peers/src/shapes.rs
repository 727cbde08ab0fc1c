//! The shapes that are measured, from a fixed seed.

use crate::generated::wide::{
    Counts, Event, Events, LaterEvent, LaterEvents, Profile, Profiles, Texts,
};
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

/// From `low` to `high` letters.
fn letters(random: &mut Random, low: u64, high: u64) -> String {
    let length = random.range(low, high);
    (0..length).map(|_| char::from(b'a' + random.range(0, 25) as u8)).collect()
}

/// `count` texts of 2 to 20 Chinese characters.
pub fn chinese(count: usize) -> Texts {
    let mut random = Random(SEED);
    let mut character =
        |_| char::from_u32(random.range(0x4e00, 0x9fa5) as u32).unwrap_or('\u{4e00}');
    let lengths = (0..count).map(|index| 2 + index * 7 % 19);
    Texts { texts: lengths.map(|length| (0..length).map(&mut character).collect()).collect() }
}

/// `count` texts of 1 to 7 letters.
pub fn short_texts(count: usize) -> Texts {
    let mut random = Random(SEED);
    Texts { texts: (0..count).map(|_| letters(&mut random, 1, 7)).collect() }
}

/// Returns `count` structs; half of their fields, at random, are absent.
pub fn profiles(count: usize) -> Profiles {
    let mut random = Random(SEED);
    let random = &mut random;
    Profiles { profiles: (0..count).map(|_| profile(random)).collect() }
}

fn profile(random: &mut Random) -> Profile {
    fn some<T>(random: &mut Random, make: impl FnOnce(&mut Random) -> T) -> Option<T> {
        (random.draw() & 1 == 1).then(|| make(random))
    }
    let text = |random: &mut Random| letters(random, 3, 20);
    Profile {
        name: some(random, text),
        email: some(random, text),
        age: some(random, |random| random.range(0, 99) as i32),
        created: some(random, |random| random.draw() as i64),
        active: some(random, |random| random.draw() & 1 == 1),
        score: some(random, |random| random.range(0, 1000) as f64),
        city: some(random, text),
        country: some(random, text),
        manager: some(random, |random| random.draw() as i64),
        tags: some(random, |random| (0..random.range(0, 4)).map(|_| text(random)).collect()),
        level: some(random, |random| random.range(0, 9) as i32),
        note: some(random, text),
    }
}

/// Two maps of `count` entries.
pub fn counts(count: usize) -> Counts {
    let mut random = Random(SEED);
    let by_name = (0..count).map(|_| (letters(&mut random, 8, 16), random.0 as i64)).collect();
    let by_number =
        (0..count).map(|_| (random.draw() as i32, letters(&mut random, 8, 16))).collect();
    Counts { by_name, by_number }
}

fn event(random: &mut Random) -> Event {
    let Mixed { name, count, numbers, stamp, flag, .. } = mixed(random);
    Event { name, count: count & 0xffff, numbers, stamp, flag }
}

/// Returns `count` structs that begin with the fields of variable size.
pub fn events(count: usize) -> Events {
    events_of(SEED, count)
}

/// Returns the same shape from another seed.
pub fn events_of(seed: u64, count: usize) -> Events {
    let mut random = Random(seed);
    Events { events: (0..count).map(|_| event(&mut random)).collect() }
}

/// Returns the same events with ten more fields.
pub fn later(events: Events) -> LaterEvents {
    let later = |event: Event| LaterEvent {
        name: event.name,
        count: event.count,
        numbers: event.numbers,
        stamp: event.stamp,
        flag: event.flag,
        seven: "seven".to_owned(),
        eleven: "of a later version".to_owned(),
        twelve: vec![1, 2, 3],
        ..LaterEvent::default()
    };
    LaterEvents { events: events.events.into_iter().map(later).collect() }
}
