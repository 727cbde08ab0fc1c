//! The proof that a peer may be trusted with memory we hold slices into.

/// Proof, made by the programmer, that the peer of a session does not write lent payload while it
/// is lent.
///
/// A `&[u8]` into memory that another process may change at any moment is undefined behaviour in
/// Rust. Without this proof the receiving side gets bytes without a slice (`ForeignBytes` of
/// breezeway-shm), which copies; with it, lent payload can be had as slices.
///
/// A proof is for one session, which takes it: it can be neither copied nor cloned, so that a
/// promise about one peer is not used for another.
///
/// ```compile_fail,E0382
/// use breezeway_os::TrustedPeer;
///
/// fn trusting(_session: &str, _proof: TrustedPeer) {}
///
/// // SAFETY: this example has no peer.
/// let proof = unsafe { TrustedPeer::assume() };
/// trusting("of the peer that was meant", proof);
/// trusting("of another", proof);
/// ```
#[derive(Debug)]
pub struct TrustedPeer(());

impl TrustedPeer {
    /// Assumes that the peer does not write what it has lent.
    ///
    /// # Safety
    ///
    /// For as long as a session with this proof lives, its peer process must not write any byte of
    /// a payload between committing it and seeing it released. Peers that use this library through
    /// safe code keep to that; a process that may be compromised, or that writes its segments by
    /// other means, does not.
    pub const unsafe fn assume() -> Self {
        Self(())
    }
}
