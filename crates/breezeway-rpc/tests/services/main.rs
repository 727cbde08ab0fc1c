//! Services over sessions and sockets: what their generated code promises.

mod awaited;
mod blocking;
#[cfg(feature = "tls")]
mod certificates;
#[cfg(feature = "dns")]
mod dns;
mod failover;
#[cfg(all(feature = "serde", feature = "shared-bytes", feature = "small-strings"))]
mod gallery;
mod golden;
mod governance;
mod in_place;
mod instances;
mod namespaces;
mod needs_go;
mod oneway_calls;
#[cfg(feature = "shmipc")]
mod over_shmipc;
#[cfg(feature = "tls")]
mod over_tls;
mod processes;
mod resending;
mod restarting;
mod room;
mod shelf;
mod shop;
mod streams;
mod streams_blocking;
mod thrift;
mod thrift_awaited;
mod thrift_failures;
mod vectors;

#[test]
#[ignore = "a process that other tests start"]
fn another_process() {
    processes::play(&[
        ("shop", failover::serve),
        ("blocking generation", restarting::serve_blocking),
        ("awaited generation", restarting::serve_awaited),
        ("seeker", thrift_awaited::seek),
        ("watcher", streams_blocking::watch),
        ("flooder", streams_blocking::flooding::flood_unread),
        ("awaited flooder", streams_blocking::flooding::flood_awaited),
        #[cfg(feature = "shmipc")]
        ("shop over shmipc", over_shmipc::serve),
    ]);
}
