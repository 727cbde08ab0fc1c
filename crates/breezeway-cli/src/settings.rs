//! Settings that several subcommands share, from flags, the environment, or a file. A flag goes
//! before the environment, that before the file, and that before the default.

mod file;
pub(crate) mod value;

use std::path::PathBuf;
use std::time::Duration;

use breezeway::unstable::Tuning as _;
use breezeway::{ServerOptions, SessionOptions};
use breezeway_measure::Wait;

use crate::failure::Failure;
use file::File;
use value::{CallTimeout, MaxMemory, UnderWay};

/// Heading of the options that most commands need: the first one, of clap.
pub(crate) const COMMON: Option<&'static str> = None;

/// Settings of sessions; None if they are not given.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
#[command(next_help_heading = "Session options")]
pub(crate) struct SessionSettings {
    /// Wait policy. A server without sessions sleeps under every policy [default: adaptive]
    #[arg(long, value_enum, env = "BREEZEWAY_WAIT", help_heading = COMMON)]
    pub(crate) wait: Option<Wait>,
    /// The longest that --wait adaptive spins before it sleeps: 0s to 1s [default: 100us]
    #[arg(
        long, value_name = "TIME", env = "BREEZEWAY_SPIN_BOUND", value_parser = value::spin_bound
    )]
    spin_bound: Option<Duration>,
    /// The most payload memory per session and direction, and so the largest message: 1 byte to
    /// 1TiB. The smaller value of both sides counts [default: 64MiB]
    #[arg(long, value_name = "BYTES", env = "BREEZEWAY_CAP", value_parser = value::cap)]
    cap: Option<u64>,
    /// Payload memory that is ready when a session is set up: up to 1TiB; 0: none [default: 0]
    #[arg(long, value_name = "BYTES", env = "BREEZEWAY_PREFAULT", value_parser = value::prefault)]
    prefault: Option<u64>,
    /// Time without use after which the memory of a payload segment is given back: 0s to 1h
    /// [default: 1s]
    #[arg(
        long,
        value_name = "TIME",
        env = "BREEZEWAY_SHRINK_AFTER",
        value_parser = value::shrink_after,
    )]
    shrink_after: Option<Duration>,
    /// Largest number of bytes in flight in one-way messages of 16KiB and more before the next one
    /// waits: 1 byte to 1TiB, where the cap sets no bound, or auto, a quarter of a CPU's last cache
    /// [default: auto]
    #[arg(long, value_name = "BYTES", env = "BREEZEWAY_UNDER_WAY", value_parser = value::under_way)]
    under_way: Option<UnderWay>,
    /// Entries in the ring, a power of two in 8..=65536; half of them is the most calls in flight
    /// [default: 256]
    #[arg(
        long, value_name = "N", env = "BREEZEWAY_RING_CAPACITY", value_parser = value::ring_capacity
    )]
    pub(crate) ring_capacity: Option<u32>,
    /// Time limit of connecting, and of the peer's hello: up to 1h each [default: 1s]
    #[arg(
        long,
        value_name = "TIME",
        env = "BREEZEWAY_HANDSHAKE_TIMEOUT",
        value_parser = value::handshake_timeout,
    )]
    pub(crate) handshake_timeout: Option<Duration>,
    /// Time limit of a call, or none. For the calling side [default: none]
    #[arg(
        long,
        value_name = "TIME",
        env = "BREEZEWAY_CALL_TIMEOUT",
        value_parser = value::call_timeout,
    )]
    call_timeout: Option<CallTimeout>,
}

impl SessionSettings {
    /// Fills unset values in from `other`.
    fn or(self, other: Self) -> Self {
        Self {
            wait: self.wait.or(other.wait),
            spin_bound: self.spin_bound.or(other.spin_bound),
            cap: self.cap.or(other.cap),
            prefault: self.prefault.or(other.prefault),
            shrink_after: self.shrink_after.or(other.shrink_after),
            under_way: self.under_way.or(other.under_way),
            ring_capacity: self.ring_capacity.or(other.ring_capacity),
            handshake_timeout: self.handshake_timeout.or(other.handshake_timeout),
            call_timeout: self.call_timeout.or(other.call_timeout),
        }
    }

