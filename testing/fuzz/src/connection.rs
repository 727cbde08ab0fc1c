//! The core of shared sessions, without IO, on either side: entries of a hostile peer between the
//! steps of an application, with a count of the messages that may be kept and sent.

/// Runs one input.
pub fn run(data: &[u8]) {
    breezeway_proto::fuzzing::run(data);
}
