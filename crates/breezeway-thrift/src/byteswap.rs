//! Conversion of whole lists of numbers to and from big-endian, by plain loops that are compiled
//! for the widest vectors that the processor has.
//!
//! This is the only file with `unsafe`: to call functions compiled for a detected CPU feature, to
//! fill a vector's memory without writing it twice, to load short lists behind a mask, and to
//! return bytes known to be text as text. The loops themselves are safe Rust; the compiler turns
//! them into shuffles.
//!
//! Short lists have no loop at all: their lengths differ from list to list, and one loop whose end
//! the processor mispredicts costs more than converting sixteen numbers.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use crate::Fixed;
use crate::ascii::is_ascii;
use crate::utf8::is_short_utf8;

/// Number of elements below which a call costs more than shuffles save.
const FEW: usize = 8;

/// Number of elements from which a loop of the caller's is worth a call.
const MANY: usize = 32;

/// Bytes that [`Short::put_short`] fills if there is room.
pub(crate) const SHORT_ROOM: usize = 128;

/// Numbers of a short list that are read together.
const LANES: usize = 4;

/// Length of the longest list that is read without a loop.
const SHORT: usize = 4 * LANES;

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

/// Reads a short list of at least [`LANES`] numbers in four overlapping parts.
#[inline(always)]
fn get_parts<T: Fixed>(from: &[u8], to: &mut [MaybeUninit<T>]) {
    let last = to.len() - LANES;
    for part in 0..SHORT / LANES {
        let start = last.min(part * LANES);
        let from = &from[start * T::SIZE..][..LANES * T::SIZE];
        get_loop(from, &mut to[start..][..LANES]);
    }
}

