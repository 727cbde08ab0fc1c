//! Ways in for this project's own fuzz targets. Not for programs.

/// Takes bytes for a metadata block of a native call.
pub fn blocks(data: &[u8]) {
    crate::native::fuzzing::run(data);
}
