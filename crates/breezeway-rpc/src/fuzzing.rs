//! Entry points for this project's own fuzz targets: services, and bytes of Thrift's framings, in
//! one thread and without a socket. **Nothing here keeps its form from one release to the next.**

use breezeway::Handled;

use crate::kitex;
use crate::server::{Service, Services};
use crate::thrift;

/// The services of a [`Server`](crate::Server), without it.
#[derive(Default)]
pub struct Dispatch(Services);

impl Dispatch {
    /// Adds this service.
    ///
    /// # Panics
    ///
    /// If a number of its methods is taken.
    pub fn add_service(mut self, service: impl Service) -> Self {
        self.0.add(service).expect("no numbers collide");
        self
    }

    /// Serves a call of a session like [`Server::serve`](crate::Server::serve).
    pub fn handle(&self, call: breezeway::Call<'_>) -> Handled {
        self.0.handle(call)
    }

    /// Serves the bytes of a Thrift client, which arrive in these pieces, and returns the bytes
    /// sent to it: of streams their messages, by a handler that echoes each.
    pub fn thrift(&self, pieces: &[&[u8]]) -> Vec<u8> {
        kitex::fuzzing::serve(&self.0, pieces)
    }
}

/// Reads these pieces as replies to a call, or as a stream from its server.
pub fn thrift_replies<A: thrift::Call>(pieces: &[&[u8]]) {
    kitex::fuzzing::replies::<A>(pieces);
}
