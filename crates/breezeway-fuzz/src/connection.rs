//! The core of shared sessions, without IO, on either side: entries of a hostile peer between the
//! steps of an application, beside a count of what may be kept and of what may be sent.

/// Runs one input.
pub fn run(data: &[u8]) {
    breezeway_proto::fuzzing::run(data);
}
