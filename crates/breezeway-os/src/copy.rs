//! Copying bytes out of memory that another process may be writing.
//!
//! `copy_nonoverlapping` from such memory would be a data race, which Rust leaves undefined; a copy
//! in inline assembly is opaque to the compiler, reads each byte once and returns the bytes of that
//! moment. The caller must expect torn values.

use core::arch::asm;

/// Size of a cache line, the unit of the loops.
pub const LINE: usize = 64;
/// Largest payload whose lines are all prefetched before the first is used: short enough for the
/// outstanding loads of a core and for the first-level cache.
pub const PREFETCHED_UP_TO: usize = 2048;
/// Bytes prefetched at the beginning of larger payloads, which readers of a part usually read
/// first.
const FIRST_LINES: usize = 2 * LINE;
/// Size from which a copy uses the widest useful registers: below it, the check for CPU support
/// would be noticeable.
pub const WIDE_FROM: usize = 2048;
/// Size from which a payload for a distant peer is written past the caches. Lines that the writer's
/// cache holds dirty must be fetched from there one by one, which is slow between distant cores;
/// streamed lines are read from memory or the shared cache.
pub const STREAM_FROM: usize = 64 * 1024;

/// Copies `len` bytes from `from`, which another process may be writing, to `to`.
///
/// # Safety
///
/// `from` is readable and `to` is writable for `len` bytes, `to` belongs to this process alone, and
/// the two do not overlap.
#[inline(always)]
pub unsafe fn copy_from_foreign(to: *mut u8, from: *const u8, len: usize) {
    let lines = len / LINE;
    // SAFETY: this function requires `len` readable bytes at `from` and `len` writable ones at
    // `to`. `lines * LINE <= len`, so the lines lie inside, and so do the `len - done` bytes behind
    // them.
    unsafe {
        if len >= WIDE_FROM {
            copy_many_lines(to, from, lines);
        } else if lines > 0 {
            copy_lines(to, from, lines);
        }
        let done = lines * LINE;
        copy_short(to.add(done), from.add(done), len - done);
    }
}

/// Takes the lines of memory that is about to be filled back from the peer's cache, all together. A
/// store waits until this CPU owns its line, and stores complete in order: filled from front to
/// back, a payload waits for one line after the other. These stores, one per line, stand so close
/// to each other that the processor requests many lines at once. (A prefetch for writing has no
/// effect on a line that the peer's cache only shares.)
#[inline]
pub fn claim_lines(bytes: &mut [u8]) {
    for line in bytes.chunks_mut(LINE) {
        let first: *mut u8 = line.as_mut_ptr();
        // SAFETY: the first byte of an exclusive slice that is not empty. Volatile, so that the
        // compiler keeps the stores as they are.
        unsafe { first.write_volatile(0) };
    }
}

/// Copies to memory that another CPU will read next, claiming its lines piece by piece.
#[inline]
pub fn claim_and_copy(to: &mut [u8], mut copy: impl FnMut(usize, &mut [u8])) {
    for (index, piece) in to.chunks_mut(PREFETCHED_UP_TO).enumerate() {
        claim_lines(piece);
        copy(index * PREFETCHED_UP_TO, piece);
    }
}

/// Prefetches the lines of a small payload, or the first of a large one, as soon as its address is
/// known.
#[inline]
pub fn prepare_to_read(from: *const u8, len: usize) {
    let len = if len <= PREFETCHED_UP_TO { len } else { FIRST_LINES };
    for offset in (0..len).step_by(LINE) {
        prefetch(from.wrapping_add(offset));
    }
}

/// Prefetches a line; any address is allowed.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn prefetch(line: *const u8) {
    // SAFETY: a prefetch reads nothing that the program can see, and never faults.
    unsafe {
        asm!("prefetcht0 \
            [{line}]", line = in(reg) line, options(nostack, preserves_flags, readonly))
    }
}

/// Prefetches a line; any address is allowed.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn prefetch(line: *const u8) {
    // SAFETY: a prefetch reads nothing that the program can see, and never faults.
    unsafe {
        asm!("prfm pldl1keep, \
            [{line}]", line = in(reg) line, options(nostack, preserves_flags, readonly))
    }
}