/// Reads one to three numbers.
#[inline(always)]
fn get_few<T: Fixed>(from: &[u8], to: &mut [MaybeUninit<T>]) {
    for index in [0, to.len() / 2, to.len() - 1] {
        to[index].write(T::get(&from[index * T::SIZE..]));
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
fn copy_loop<T: Fixed>(from: &[u8], to: &mut [T]) {
    for (from, to) in from.chunks_exact(T::SIZE).zip(to) {
        *to = T::get(from);
    }
}

#[inline(always)]
fn fold_loop<T: Fixed, A>(from: &[u8], first: A, mut fold: impl FnMut(A, T) -> A) -> A {
    from.chunks_exact(T::SIZE).fold(first, |so_far, bytes| fold(so_far, T::get(bytes)))
}

/// Keeps the compiler from vectorising the loop that contains this call.
#[inline(always)]
fn one_by_one() {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: the assembly is empty.
    unsafe {
        std::arch::asm!("", options(nomem, nostack, preserves_flags))
    };
}

/// Folds like [`fold_loop`], one by one: a vectorised loop and a second one for the remainder would
/// end in two places that the processor must predict.
#[inline(always)]
fn fold_few<T: Fixed, A>(from: &[u8], first: A, mut fold: impl FnMut(A, T) -> A) -> A {
    from.chunks_exact(T::SIZE).fold(first, |so_far, bytes| {
        one_by_one();
        fold(so_far, T::get(bytes))
    })
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
            pub(super) fn get_parts<T: Fixed>(from: &[u8], to: &mut [MaybeUninit<T>]) {
                super::get_parts(from, to);
            }

            #[target_feature(enable = $feature)]
            pub(super) fn fill<T: Fixed>(values: impl Iterator<Item = T>, to: &mut [u8]) -> usize {
                fill_loop(values, to)
            }

            #[target_feature(enable = $feature)]
            pub(super) fn copy<T: Fixed>(from: &[u8], to: &mut [T]) {
                copy_loop(from, to);
            }

            #[target_feature(enable = $feature)]
            pub(super) fn fold<T: Fixed, A>(
                from: &[u8],
                first: A,
                fold: impl FnMut(A, T) -> A,
            ) -> A {
                fold_loop(from, first, fold)
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

/// Runs a loop compiled for the best feature that the CPU has, or the plain loop. The standard
/// library caches the detection.
macro_rules! best {
    ($function:ident($($argument:expr),*) else $plain:expr) => {{
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the feature that the function was compiled for.
            return unsafe { avx2::$function($($argument),*) };
        } else if std::arch::is_x86_feature_detected!("ssse3") {
            // SAFETY: the processor has SSSE3, which the function was compiled for.
            return unsafe { ssse3::$function($($argument),*) };
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            // SAFETY: the processor has NEON, which the function was compiled for.
            return unsafe { neon::$function($($argument),*) };
        }
        $plain
    }};
}

/// Writes `list` into `to`, which has exactly its size.
#[inline]
pub(crate) fn put_all<T: Fixed>(list: &[T], to: &mut [u8]) {
    if list.len() < FEW {
        return put_loop(list, to);
    }
    best!(put_all(list, to) else put_loop(list, to))
}

/// A number with short lists that are written without a loop.
pub(crate) trait Short: Fixed {
    /// Writes `list` into `to`, which has [`SHORT_ROOM`] bytes or exactly its size. In the former
    /// case the bytes behind the list are zero.
    fn put_short(list: &[Self], to: &mut [u8]);
}

macro_rules! short {
    ($type:ty, $masked:ident) => {
        impl Short for $type {
            #[inline(always)]
            fn put_short(list: &[Self], to: &mut [u8]) {
                #[cfg(target_arch = "x86_64")]
                if let Some(to) = to.first_chunk_mut::<SHORT_ROOM>()
                    && size_of_val(list) <= SHORT_ROOM
                    && std::arch::is_x86_feature_detected!("avx2")
                {
                    // The address of an empty list is dangling, and masked loads from such an
                    // address take hundreds of cycles.
                    let from = if list.is_empty() { to.as_ptr().cast() } else { list.as_ptr() };
                    // SAFETY: the processor has AVX2; `from` has `list.len()` numbers, which
                    // together take at most the room.
                    return unsafe { $masked(from.cast(), list.len(), to) };
                }
                match list.len() {
                    ..FEW => put_few(list, to),
                    _ => put_long(list, to),
                }
            }
        }
    };
}

/// Writes like [`put_all`], not inlined, so that functions that write short lists contain no loop.
#[inline(never)]
fn put_long<T: Fixed>(list: &[T], to: &mut [u8]) {
    put_all(list, &mut to[..size_of_val(list)]);
}

#[inline(always)]
fn put_few<T: Fixed>(list: &[T], to: &mut [u8]) {
    for (value, to) in list.iter().zip(to.chunks_exact_mut(T::SIZE)) {
        one_by_one();
        value.put(to);
    }
}

short!(i64, put_masked_8);
short!(f64, put_masked_8);
short!(i32, put_masked_4);

/// Writes `count` numbers of eight bytes in big-endian, and zeros behind them.
///
/// # Safety
///
/// `from` points to at least `count` numbers, and `count` is at most sixteen.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn put_masked_8(from: *const i64, count: usize, to: &mut [u8; SHORT_ROOM]) {
    use std::arch::x86_64::*;
    let order =
        _mm256_broadcastsi128_si256(_mm_set_epi64x(0x0809_0a0b_0c0d_0e0f, 0x0001_0203_0405_0607));
    let count = _mm256_set1_epi64x(count as i64);
    for (part, to) in to.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let first = part as i64 * 4;
        let index = _mm256_set_epi64x(first + 3, first + 2, first + 1, first);
        let mask = _mm256_cmpgt_epi64(count, index);
        // SAFETY: elements behind the mask are not accessed, so this reads only the caller's
        // numbers.
        let numbers = unsafe { _mm256_maskload_epi64(from.wrapping_add(part * 4), mask) };
        // SAFETY: `to` has 32 bytes.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), _mm256_shuffle_epi8(numbers, order)) };
    }
}

/// Writes like [`put_masked_8`], for numbers of four bytes.
///
/// # Safety
///
/// `from` points to at least `count` numbers, and `count` is at most 32.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn put_masked_4(from: *const i32, count: usize, to: &mut [u8; SHORT_ROOM]) {
    use std::arch::x86_64::*;
    let order =
        _mm256_broadcastsi128_si256(_mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203));
    let count = _mm256_set1_epi32(count as i32);
    for (part, to) in to.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let first = _mm256_set1_epi32(part as i32 * 8);
        let index = _mm256_add_epi32(first, _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
        let mask = _mm256_cmpgt_epi32(count, index);
        // SAFETY: elements behind the mask are not accessed, so this reads only the caller's
        // numbers.
        let numbers = unsafe { _mm256_maskload_epi32(from.wrapping_add(part * 8), mask) };
        // SAFETY: `to` has 32 bytes.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), _mm256_shuffle_epi8(numbers, order)) };
    }
}

