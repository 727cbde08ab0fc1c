//! Work of both sides on a payload, on any carrier.

use breezeway_measure::Failure;
use std::mem::MaybeUninit;

/// Bytes that are set and checked of an untouched payload.
pub(crate) const FEW: usize = 8;

/// Length of payloads, and the number of bytes that are set and checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
pub(crate) struct Work {
    /// Bytes of a payload
    #[arg(long)]
    pub(crate) size: usize,
    /// Bytes that are set and checked
    #[arg(long)]
    pub(crate) touched: usize,
}

impl Work {
    pub(crate) fn new(size: usize, touched: bool) -> Self {
        Self { size, touched: if touched { size } else { FEW } }
    }

    pub(crate) fn arguments(self) -> [String; 2] {
        [format!("--size={}", self.size), format!("--touched={}", self.touched)]
    }

    pub(crate) fn is_touched(self) -> bool {
        self.touched == self.size
    }

    /// Returns true if moving the bytes costs more than a cache line does.
    pub(crate) fn is_far_from_a_line(self) -> bool {
        self.touched >= 1 << 10
    }

    /// The byte that fills the request of a round.
    pub(crate) fn request(round: u64) -> u8 {
        round as u8
    }

    /// The byte that fills the response to a request.
    pub(crate) fn response(request: u8) -> u8 {
        request.wrapping_add(1)
    }

    pub(crate) fn set(self, payload: &mut [u8], byte: u8) {
        payload[..self.touched].fill(byte);
    }

    pub(crate) fn set_uninit(self, payload: &mut [MaybeUninit<u8>], byte: u8) {
        payload[..self.touched].fill(MaybeUninit::new(byte));
    }

    /// Returns the byte that fills a request, after reading all of it.
    pub(crate) fn check_request(self, payload: &[u8]) -> Result<u8, Failure> {
        let byte = *payload.first().ok_or("an empty request")?;
        self.check(payload, byte)?;
        Ok(byte)
    }

    pub(crate) fn check(self, payload: &[u8], byte: u8) -> Result<(), Failure> {
        let right = payload.len() == self.size && whole_is(&payload[..self.touched], byte);
        if right { Ok(()) } else { Err("a payload is not what was sent".into()) }
    }
}

/// Compares like [`all_are`], with vectors as wide as those of a line of ours: both are compiled
/// for AVX2 where the CPU has it.
fn whole_is(bytes: &[u8], byte: u8) -> bool {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the CPU was asked for AVX2.
        return unsafe { wide_all_are(bytes, byte) };
    }
    all_are(bytes, byte)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn wide_all_are(bytes: &[u8], byte: u8) -> bool {
    all_are(bytes, byte)
}

/// Returns true if every byte is `byte`: without a branch for each, so that compilers vectorise it.
#[inline(always)]
pub(crate) fn all_are(bytes: &[u8], byte: u8) -> bool {
    let (words, rest) = bytes.as_chunks::<8>();
    let expected = u64::from_ne_bytes([byte; 8]);
    let others = words.iter().fold(0, |all, word| all | (u64::from_ne_bytes(*word) ^ expected));
    others == 0 && rest.iter().all(|&other| other == byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_byte_is_noticed() {
        for size in [8, 48, 1000, 1024] {
            let work = Work::new(size, true);
            let mut payload = vec![0; size];
            work.set(&mut payload, 7);
            assert_eq!(work.check_request(&payload).unwrap(), 7);
            for place in 0..size {
                payload[place] ^= 1;
                assert!(work.check(&payload, 7).is_err(), "byte {place} of {size}");
                payload[place] ^= 1;
            }
        }
    }

    #[test]
    fn of_an_untouched_payload_eight_bytes_are_set_and_checked() {
        let work = Work::new(64, false);
        let mut payload = vec![0; 64];
        work.set(&mut payload, 7);
        assert_eq!(payload, [[7; 8].as_slice(), &[0; 56]].concat());
        work.check(&payload, 7).unwrap();
        assert!(work.check(&payload, 8).is_err());
    }

    #[test]
    fn a_payload_of_another_length_is_noticed() {
        assert!(Work::new(64, true).check(&[7; 63], 7).is_err());
    }
}
