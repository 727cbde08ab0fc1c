//! Parts for the crates on top of this one and for its tests. **Nothing here keeps its form from
//! one release to the next**; programs use the rest of this crate.

use breezeway_os::segment;
use breezeway_shm as shm;

use crate::error::SegmentError;
use crate::violation::MemoryViolation;

/// Returns the rule of shared memory that a peer broke.
pub fn broken_rule(violation: &MemoryViolation) -> &shm::Violation {
    &violation.0
}

/// Returns the problem with a segment.
pub fn segment_problem(error: &SegmentError) -> &segment::SegmentError {
    &error.0
}