/// Appends all numbers of `from` to `list`.
#[inline]
pub(crate) fn get_all<T: Fixed>(from: &[u8], list: &mut Vec<T>) {
    let count = from.len() / T::SIZE;
    list.reserve(count);
    let room = &mut list.spare_capacity_mut()[..count];
    match count {
        0 => {}
        1..LANES => get_few(from, room),
        LANES..=SHORT => get_short(from, room),
        _ => get_into(from, room),
    }
    // SAFETY: `reserve` made room for `count` more elements, and the loop wrote one for each chunk
    // of `from`, and `from` has `count` chunks.
    unsafe { list.set_len(list.len() + count) }
}

#[inline]
fn get_short<T: Fixed>(from: &[u8], to: &mut [MaybeUninit<T>]) {
    best!(get_parts(from, to) else get_parts(from, to))
}

#[inline]
fn get_into<T: Fixed>(from: &[u8], to: &mut [MaybeUninit<T>]) {
    best!(get_all(from, to) else get_loop(from, to))
}

/// Writes `values` into `to` until either ends. Returns the number written.
#[inline]
pub(crate) fn fill<T: Fixed>(values: impl Iterator<Item = T>, to: &mut [u8]) -> usize {
    best!(fill(values, to) else fill_loop(values, to))
}

/// Writes all numbers of `from` into `to`, which has the same length.
#[inline]
pub(crate) fn copy<T: Fixed>(from: &[u8], to: &mut [T]) {
    if to.len() < FEW {
        return copy_loop(from, to);
    }
    best!(copy(from, to) else copy_loop(from, to))
}

/// Folds all numbers of `from`. `fold` is compiled for the same CPU feature, so that for example a
/// sum uses vectors as well.
#[inline]
pub(crate) fn fold<T: Fixed, A>(from: &[u8], first: A, fold: impl FnMut(A, T) -> A) -> A {
    if from.len() < MANY * T::SIZE {
        return fold_few(from, first, fold);
    }
    best!(fold(from, first, fold) else fold_loop(from, first, fold))
}

/// Returns `bytes` as text, if all are ASCII. Short ASCII strings are checked several times faster
/// than other UTF-8.
#[inline(always)]
pub(crate) fn ascii_text(bytes: &[u8]) -> Option<&str> {
    // SAFETY: ASCII is UTF-8.
    is_ascii(bytes).then(|| unsafe { std::str::from_utf8_unchecked(bytes) })
}

/// Returns `bytes` as text, if they are UTF-8 without characters of four bytes.
#[inline]
pub(crate) fn short_utf8_text(bytes: &[u8]) -> Option<&str> {
    // SAFETY: bytes accepted by `is_short_utf8` are UTF-8: the tests of `utf8.rs` compare it with
    // the standard library, with every edge of every byte at every place of a block.
    is_short_utf8(bytes).then(|| unsafe { std::str::from_utf8_unchecked(bytes) })
}

/// Short text stored inline.
#[cfg(feature = "small-strings")]
#[derive(Clone, Copy, Default)]
pub(crate) struct ShortText {
    length: u8,
    bytes: [u8; ShortText::ROOM],
}

