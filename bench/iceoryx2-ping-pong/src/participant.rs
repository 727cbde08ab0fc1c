//! Shared parts of both kinds of payload: a node, the service's name, and the poll loop.

use breezeway_measure::Failure;
use breezeway_measure::process::ending::{self, Activity, Stop};
use iceoryx2::prelude::*;
use iceoryx2::service::builder::Builder;
use iceoryx2::service::builder::request_response::RequestResponseOpenError;
use iceoryx2::service::port_factory::client::ClientCreateError;
use std::fmt::{self, Debug, Display, Formatter};
use std::time::{Duration, Instant};

/// A requester that gets no response for this long gives up.
const PATIENCE: Duration = Duration::from_secs(2);

/// Number of empty polls between two readings of the clock: some tens of microseconds.
const POLLS_PER_READING: u32 = 1 << 12;

/// This process in iceoryx2.
pub(crate) struct Participant {
    node: Node<ipc::Service>,
    service: ServiceName,
    name: String,
    size: usize,
}

impl Participant {
    /// Joins with iceoryx2's own defaults, whatever configuration files this machine has. Creating
    /// a node also clears away what processes left behind that were killed.
    pub(crate) fn new(name: &str, size: usize) -> Result<Self, Failure> {
        set_log_level(LogLevel::Fatal);
        let node = NodeBuilder::new()
            .config(&Config::default())
            .signal_handling_mode(SignalHandlingMode::Disabled)
            .create::<ipc::Service>()
            .map_err(|error| format!("iceoryx2 created no node: {error}"))?;
        // The size is part of the name, so that two sides that disagree do not meet.
        let service = ServiceName::new(&format!("{name} {size} B"))
            .map_err(|error| format!("iceoryx2 refused --name {name:?}: {error}"))?;
        Ok(Self { node, service, name: name.to_owned(), size })
    }

    pub(crate) fn builder(&self) -> Builder<ipc::Service> {
        self.node.service_builder(&self.service)
    }

    /// Prints the line that announces to the starter that requests will be answered.
    pub(crate) fn announce(&self) {
        println!("listening on {self}");
    }

    /// Fails if no server received a request.
    #[inline]
    pub(crate) fn check_served(&self, connections: usize) -> Result<(), Failure> {
        if connections == 0 { Err(self.no_server().into()) } else { Ok(()) }
    }

    /// Returns why a requester could not open the service.
    pub(crate) fn absent(&self, error: RequestResponseOpenError) -> String {
        match error {
            RequestResponseOpenError::DoesNotExist => self.no_server(),
            _ => format!("iceoryx2 did not open {self}: {error}"),
        }
    }

    /// Returns why a requester could not join the service.
    pub(crate) fn busy(&self, error: ClientCreateError) -> String {
        match error {
            ClientCreateError::ExceedsMaxSupportedClients => {
                format!("another bench uses {self}: wait for it or choose another --name")
            }
            _ => format!("iceoryx2 created no client of {self}: {error}"),
        }
    }

    /// Returns why a server could not start.
    pub(crate) fn taken(&self, error: impl Display) -> String {
        format!(
            "iceoryx2 created no server of {self} ({error}): another process serves it, or one was \
             killed while it started; choose another --name, or see the README on what iceoryx2 leaves"
        )
    }

    fn no_server(&self) -> String {
        let Self { name, size, .. } = self;
        format!("no server: start iceoryx2-ping-pong serve --name {name} --size {size}")
    }
}

impl Display for Participant {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} with {} B", self.name, self.size)
    }
}

/// Poll loop of this process, and its stop condition.
pub(crate) struct Polling {
    stop: Stop,
    pub(crate) activity: Activity,
}

impl Polling {
    /// For a server.
    pub(crate) fn until_stopped_or_idle() -> Result<Self, Failure> {
        let polling = Self { stop: Stop::default(), activity: Activity::default() };
        let stop = polling.stop.clone();
        ending::watch(&polling.activity, move || stop.request())?;
        Ok(polling)
    }

    /// For a requester, which needs no idle time: it never waits longer than [`PATIENCE`].
    pub(crate) fn until_stopped() -> Result<Self, Failure> {
        Ok(Self { stop: Stop::by_signal()?, activity: Activity::default() })
    }

    /// The next thing that `poll` finds, or `None` when it is time to end.
    #[inline]
    pub(crate) fn next<T, E>(
        &self,
        mut poll: impl FnMut() -> Result<Option<T>, E>,
    ) -> Result<Option<T>, E> {
        while !self.stop.is_requested() {
            if let Some(found) = poll()? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Returns the value that `poll` finds in time.
    #[inline]
    pub(crate) fn response<T, E>(
        &self,
        mut poll: impl FnMut() -> Result<Option<T>, E>,
    ) -> Result<T, Failure>
    where
        E: Debug,
    {
        let mut since = None;
        while !self.stop.is_requested() {
            for _ in 0..POLLS_PER_READING {
                if let Some(found) = poll().map_err(|error| format!("receive: {error:?}"))? {
                    return Ok(found);
                }
            }
            if since.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                return Err(format!("no response for {PATIENCE:?}: is the server gone?").into());
            }
        }
        Err("ended by a signal before the measurement was complete".into())
    }
}
