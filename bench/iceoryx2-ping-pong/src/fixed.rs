//! 48 bytes as a plain struct: no length, no slice, iceoryx2's best case.

use crate::participant::{Participant, Polling};
use breezeway_measure::load::{Extent, Measurement, closed_loop};
use breezeway_measure::{Failure, pattern};
use iceoryx2::prelude::*;

/// Bytes of a payload.
pub(crate) const SIZE: usize = size_of::<Payload>();

#[derive(Debug, Clone, Copy, PartialEq, Eq, ZeroCopySend)]
#[repr(C)]
struct Payload {
    words: [u64; 6],
}

impl Payload {
    fn new(seed: u64) -> Self {
        Self { words: pattern::words(seed) }
    }
}

/// Answers requests until `polling` ends.
pub(crate) fn serve(participant: &Participant, polling: &Polling) -> Result<(), Failure> {
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
        request.loan_uninit()?.write_payload(*request).send()?;
        polling.activity.count();
    }
    Ok(())
}

/// Measures round trips. While a response is in flight, the previous one is released and the next
/// request loaned: within one cache that takes a sixth off a round trip.
pub(crate) fn bench(
    participant: &Participant,
    polling: &Polling,
    extent: Extent,
) -> Result<Measurement, Failure> {
    let service = participant
        .builder()
        .request_response::<Payload, Payload>()
        .open()
        .map_err(|error| participant.absent(error))?;
    let client = service.client_builder().create().map_err(|error| participant.busy(error))?;
    let mut next = None;
    let mut previous = None;
    closed_loop(extent, |round| {
        let payload = Payload::new(pattern::seed(round));
        let request = next.take().map_or_else(|| client.loan_uninit(), Ok)?;
        let pending = request.write_payload(payload).send()?;
        participant.check_served(pending.number_of_server_connections())?;
        previous = None;
        next = Some(client.loan_uninit()?);
        let response = polling.response(|| pending.receive())?;
        if *response != payload {
            return Err(format!("round trip {round} changed its payload").into());
        }
        previous = Some((response, pending));
        Ok(())
    })
}
