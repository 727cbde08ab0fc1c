//! Entry points for this project's own fuzz targets. Not for programs.

/// Reads bytes as a metadata block of a native call.
pub fn blocks(data: &[u8]) {
    crate::native::fuzzing::run(data);
}
