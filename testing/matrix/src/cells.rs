//! Clients and servers, the cases, and why some cannot be.

/// A program's part: a client or a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    RustBlocking,
    RustTokio,
    GoRpc,
    GoKitex,
    BreezewayVolo,
    Kitex,
    Volo,
}

use Kind::{BreezewayVolo, GoKitex, GoRpc, Kitex, RustBlocking, RustTokio, Volo};

impl Kind {
    pub(crate) const ALL: [Self; 7] =
        [RustBlocking, RustTokio, GoRpc, GoKitex, BreezewayVolo, Kitex, Volo];

    /// Returns the name that the programs have.
    pub(crate) fn name(self) -> &'static str {
        match self {
            RustBlocking => "rust-blocking",
            RustTokio => "rust-tokio",
            GoRpc => "go-rpc",
            GoKitex => "go-kitex",
            BreezewayVolo => "breezeway-volo",
            Kitex => "kitex",
            Volo => "volo",
        }
    }

    /// Returns true for the program that is built with Volo.
    pub(crate) fn is_volo(self) -> bool {
        matches!(self, BreezewayVolo | Volo)
    }

    /// Returns true for a system without Breezeway, which speaks TTHeader on a socket.
    pub(crate) fn is_plain(self) -> bool {
        matches!(self, Kitex | Volo)
    }
}

pub(crate) const CARRIERS: [&str; 2] = ["shm", "unix"];

/// The cases, in the order of the table's rows.
pub(crate) const CASES: [&str; 23] = [
    "call",
    "void",
    "exception",
    "business error",
    "oneway",
    "unknown method",
    "deadline",
    "deadline at handler",
    "cancel",
    "metadata",
    "reply metadata",
    "16 MiB",
    "many",
    "unary stream",
    "server stream",
    "client stream",
    "two-way stream",
    "stream exception",
    "stream business error",
    "stream metadata",
    "stream cancelled",
    "restart",
    "kill",
];

/// Returns the reason for which a client cannot call a server at all.
pub(crate) fn unpaired(client: Kind, server: Kind, carrier: &str) -> Option<&'static str> {
    match (client, server) {
        _ if client.is_plain() && server.is_plain() => Some("neither side is Breezeway"),
        _ if carrier == "shm" && (client.is_plain() || server.is_plain()) => {
            Some("plain Kitex and Volo have no shm; at a shm: address they use its socket")
        }
        (GoRpc | GoKitex | BreezewayVolo, Kitex | Volo) => {
            Some("calls natively only; Kitex and Volo themselves call such servers")
        }
        (Kitex | Volo, GoRpc) => Some("go/rpc serves the native protocol only"),
        _ => None,
    }
}

/// Returns the reason for which a case cannot be between a client and a server that can call.
pub(crate) fn impossible(client: Kind, server: Kind, case: &str) -> Option<&'static str> {
    let is_stream = case.contains("stream") && case != "unary stream";
    let is_plain = client.is_plain() || server.is_plain();
    let is_volo = client.is_volo() || server.is_volo();
    match case {
        _ if is_stream && is_volo => Some("Volo has no streams of Thrift"),
        _ if is_stream && client == Kitex && server == GoKitex => {
            Some("go/kitex serves plain clients without streams")
        }
        "stream exception" if is_plain => Some("Kitex's streams carry exceptions as text"),
        "cancel" if is_plain => Some("TTHeader has no cancel"),
        "cancel" if client == RustBlocking => Some("a call that blocks cannot be cancelled"),
        "cancel" if server == RustBlocking => Some("a handler that blocks is not cancelled"),
        "reply metadata" if server == RustBlocking && !is_plain => {
            Some("replies of the blocking server carry no metadata on sessions")
        }
        "reply metadata" if client == Volo && server == GoKitex => {
            Some("Kitex's server sends bare names, and Volo's client reads prefixed ones only")
        }
        "business error" if server == Volo => {
            Some("Volo's server sends business errors as exceptions")
        }
        "deadline at handler" if server == Volo => Some("handlers of Volo do not learn a deadline"),
        _ => None,
    }
}
