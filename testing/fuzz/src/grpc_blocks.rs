//! Metadata blocks of gRPC's native gear: requests', responses', trailers.

/// Runs one input.
pub fn run(data: &[u8]) {
    breezeway_grpc::fuzzing::blocks(data);
}
