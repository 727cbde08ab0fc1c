//! Keys of streams.

/// Key of a stream in this side's table. It does not match a later stream with the same number.
///
/// One word, as it is passed on for each message: two halves that are stored one by one and loaded
/// together wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamKey(u64);

impl StreamKey {
    #[inline]
    pub(super) fn new(place: u32, generation: u32) -> Self {
        Self(u64::from(generation) << 32 | u64::from(place))
    }

    #[inline]
    pub(super) fn place(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    pub(super) fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Returns a small number that no other stream of this side has at the same time.
    #[inline]
    pub fn index(self) -> usize {
        self.place() as usize
    }
}
