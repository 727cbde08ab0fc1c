//! Sessions as their users see them: real processes, real sockets, real deaths.
//!
//! A run is about one carrier, which `BREEZEWAY_TEST_CARRIER` names (`shm` if it is not set).
//! The module of a case determines its carriers:
//!
//! * `on_every_carrier::` is about sessions whatever they travel by, but for cases below that are
//!   in a module `by_file::` or `on_shm::`;
//! * `by_file::` is about servers that are found by a socket file, so not about TCP;
//! * `on_shm::` is about shared memory;
//! * all others choose their carriers themselves, so one run of them is enough.
//!
//! `make carriers` selects by these names what to run on which carrier.

mod support;

mod abi_page_agrees_with_hello;
mod examples;
mod options;
mod shared;
mod traces;
mod vectors;

mod on_every_carrier {
    pub(crate) mod clients;
    pub(crate) mod deaths;
    pub(crate) mod deferred;
    mod failed_handshakes;
    mod failures;
    mod foreign;
    mod hooks;
    pub(crate) mod many_messages;
    mod model;
    mod offers;
    mod offloading;
    pub(crate) mod parent_and_child;
    mod pool;
    pub(crate) mod restarting;
    pub(crate) mod serving_streams;
    mod sizes;
    pub(crate) mod slow_consumer;
    mod statistics;
    mod stopping;
    mod stream_openers;
    mod turns;
    pub(crate) mod waiting;
}

mod by_file {
    pub(crate) mod addresses;
    mod namespaces;
}

mod on_shm {
    pub(crate) mod growth;
}

#[cfg(feature = "tls")]
mod over_tls;

mod on_sockets {
    mod addresses;
    mod byte_streams;
    pub(crate) mod frames;
}

use by_file::addresses;
use on_every_carrier::{
    clients, deaths, deferred, many_messages, parent_and_child, restarting, serving_streams,
    slow_consumer, waiting,
};
use on_shm::growth;
use on_sockets::frames;
use support::{Role, play, server};

#[test]
#[ignore = "a process that other tests start"]
fn another_process() {
    let server: &[(&str, Role)] = &[("server", server::serve)];
    play(
        &[
            server,
            addresses::ROLES,
            clients::ROLES,
            deaths::ROLES,
            deferred::ROLES,
            frames::ROLES,
            growth::ROLES,
            #[cfg(feature = "tls")]
            over_tls::ROLES,
            parent_and_child::ROLES,
            restarting::ROLES,
            serving_streams::ROLES,
            slow_consumer::ROLES,
            many_messages::ROLES,
            waiting::ROLES,
        ]
        .concat(),
    );
}
