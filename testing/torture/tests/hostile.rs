//! Some hundred random hostile sessions against a server of each engine: nothing panics, no honest
//! call fails, and nothing stays behind. `make hostile` plays any number.

mod bounded;

/// Plays against a server of the engine. The seed is printed if that fails.
fn survives(engine: &str, sessions: u32) {
    bounded::torture(&["hostile", engine, "--sessions", &sessions.to_string()]);
}

macro_rules! engines {
    ($($name:ident: $engine:literal),* $(,)?) => {$(
        #[test]
        fn $name() {
            survives($engine, 200);
        }
    )*};
}

engines! {
    blocking_workers_survive_hostile_sessions: "native",
    unix_sockets_survive_hostile_sessions: "unix",
    tcp_survives_hostile_sessions: "tcp",
    tokio_survives_hostile_sessions: "tokio",
    shmipc_survives_hostile_sessions: "shmipc",
    services_survive_hostile_sessions: "rpc",
    kitex_framing_survives_hostile_sessions: "kitex",
    kitex_framing_with_handlers_that_block_survives_hostile_sessions: "kitex-blocking",
    grpc_survives_hostile_sessions_in_the_native_gear: "grpc",
    grpc_survives_hostile_sessions_in_http2: "grpc-http2",
}