    /// Returns the options of a session, with defaults for unset values.
    pub(crate) fn options(&self) -> SessionOptions {
        let set = SessionOptions::new();
        let set = fill(set, self.wait, |set, wait| set.wait(wait.into()));
        let set = fill(set, self.spin_bound, SessionOptions::spin_bound);
        let set = fill(set, self.cap, SessionOptions::cap);
        let set = fill(set, self.prefault, SessionOptions::prefault);
        let set = fill(set, self.shrink_after, SessionOptions::shrink_after);
        let set = fill(set, self.under_way, |set, UnderWay(bytes)| set.under_way(bytes));
        let set = fill(set, self.ring_capacity, SessionOptions::ring_capacity);
        let set = fill(set, self.handshake_timeout, SessionOptions::handshake_timeout);
        fill(set, self.call_timeout, |set, CallTimeout(timeout)| set.call_timeout(timeout))
    }

    /// Returns the options of a session of shmipc, or an error for settings that it does not have.
    pub(crate) fn shmipc(
        &self,
        set: breezeway_shmipc::SessionOptions,
    ) -> Result<breezeway_shmipc::SessionOptions, Failure> {
        refuse_here("--spin-bound", self.spin_bound.is_some())?;
        refuse_here("--cap", self.cap.is_some())?;
        refuse_here("--prefault", self.prefault.is_some())?;
        refuse_here("--shrink-after", self.shrink_after.is_some())?;
        refuse_here("--under-way", self.under_way.is_some())?;
        refuse_here("--ring-capacity", self.ring_capacity.is_some())?;
        refuse_here("--call-timeout", self.call_timeout.is_some())?;
        let timeout = self.handshake_timeout;
        Ok(fill(set, timeout, breezeway_shmipc::SessionOptions::handshake_timeout))
    }
}

/// Settings of a server; None if they are not given.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
#[command(next_help_heading = "Server options")]
pub(crate) struct ServerSettings {
    /// Threads that serve, 1..=1024; each session belongs to one of them [default: 1]
    #[arg(long, value_name = "N", env = "BREEZEWAY_WORKERS", value_parser = value::workers)]
    workers: Option<usize>,
    /// Threads that run handlers in place of the workers, 0..=1024, so that a slow one holds up no
    /// other session; 0: none [default: 0]
    #[arg(long, value_name = "N", env = "BREEZEWAY_OFFLOAD", value_parser = value::offload)]
    offload: Option<usize>,
    /// The most sessions in parallel, 1..=1000000 [default: 4096]
    #[arg(
        long, value_name = "N", env = "BREEZEWAY_MAX_SESSIONS", value_parser = value::max_sessions
    )]
    max_sessions: Option<usize>,
    /// The most shared memory that clients may hold of the server's: 1 byte to 2^63, or none, no
    /// limit. A client beyond it is refused, a reply fails or waits [default: none]
    #[arg(
        long, value_name = "BYTES", env = "BREEZEWAY_MAX_MEMORY", value_parser = value::max_memory
    )]
    max_memory: Option<MaxMemory>,
    /// Memory limit of the clients of each user [default: none]
    #[arg(
        long,
        value_name = "BYTES",
        env = "BREEZEWAY_MAX_MEMORY_OF_USER",
        value_parser = value::max_memory_of_user,
    )]
    max_memory_of_user: Option<MaxMemory>,
    /// The most calls in flight of all sessions, 1..=16777216; counts calls that are replied to
    /// later: with --offload or --runtime tokio, but not gRPC [default: 65536]
    #[arg(
        long,
        value_name = "N",
        env = "BREEZEWAY_MAX_CALLS_IN_FLIGHT",
        value_parser = value::max_calls_in_flight,
    )]
    max_calls_in_flight: Option<usize>,
    /// Permission bits of the socket file, in octal: users with write permission may connect
    /// [default: 0600]
    #[arg(
        long, value_name = "MODE", env = "BREEZEWAY_SOCKET_MODE", value_parser = value::socket_mode
    )]
    socket_mode: Option<u32>,
}