/// Copies like [`copy_from_foreign`], into memory that another CPU will read next: past this CPU's
/// caches where possible. The bytes are visible to a reader that sees a release store after
/// [`stream_fence`].
///
/// # Safety
///
/// The requirements of [`copy_from_foreign`] apply.
pub unsafe fn stream_from_foreign(to: *mut u8, from: *const u8, len: usize) {
    let head = to.align_offset(LINE).min(len);
    let lines = (len - head) / LINE;
    let done = head + lines * LINE;
    // SAFETY: this function requires `len` readable bytes at `from` and `len` writable ones at
    // `to`; head, lines and rest lie behind one another inside them. `align_offset` makes `to +
    // head` line-aligned if any line is copied.
    unsafe {
        copy_from_foreign(to, from, head);
        if lines > 0 {
            stream_lines(to.add(head), from.add(head), lines);
        }
        copy_from_foreign(to.add(done), from.add(done), len - done);
    }
}

/// Orders streamed bytes before later stores, which a release store alone does not on x86-64. Use
/// it once per message: it waits for all of them.
#[inline(always)]
pub fn stream_fence() {
    // SAFETY: a fence changes nothing.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!("sfence", options(nostack, preserves_flags));
    }
}

/// Expands to a loop over whole lines, aligned to 32 bytes so that its speed does not depend on its
/// address: `ahead` is an instruction at its head, `store` the instruction that stores 16 bytes.
#[cfg(target_arch = "x86_64")]
macro_rules! over_lines {
    ($to:ident, $from:ident, $lines:ident, ahead $ahead:literal, store $store:literal) => {
        asm!(
            ".p2align 5",
            "2:",
            $ahead,
            "movups {a}, [{from}]",
            "movups {b}, [{from} + 16]",
            "movups {c}, [{from} + 32]",
            "movups {d}, [{from} + 48]",
            concat!($store, " [{to}], {a}"),
            concat!($store, " [{to} + 16], {b}"),
            concat!($store, " [{to} + 32], {c}"),
            concat!($store, " [{to} + 48], {d}"),
            "add {from}, 64",
            "add {to}, 64",
            "dec {lines}",
            "jnz 2b",
            from = inout(reg) $from => _,
            to = inout(reg) $to => _,
            lines = inout(reg) $lines => _,
            a = out(xmm_reg) _,
            b = out(xmm_reg) _,
            c = out(xmm_reg) _,
            d = out(xmm_reg) _,
            options(nostack),
        )
    };
}

/// Copies whole lines.
///
/// # Safety
///
/// The requirements of [`copy_from_foreign`] apply, for `lines * 64` bytes; `lines` is not 0.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn copy_lines(to: *mut u8, from: *const u8, lines: usize) {
    // SAFETY: this function requires `lines * 64` readable bytes at `from` and writable ones at
    // `to`, and at least one line; the loop loads and stores exactly those, by instructions that
    // need no alignment, and names every register that it changes.
    unsafe { over_lines!(to, from, lines, ahead "", store "movups") }
}

/// Copies whole lines like [`copy_lines`], with 32-byte loads where the CPU has them.
///
/// Software prefetch is not used: the hardware prefetcher does better where the lines are in a near
/// cache, and for distant lines it makes no difference.
///
/// # Safety
///
/// The requirements of [`copy_lines`] apply.
#[cfg(target_arch = "x86_64")]
unsafe fn copy_many_lines(to: *mut u8, from: *const u8, lines: usize) {
    // SAFETY: this function has the requirements of `copy_lines`, and passes its arguments on. The
    // wide loop runs only on a CPU that has AVX.
    unsafe {
        if std::arch::is_x86_feature_detected!("avx") {
            copy_wide_lines(to, from, lines);
        } else {
            copy_lines(to, from, lines);
        }
    }
}

/// Copies whole lines with 32-byte loads.
///
/// # Safety
///
/// The requirements of [`copy_lines`] apply, and the CPU has AVX.
#[cfg(target_arch = "x86_64")]
unsafe fn copy_wide_lines(to: *mut u8, from: *const u8, lines: usize) {
    // SAFETY: this function requires `lines * 64` readable bytes at `from` and writable ones at
    // `to`, at least one line, and AVX; the loop loads and stores exactly those, unaligned.
    // `clobber_abi` names every vector register, as `vzeroupper` clears the upper half of each.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "vmovups ymm0, [rsi]",
            "vmovups ymm1, [rsi + 32]",
            "vmovups [rdi], ymm0",
            "vmovups [rdi + 32], ymm1",
            "add rsi, 64",
            "add rdi, 64",
            "dec rcx",
            "jnz 2b",
            "vzeroupper",
            inout("rdi") to => _,
            inout("rsi") from => _,
            inout("rcx") lines => _,
            clobber_abi("sysv64"),
            options(nostack),
        );
    }
}

