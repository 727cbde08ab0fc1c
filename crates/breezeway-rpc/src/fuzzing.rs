//! Ways in for this project's own fuzz targets: services, and bytes of Thrift's framings, in one
//! thread and without a socket. Not for programs.

use breezeway::Handled;

use crate::kitex;
use crate::server::{Service, Services};
use crate::thrift;

/// The services of a [`Server`](crate::Server), without it.
#[derive(Default)]
pub struct Dispatch(Services);

impl Dispatch {
    /// Serves this service too.
    ///
    /// # Panics
    ///
    /// If a number of its methods is taken.
    pub fn add_service(mut self, service: impl Service) -> Self {
        self.0.add(service).expect("no numbers collide");
        self
    }

    /// Serves a call of a session, as [`Server::serve`](crate::Server::serve) does.
    pub fn handle(&self, call: breezeway::Call<'_>) -> Handled {
        self.0.handle(call)
    }

    /// Serves what a Thrift client sends in these pieces, and gives what it is sent: of streams
    /// their messages, by a handler that sends back each.
    pub fn thrift(&self, pieces: &[&[u8]]) -> Vec<u8> {
        kitex::fuzzing::serve(&self.0, pieces)
    }
}

/// Takes what comes in these pieces for replies to a call, or for a stream from its server.
pub fn thrift_replies<A: thrift::Call>(pieces: &[&[u8]]) {
    kitex::fuzzing::replies::<A>(pieces);
}
