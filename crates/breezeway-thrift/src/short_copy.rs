//! Copies of short strings without a call.

/// Copies `from` to `to`, which are equally long. From 8 to 32 bytes in words that overlap: most
/// strings are that short, and a call takes longer than they do.
#[inline(always)]
pub(crate) fn copy(from: &[u8], to: &mut [u8]) {
    if from.len() > 32 || !(copy_ends::<16>(from, to) || copy_ends::<8>(from, to)) {
        to.copy_from_slice(from);
    }
}

/// Copies the first and the last `N` bytes, if there are as many.
#[inline(always)]
fn copy_ends<const N: usize>(from: &[u8], to: &mut [u8]) -> bool {
    let (Some(first), Some(last)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) else {
        return false;
    };
    if let Some(to) = to.first_chunk_mut::<N>() {
        *to = *first;
    }
    if let Some(to) = to.last_chunk_mut::<N>() {
        *to = *last;
    }
    true
}
