//! iceoryx2 with any other size, as a slice of bytes that is written in place.

use super::Exchange;
use super::work::Work;
use crate::participant::{Participant, Polling};
use breezeway_measure::Failure;

/// Answers requests until a signal ends it.
pub(crate) fn serve(
    participant: &Participant,
    polling: &Polling,
    work: Work,
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
    let server = service.server_builder().initial_max_slice_len(work.size).create();
    let server = server.map_err(|error| participant.taken(error))?;
    participant.announce();
    while let Some(request) = polling.next(|| server.receive())? {
        let byte = work.check_request(request.payload())?;
        let mut response = request.loan_slice_uninit(work.size)?;
        work.set_uninit(response.payload_mut(), Work::response(byte));
        // SAFETY: `set_uninit` has assigned the touched bytes; the rest is memory of a shared
        // mapping, which the kernel has filled with zeros, and it is never read.
        unsafe { response.assume_init() }.send()?;
    }
    Ok(())
}

/// Returns the function that makes round trips, in the same order of steps as with the fixed size.
pub(crate) fn requester(
    participant: Participant,
    polling: Polling,
    work: Work,
) -> Result<Exchange, Failure> {
    let service = participant
        .builder()
        .request_response::<[u8], [u8]>()
        .open()
        .map_err(|error| participant.absent(error))?;
    let client = service.client_builder().initial_max_slice_len(work.size).create();
    let client = client.map_err(|error| participant.busy(error))?;
    let mut next = None;
    let mut previous = None;
    Ok(Box::new(move |round| {
        let byte = Work::request(round);
        let mut request = next.take().map_or_else(|| client.loan_slice_uninit(work.size), Ok)?;
        work.set_uninit(request.payload_mut(), byte);
        // SAFETY: as for the response.
        let pending = unsafe { request.assume_init() }.send()?;
        participant.check_served(pending.number_of_server_connections())?;
        drop(previous.take());
        next = Some(client.loan_slice_uninit(work.size)?);
        let response = polling.response(|| pending.receive())?;
        work.check(response.payload(), Work::response(byte))?;
        previous = Some((response, pending));
        Ok(())
    }))
}
