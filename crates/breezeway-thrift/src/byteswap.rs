//! Whole lists of numbers, turned to and from big-endian by plain loops that are compiled for the
//! widest vectors that the processor has.
//!
//! The only file with `unsafe`: to call what is compiled for a feature once that was found, and to
//! fill a vector's memory without writing it twice. The loops themselves are safe Rust; the
//! compiler makes shuffles of them.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use crate::Fixed;
use crate::ascii::is_ascii;

/// Below this many elements a call costs more than shuffles save.
const FEW: usize = 8;

#[inline(always)]
fn put_loop<T: Fixed>(list: &[T], to: &mut [u8]) {
    for (value, to) in list.iter().zip(to.chunks_exact_mut(T::SIZE)) {
        value.put(to);
    }
}

#[inline(always)]
fn get_loop<T: Fixed>(from: &[u8], to: &mut [MaybeUninit<T>]) {
    for (from, to) in from.chunks_exact(T::SIZE).zip(to) {
        to.write(T::get(from));
    }
}

#[inline(always)]
fn fill_loop<T: Fixed>(values: impl Iterator<Item = T>, to: &mut [u8]) -> usize {
    let mut given = 0;
    for (value, to) in values.zip(to.chunks_exact_mut(T::SIZE)) {
        value.put(to);
        given += 1;
    }
    given
}

#[inline(always)]
fn sum_loop(from: &[u8]) -> i64 {
    from.chunks_exact(8).map(<i64 as Fixed>::get).fold(0, i64::wrapping_add)
}

/// Compiles every loop for a feature.
macro_rules! compiled_for {
    ($module:ident, $feature:literal) => {
        mod $module {
            use super::*;

            #[target_feature(enable = $feature)]
            pub(super) fn put_all<T: Fixed>(list: &[T], to: &mut [u8]) {
                put_loop(list, to);
            }

            #[target_feature(enable = $feature)]
            pub(super) fn get_all<T: Fixed>(from: &[u8], to: &mut [MaybeUninit<T>]) {
                get_loop(from, to);
            }

            #[target_feature(enable = $feature)]
            pub(super) fn fill<T: Fixed>(values: impl Iterator<Item = T>, to: &mut [u8]) -> usize {
                fill_loop(values, to)
            }

            #[target_feature(enable = $feature)]
            pub(super) fn sum(from: &[u8]) -> i64 {
                sum_loop(from)
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
compiled_for!(avx2, "avx2");
#[cfg(target_arch = "x86_64")]
compiled_for!(ssse3, "ssse3");
#[cfg(target_arch = "aarch64")]
compiled_for!(neon, "neon");

/// Runs a loop as compiled for the best feature there is, or as it is. The standard library keeps
/// what it detected.
macro_rules! best {
    ($function:ident($($argument:expr),*) else $plain:expr) => {{
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the feature that the function was compiled for.
            return unsafe { avx2::$function($($argument),*) };
        } else if std::arch::is_x86_feature_detected!("ssse3") {
            // SAFETY: as above.
            return unsafe { ssse3::$function($($argument),*) };
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            // SAFETY: as above.
            return unsafe { neon::$function($($argument),*) };
        }
        $plain
    }};
}

/// Writes `list` into `to`, which has exactly the room.
#[inline]
pub(crate) fn put_all<T: Fixed>(list: &[T], to: &mut [u8]) {
    if list.len() < FEW {
        return put_loop(list, to);
    }
    best!(put_all(list, to) else put_loop(list, to))
}

/// Appends all numbers of `from` to `list`.
#[inline]
pub(crate) fn get_all<T: Fixed>(from: &[u8], list: &mut Vec<T>) {
    let count = from.len() / T::SIZE;
    list.reserve(count);
    let room = &mut list.spare_capacity_mut()[..count];
    if count < FEW {
        get_loop(from, room);
    } else {
        get_into(from, room);
    }
    // SAFETY: `reserve` made room for `count` more elements, and the loop wrote one for each chunk
    // of `from`, of which there are `count`.
    unsafe { list.set_len(list.len() + count) }
}

#[inline]
fn get_into<T: Fixed>(from: &[u8], to: &mut [MaybeUninit<T>]) {
    best!(get_all(from, to) else get_loop(from, to))
}

/// Writes `values` into `to` until either ends. Returns how many were written.
#[inline]
pub(crate) fn fill<T: Fixed>(values: impl Iterator<Item = T>, to: &mut [u8]) -> usize {
    best!(fill(values, to) else fill_loop(values, to))
}

/// The sum of all numbers of `from`, wrapping around.
#[inline]
pub(crate) fn sum_i64(from: &[u8]) -> i64 {
    best!(sum(from) else sum_loop(from))
}

/// `bytes` as text, if all are ASCII. A short string of ASCII is checked several times faster than
/// any UTF-8.
#[inline(always)]
pub(crate) fn ascii_text(bytes: &[u8]) -> Option<&str> {
    // SAFETY: ASCII is UTF-8.
    is_ascii(bytes).then(|| unsafe { std::str::from_utf8_unchecked(bytes) })
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// Runs every loop as compiled for one feature; what it gives is what the loop gives as it is.
    macro_rules! check {
        ($module:ident, $list:expr) => {{
            let list = $list;
            let mut plain = vec![0; list.len() * 8];
            put_loop(&list, &mut plain);
            let mut bytes = vec![0; plain.len()];
            let mut read = vec![MaybeUninit::new(0i64); list.len()];
            // SAFETY: the caller found the feature.
            let (given, sum) = unsafe {
                $module::put_all(&list, &mut bytes);
                assert_eq!(bytes, plain);
                bytes.fill(0);
                let given = $module::fill(list.iter().copied(), &mut bytes);
                $module::get_all(&plain, &mut read);
                (given, $module::sum(&plain))
            };
            assert_eq!((given, bytes), (list.len(), plain));
            // SAFETY: all were initialised when the vector was made.
            let read: Vec<i64> = read.iter().map(|value| unsafe { value.assume_init() }).collect();
            assert_eq!(read, list);
            assert_eq!(sum, list.iter().copied().fold(0, i64::wrapping_add));
        }};
    }

    #[test]
    fn every_feature_gives_what_the_plain_loop_gives() {
        for length in 0..70 {
            let list: Vec<i64> = (0..length).map(|index| index * 0x0102_0304_0506_0709).collect();
            if std::arch::is_x86_feature_detected!("avx2") {
                check!(avx2, list.clone());
            }
            if std::arch::is_x86_feature_detected!("ssse3") {
                check!(ssse3, list);
            }
        }
    }

    #[test]
    fn only_ascii_is_text_without_a_check_for_utf8() {
        for length in 0..70 {
            let mut bytes = vec![b'x'; length];
            assert_eq!(ascii_text(&bytes).map(str::len), Some(length));
            for index in 0..length {
                bytes[index] = 0x80;
                assert_eq!(ascii_text(&bytes), None, "{length} {index}");
                bytes[index] = b'x';
            }
        }
    }
}
