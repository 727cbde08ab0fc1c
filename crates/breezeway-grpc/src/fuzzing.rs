//! Entry points for this project's own fuzz targets. **Nothing here keeps its form from one release
//! to the next.**

/// Reads bytes as a metadata block of a native call.
pub fn blocks(data: &[u8]) {
    crate::native::fuzzing::run(data);
}