impl ServerSettings {
    /// Fills unset values in from `other`.
    fn or(self, other: Self) -> Self {
        Self {
            workers: self.workers.or(other.workers),
            offload: self.offload.or(other.offload),
            max_sessions: self.max_sessions.or(other.max_sessions),
            max_memory: self.max_memory.or(other.max_memory),
            max_memory_of_user: self.max_memory_of_user.or(other.max_memory_of_user),
            max_calls_in_flight: self.max_calls_in_flight.or(other.max_calls_in_flight),
            socket_mode: self.socket_mode.or(other.socket_mode),
        }
    }

    /// Returns the options of a server, with defaults for unset values.
    pub(crate) fn options(&self, session: SessionOptions) -> ServerOptions {
        let set = ServerOptions::new().session(session);
        let set = fill(set, self.workers, ServerOptions::workers);
        let set = fill(set, self.offload, ServerOptions::offload);
        let set = fill(set, self.max_sessions, ServerOptions::max_sessions);
        let limit = |limit: Option<MaxMemory>| limit.and_then(|MaxMemory(bytes)| bytes);
        let set = fill(set, limit(self.max_memory), ServerOptions::max_memory);
        let set = fill(set, limit(self.max_memory_of_user), ServerOptions::max_memory_of_user);
        let set = fill(set, self.max_calls_in_flight, ServerOptions::max_calls_in_flight);
        fill(set, self.socket_mode, ServerOptions::socket_mode)
    }

    /// Returns the number of threads of a serving runtime, or an error for settings of workers.
    pub(crate) fn threads(&self) -> Result<usize, Failure> {
        if self.offload.is_some_and(|threads| threads > 0) {
            return Err("--offload goes with --runtime blocking; leave it out, also in the \
                environment (BREEZEWAY_OFFLOAD) and the file of --config (offload)"
                .into());
        }
        Ok(self.workers.unwrap_or(1))
    }

    /// Returns the options of a server of shmipc, or an error for settings that it does not have.
    pub(crate) fn shmipc(
        &self,
        set: breezeway_shmipc::ServerOptions,
        address: &breezeway_shmipc::Address,
    ) -> Result<breezeway_shmipc::ServerOptions, Failure> {
        refuse_here("--workers", self.workers.is_some())?;
        refuse_here("--offload", self.offload.is_some())?;
        refuse_here("--max-memory", self.max_memory.is_some())?;
        refuse_here("--max-memory-of-user", self.max_memory_of_user.is_some())?;
        refuse_here("--max-calls-in-flight", self.max_calls_in_flight.is_some())?;
        let has_file = matches!(address, breezeway_shmipc::Address::Unix(_));
        if !has_file && self.socket_mode.is_some() {
            return Err(format!("--socket-mode does not go with {address}: no socket file").into());
        }
        let set = fill(set, self.max_sessions, breezeway_shmipc::ServerOptions::max_sessions);
        Ok(fill(set, self.socket_mode, breezeway_shmipc::ServerOptions::socket_mode))
    }
}

fn fill<O, T>(options: O, value: Option<T>, set: impl FnOnce(O, T) -> O) -> O {
    match value {
        Some(value) => set(options, value),
        None => options,
    }
}

/// File from which settings are read, besides flags and the environment.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Settings from a file")]
pub(crate) struct Config {
    /// Read settings from this TOML file: see crates/breezeway-cli/breezeway.toml in the
    /// repository. Flags and the environment take precedence over it
    #[arg(long, value_name = "FILE", env = "BREEZEWAY_CONFIG")]
    config: Option<PathBuf>,
}

impl Config {
    /// Fills values that neither flags nor the environment set in from the file, if there is one.
    pub(crate) fn complete(
        &self,
        session: SessionSettings,
        server: ServerSettings,
    ) -> Result<(SessionSettings, ServerSettings), Failure> {
        let file = self.config.as_deref().map_or(Ok(File::default()), File::read)?;
        Ok((session.or(file.session), server.or(file.server)))
    }
}

/// Returns an error if an option was given that has no effect for a shmipc: address.
fn refuse_here(option: &str, is_given: bool) -> Result<(), Failure> {
    if !is_given {
        return Ok(());
    }
    let flag = option.trim_start_matches("--").replace('-', "_");
    let variable = flag.to_uppercase();
    Err(format!(
        "{option} does nothing for a shmipc: address; leave it out, also in the environment \
         (BREEZEWAY_{variable}) and the file of --config ({flag})"
    )
    .into())
}