/// Passes `lines` lines at `from`, which another process may be writing, to `visit` in order, each
/// read once into registers. Stops at the first error.
///
/// `visit` is compiled for AVX2 where the CPU has it, if it is inlined here: its work on a line can
/// stay in registers, and neither of them goes through memory.
///
/// # Safety
///
/// `from` is readable for `lines * 64` bytes.
#[inline]
pub unsafe fn try_for_each_line<E>(
    from: *const u8,
    lines: usize,
    visit: impl FnMut(&[u8; LINE]) -> Result<(), E>,
) -> Result<(), E> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: this function requires `lines * 64` readable bytes at `from`, as the called one
        // does; the CPU has AVX2.
        return unsafe { try_for_each_wide_line(from, lines, visit) };
    }
    // SAFETY: this function requires `lines * 64` readable bytes at `from`, as the called one does.
    unsafe { try_for_each_copied_line(from, lines, visit) }
}

/// Visits lines loaded by AVX2.
///
/// # Safety
///
/// The requirements of [`try_for_each_line`] apply, and the CPU has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn try_for_each_wide_line<E>(
    from: *const u8,
    lines: usize,
    mut visit: impl FnMut(&[u8; LINE]) -> Result<(), E>,
) -> Result<(), E> {
    use core::arch::x86_64::__m256i;
    use core::mem::transmute;
    for line in 0..lines {
        let (low, high): (__m256i, __m256i);
        // SAFETY: this function requires `lines * 64` readable bytes at `from`, and `line < lines`;
        // the loads need no alignment. Without the option `readonly` the compiler neither merges
        // nor moves them. Any 32 bytes are a valid vector, and any vector 32 valid bytes.
        let line: [u8; LINE] = unsafe {
            asm!("vmovdqu {low}, [{from}]", "vmovdqu {high}, [{from} + 32]",
                from = in(reg) from.add(line * LINE), low = out(ymm_reg) low,
                high = out(ymm_reg) high, options(nostack, preserves_flags));
            transmute([low, high])
        };
        visit(&line)?;
    }
    Ok(())
}

/// Visits lines copied to the stack.
///
/// # Safety
///
/// The requirements of [`try_for_each_line`] apply.
#[inline]
unsafe fn try_for_each_copied_line<E>(
    from: *const u8,
    lines: usize,
    mut visit: impl FnMut(&[u8; LINE]) -> Result<(), E>,
) -> Result<(), E> {
    for line in 0..lines {
        let mut copy = [0; LINE];
        // SAFETY: this function requires `lines * 64` readable bytes at `from`, and `line < lines`;
        // `copy` is a local array of one line.
        unsafe { copy_lines(copy.as_mut_ptr(), from.add(line * LINE), 1) };
        visit(&copy)?;
    }
    Ok(())
}

/// Copies whole lines like [`copy_lines`], past the caches, with a software prefetch: a hardware
/// prefetcher stops at each page, and streamed lines come from memory or a distant cache.
///
/// # Safety
///
/// The requirements of [`copy_lines`] apply, and `to` is aligned to 64.
#[cfg(target_arch = "x86_64")]
unsafe fn stream_lines(to: *mut u8, from: *const u8, lines: usize) {
    // SAFETY: this function requires `lines * 64` readable bytes at `from` and writable ones at
    // `to`, at least one line, and a `to` aligned to 64, where movntdq needs 16; the loop loads and
    // stores exactly those. A prefetch never faults.
    unsafe { over_lines!(to, from, lines, ahead "prefetcht0 [{from} + 1024]", store "movntdq") }
}

/// Copies less than a line, by words and then bytes.
///
/// # Safety
///
/// The requirements of [`copy_from_foreign`] apply.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn copy_short(to: *mut u8, from: *const u8, len: usize) {
    let words = len / 8 * 8;
    for at in (0..words).step_by(8) {
        let word: u64;
        // SAFETY: this function requires `len` readable bytes at `from` and writable ones at `to`,
        // and `at + 8 <= len`; an x86-64 load may be unaligned. Without the option `readonly` the
        // compiler neither merges nor moves the loads.
        unsafe {
            asm!("mov {word}, [{from}]", from = in(reg) from.add(at), word = out(reg) word,
                options(nostack, preserves_flags));
            to.add(at).cast::<u64>().write_unaligned(word);
        }
    }
    for at in words..len {
        // SAFETY: this function requires `len` readable bytes at `from` and writable ones at `to`,
        // and `at < len`.
        unsafe { to.add(at).write(from.add(at).read_volatile()) };
    }
}

