//! UUIDs.

use crate::{Fixed, Wire, WireType, fixed_value};

/// The sixteen bytes of a UUID, in the order of RFC 9562.
///
/// Kitex uses this type byte for something else and cannot even skip it: a message for Kitex must
/// not contain a UUID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
pub struct Uuid(pub [u8; 16]);

impl Wire for Uuid {
    const WIRE_TYPE: WireType = WireType::Uuid;
}

impl Fixed for Uuid {
    const SIZE: usize = 16;

    #[inline(always)]
    fn put(self, to: &mut [u8]) {
        to[..16].copy_from_slice(&self.0);
    }

    #[inline(always)]
    fn get(from: &[u8]) -> Self {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&from[..16]);
        Self(bytes)
    }
}

fixed_value!(Uuid);
