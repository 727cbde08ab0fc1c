//! Any other size as a slice of bytes.

use crate::participant::{Participant, Polling};
use breezeway_measure::load::{Extent, Measurement, closed_loop};
use breezeway_measure::{Failure, pattern};

/// Answers requests of up to `size` bytes until `polling` ends.
pub(crate) fn serve(
    participant: &Participant,
    polling: &Polling,
    size: usize,
) -> Result<(), Failure> {
    let service = participant
        .builder()
        .request_response::<[u8], [u8]>()
        .max_servers(1)
        .max_clients(1)
        .max_active_requests_per_client(2)
        .max_loaned_requests(1)
        .max_response_buffer_size(1)
        .open_or_create()
        .map_err(|error| participant.taken(error))?;
    let server = service.server_builder().initial_max_slice_len(size).create();
    let server = server.map_err(|error| participant.taken(error))?;
    participant.announce();
    while let Some(request) = polling.next(|| server.receive())? {
        let payload = request.payload();
        request.loan_slice_uninit(payload.len())?.write_from_slice(payload).send()?;
        polling.activity.count();
    }
    Ok(())
}

/// Measures round trips of `size` bytes, in the same order of steps as with the fixed size.
pub(crate) fn bench(
    participant: &Participant,
    polling: &Polling,
    extent: Extent,
    size: usize,
) -> Result<Measurement, Failure> {
    let service = participant
        .builder()
        .request_response::<[u8], [u8]>()
        .open()
        .map_err(|error| participant.absent(error))?;
    let client = service.client_builder().initial_max_slice_len(size).create();
    let client = client.map_err(|error| participant.busy(error))?;
    let mut next = None;
    let mut previous = None;
    closed_loop(extent, |round| {
        let seed = pattern::seed(round);
        let mut request = next.take().map_or_else(|| client.loan_slice_uninit(size), Ok)?;
        pattern::initialize(request.payload_mut(), seed);
        // SAFETY: `initialize` has assigned every byte of the payload.
        let pending = unsafe { request.assume_init() }.send()?;
        participant.check_served(pending.number_of_server_connections())?;
        previous = None;
        next = Some(client.loan_slice_uninit(size)?);
        let response = polling.response(|| pending.receive())?;
        if !pattern::matches(response.payload(), seed) {
            return Err(format!("round trip {round} changed its payload").into());
        }
        previous = Some((response, pending));
        Ok(())
    })
}
