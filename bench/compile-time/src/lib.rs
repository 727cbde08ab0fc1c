//! Generated Rust, alone or with every struct decoded and encoded: what `measure` compiles.

/// From breezeway-idl.
#[cfg(feature = "ours")]
pub mod generated {
    include!(concat!(env!("OUT_DIR"), "/thrift.rs"));
}

/// From pilota-build.
#[cfg(all(feature = "theirs", not(feature = "ours")))]
#[allow(clippy::all, warnings, reason = "another generator's text")]
pub mod generated {
    include!(concat!(env!("OUT_DIR"), "/pilota.rs"));
    pub use self::pilota::*;
}

#[cfg(all(feature = "used", feature = "ours"))]
fn through<T: breezeway_thrift::Decode + breezeway_thrift::Encode>(bytes: &[u8]) -> Vec<u8> {
    breezeway_thrift::to_vec(&breezeway_thrift::decode_slice::<T>(bytes).unwrap()).unwrap()
}

#[cfg(all(feature = "used", feature = "theirs", not(feature = "ours")))]
fn through<T: pilota::thrift::Message>(bytes: &[u8]) -> Vec<u8> {
    use pilota::thrift::binary::TBinaryProtocol;
    let mut bytes = pilota::Bytes::copy_from_slice(bytes);
    let value = T::decode(&mut TBinaryProtocol::new(&mut bytes, false)).unwrap();
    let size = value.size(&mut TBinaryProtocol::new((), false));
    let mut written = pilota::BytesMut::with_capacity(size);
    value.encode(&mut TBinaryProtocol::new(&mut written, false)).unwrap();
    written.to_vec()
}

/// Decodes a message of each struct and encodes it. A constant would not be compiled.
#[cfg(all(feature = "used", any(feature = "ours", feature = "theirs")))]
pub static THROUGH: &[fn(&[u8]) -> Vec<u8>] = &include!(concat!(env!("OUT_DIR"), "/structs.rs"));