#[cfg(feature = "small-strings")]
impl ShortText {
    /// Maximum length in bytes.
    pub(crate) const ROOM: usize = 30;

    /// Returns a copy of `text`, if it is short enough.
    #[inline(always)]
    pub(crate) fn new(text: &str) -> Option<Self> {
        let mut bytes = [0; Self::ROOM];
        crate::short_copy::copy(text.as_bytes(), bytes.get_mut(..text.len())?);
        Some(Self { length: text.len() as u8, bytes })
    }

    #[inline(always)]
    pub(crate) fn as_str(&self) -> &str {
        // SAFETY: the fields are private to this file. `new` copied whole text there, as
        // `short_copy::copy` copies every length whole (its tests show it), and its length;
        // otherwise the length is 0, and the text empty.
        unsafe { std::str::from_utf8_unchecked(&self.bytes[..usize::from(self.length)]) }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn short_lists_are_written_as_long_ones_are() {
        fn check<T: Short>(list: &[T]) {
            let size = size_of_val(list);
            let mut plain = vec![0; size];
            put_loop(list, &mut plain);
            for room in [size, size + 1, size.max(SHORT_ROOM), size + SHORT_ROOM] {
                let mut bytes = vec![0xff; room];
                <T as Short>::put_short(list, &mut bytes);
                assert_eq!(bytes[..size], plain, "{} numbers into {room} bytes", list.len());
                let behind =
                    if size <= SHORT_ROOM && room >= SHORT_ROOM { SHORT_ROOM } else { size };
                assert!(bytes[size..behind.max(size)].iter().all(|byte| *byte == 0 || !masked()));
                assert!(bytes[behind.max(size)..].iter().all(|byte| *byte == 0xff));
            }
        }
        for length in 0..70 {
            let list: Vec<i64> = (0..length).map(|index| index * 0x0102_0304_0506_0709).collect();
            check(&list);
            check(&list.iter().map(|number| *number as i32).collect::<Vec<_>>());
            check(&list.iter().map(|number| *number as f64).collect::<Vec<_>>());
        }
    }

    fn masked() -> bool {
        std::arch::is_x86_feature_detected!("avx2")
    }

    /// Runs every loop compiled for one feature, and compares the result with the plain loop's.
    macro_rules! check {
        ($module:ident, $list:expr) => {{
            let list = $list;
            let mut plain = vec![0; list.len() * 8];
            put_loop(&list, &mut plain);
            let mut bytes = vec![0; plain.len()];
            let mut read = vec![MaybeUninit::new(0i64); list.len()];
            // SAFETY: the caller detected the feature.
            let (given, sum) = unsafe {
                $module::put_all(&list, &mut bytes);
                assert_eq!(bytes, plain);
                bytes.fill(0);
                let given = $module::fill(list.iter().copied(), &mut bytes);
                $module::get_all(&plain, &mut read);
                (given, $module::fold(&plain, 0, i64::wrapping_add))
            };
            assert_eq!((given, bytes), (list.len(), plain.clone()));
            // SAFETY: all were initialised when the vector was made.
            let read: Vec<i64> = read.iter().map(|value| unsafe { value.assume_init() }).collect();
            assert_eq!(read, list);
            assert_eq!(sum, list.iter().copied().fold(0, i64::wrapping_add));
            let mut copied = vec![0; list.len()];
            // SAFETY: the caller detected the feature.
            unsafe { $module::copy(&plain, &mut copied) };
            assert_eq!(copied, list);
            if (LANES..=SHORT).contains(&list.len()) {
                let mut read = vec![MaybeUninit::new(0i64); list.len()];
                // SAFETY: the caller detected the feature.
                unsafe { $module::get_parts(&plain, &mut read) };
                // SAFETY: all were initialised when the vector was made.
                let read = read.iter().map(|value| unsafe { value.assume_init() });
                assert!(read.eq(list.iter().copied()));
            }
        }};
    }

    #[test]
    fn every_cpu_feature_agrees_with_the_plain_loop() {
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
