//! iceoryx2 with 48 bytes as a plain array: no length, no slice, its best case.

use super::Exchange;
use super::work::Work;
use crate::participant::{Participant, Polling};
use breezeway_measure::Failure;

/// Bytes of a payload.
pub(crate) const SIZE: usize = 48;

type Payload = [u8; SIZE];

/// Answers requests until a signal ends it.
pub(crate) fn serve(
    participant: &Participant,
    polling: &Polling,
    work: Work,
) -> Result<(), Failure> {
    let service = participant
        .builder()
        .request_response::<Payload, Payload>()
        .max_servers(1)
        .max_clients(1)
        .max_active_requests_per_client(2)
        .max_loaned_requests(1)
        .max_response_buffer_size(1)
        .open_or_create()
        .map_err(|error| participant.taken(error))?;
    let server = service.server_builder().create().map_err(|error| participant.taken(error))?;
    participant.announce();
    while let Some(request) = polling.next(|| server.receive())? {
        let byte = work.check_request(request.payload())?;
        let mut payload = [0; SIZE];
        work.set(&mut payload, Work::response(byte));
        request.loan_uninit()?.write_payload(payload).send()?;
    }
    Ok(())
}

/// Returns the function that makes round trips; while a response is in flight, the previous one is
/// released and the next request loaned.
pub(crate) fn requester(
    participant: Participant,
    polling: Polling,
    work: Work,
) -> Result<Exchange, Failure> {
    let service = participant
        .builder()
        .request_response::<Payload, Payload>()
        .open()
        .map_err(|error| participant.absent(error))?;
    let client = service.client_builder().create().map_err(|error| participant.busy(error))?;
    let mut next = None;
    let mut previous = None;
    Ok(Box::new(move |round| {
        let byte = Work::request(round);
        let request = next.take().map_or_else(|| client.loan_uninit(), Ok)?;
        let mut payload = [0; SIZE];
        work.set(&mut payload, byte);
        let pending = request.write_payload(payload).send()?;
        participant.check_served(pending.number_of_server_connections())?;
        drop(previous.take());
        next = Some(client.loan_uninit()?);
        let response = polling.response(|| pending.receive())?;
        work.check(response.payload(), Work::response(byte))?;
        previous = Some((response, pending));
        Ok(())
    }))
}