/// Copies whole lines.
///
/// # Safety
///
/// The requirements of [`copy_from_foreign`] apply, for `lines * 64` bytes; `lines` is not 0.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
unsafe fn copy_lines(to: *mut u8, from: *const u8, lines: usize) {
    // SAFETY: this function requires `lines * 64` readable bytes at `from` and writable ones at
    // `to`, and at least one line; the loop loads and stores exactly those, by instructions that
    // need no alignment, and names every register that it changes.
    unsafe {
        asm!(
            "2:",
            "ldp {a:q}, {b:q}, [{from}]",
            "ldp {c:q}, {d:q}, [{from}, #32]",
            "stp {a:q}, {b:q}, [{to}]",
            "stp {c:q}, {d:q}, [{to}, #32]",
            "add {from}, {from}, #64",
            "add {to}, {to}, #64",
            "subs {lines}, {lines}, #1",
            "b.ne 2b",
            from = inout(reg) from => _,
            to = inout(reg) to => _,
            lines = inout(reg) lines => _,
            a = out(vreg) _,
            b = out(vreg) _,
            c = out(vreg) _,
            d = out(vreg) _,
            options(nostack),
        );
    }
}

/// Copies whole lines.
///
/// # Safety
///
/// The requirements of [`copy_lines`] apply.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn copy_many_lines(to: *mut u8, from: *const u8, lines: usize) {
    // SAFETY: this function has the requirements of `copy_lines`, and passes its arguments on.
    unsafe { copy_lines(to, from, lines) }
}

/// Copies whole lines through the caches; only x86-64 has a way past them here.
///
/// # Safety
///
/// The requirements of [`copy_lines`] apply.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn stream_lines(to: *mut u8, from: *const u8, lines: usize) {
    // SAFETY: this function has the requirements of `copy_lines`, and passes its arguments on.
    unsafe { copy_lines(to, from, lines) }
}

/// Copies less than a line, by volatile bytes.
///
/// # Safety
///
/// The requirements of [`copy_from_foreign`] apply.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
unsafe fn copy_short(to: *mut u8, from: *const u8, len: usize) {
    for at in 0..len {
        // SAFETY: this function requires `len` readable bytes at `from` and writable ones at `to`,
        // and `at < len`.
        unsafe { to.add(at).write(from.add(at).read_volatile()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_and_alignment_copies_exactly_its_bytes() {
        let from: Vec<u8> = (0..3000u32).map(|value| value as u8 ^ (value >> 3) as u8).collect();
        for len in (0..300).chain([511, 512, 513, 2047, 2048, 2049, 2200]) {
            for shift in 0..9 {
                let mut to = vec![0xee; 3000];
                // SAFETY: both buffers hold 3000 bytes, and `shift + 3 + len` is less than that.
                unsafe { copy_from_foreign(to[shift..].as_mut_ptr(), from[3..].as_ptr(), len) };
                assert_eq!(to[shift..shift + len], from[3..3 + len]);
                assert!(to[..shift].iter().chain(&to[shift + len..]).all(|&byte| byte == 0xee));
                to.fill(0xee);
                // SAFETY: both buffers hold 3000 bytes, and `shift + 3 + len` is less than that.
                unsafe { stream_from_foreign(to[shift..].as_mut_ptr(), from[3..].as_ptr(), len) };
                assert_eq!(to[shift..shift + len], from[3..3 + len]);
                assert!(to[..shift].iter().chain(&to[shift + len..]).all(|&byte| byte == 0xee));
            }
        }
    }
    #[test]
    fn each_line_is_passed_once_and_in_order_until_an_error() {
        let from: Vec<u8> = (0..3000u32).map(|value| value as u8 ^ (value >> 3) as u8).collect();
        for (shift, lines) in [(0, 0), (0, 1), (1, 2), (7, 3), (32, 40), (63, 45)] {
            let whole = &from[shift..][..lines * LINE];
            let (mut wide, mut copied) = (Vec::new(), Vec::new());
            let add = |seen: &mut Vec<u8>, line: &[u8; LINE]| {
                seen.extend_from_slice(line);
                Ok::<(), ()>(())
            };
            // SAFETY: the lines lie inside `from`.
            let both = unsafe {
                try_for_each_line(whole.as_ptr(), lines, |line| add(&mut wide, line)).and(
                    try_for_each_copied_line(whole.as_ptr(), lines, |line| add(&mut copied, line)),
                )
            };
            assert_eq!((both, &wide[..], &copied[..]), (Ok(()), whole, whole));
        }
        let mut passed = 0;
        // SAFETY: 40 lines are 2560 bytes.
        let stopped = unsafe {
            try_for_each_line(from.as_ptr(), 40, |_| {
                passed += 1;
                if passed == 3 { Err("enough") } else { Ok(()) }
            })
        };
        assert_eq!((stopped, passed), (Err("enough"), 3));
    }
}
