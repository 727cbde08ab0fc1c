//! Loads of a channel.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use breezeway_grpc_interop::AnyChannel;
use breezeway_grpc_interop::cases::{self, simple};
use futures::future::try_join_all;
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus};

/// Time of one load.
const TIME: Duration = Duration::from_millis(200);
const MIB: usize = 1 << 20;
const DEPTH: usize = 64;

#[derive(Clone, Copy)]
pub(crate) enum Load {
    /// Health checks, one at a time: the median of their times in µs.
    One,
    /// Health checks, 64 at a time: calls per second.
    Many,
    /// Calls with 1 MiB each way, one at a time: calls per second.
    Large,
}

impl Load {
    pub(crate) const ALL: [Self; 3] = [Self::One, Self::Many, Self::Large];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::One => "1 call",
            Self::Many => "64 calls",
            Self::Large => "1 MiB",
        }
    }

    pub(crate) fn is_many(self) -> bool {
        matches!(self, Self::Many)
    }

    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::One => "µs p50",
            Self::Many | Self::Large => "per s ",
        }
    }

    pub(crate) async fn run(self, channel: &AnyChannel) -> Result<f64> {
        let mut times = match self {
            Self::One => checks(channel.clone()).await?,
            Self::Many => try_join_all((0..DEPTH).map(|_| checks(channel.clone()))).await?.concat(),
            Self::Large => echoes(channel.clone()).await?,
        };
        Ok(match self {
            Self::One => {
                times.sort_unstable();
                times[times.len() / 2].as_secs_f64() * 1e6
            }
            Self::Many | Self::Large => times.len() as f64 / TIME.as_secs_f64(),
        })
    }
}

/// One health check.
pub(crate) async fn check(client: &mut HealthClient<AnyChannel>) -> Result<()> {
    let response = client.check(HealthCheckRequest::default()).await?;
    ensure!(response.into_inner().status() == ServingStatus::Serving, "it does not serve");
    Ok(())
}

async fn checks(channel: AnyChannel) -> Result<Vec<Duration>> {
    let mut client = HealthClient::new(channel);
    let (start, mut times) = (Instant::now(), Vec::new());
    while start.elapsed() < TIME {
        let sent = Instant::now();
        check(&mut client).await?;
        times.push(sent.elapsed());
    }
    Ok(times)
}

async fn echoes(channel: AnyChannel) -> Result<Vec<Duration>> {
    let mut client = cases::client(channel);
    let (start, mut times) = (Instant::now(), Vec::new());
    while start.elapsed() < TIME {
        let sent = Instant::now();
        let response = client.unary_call(simple(MIB, MIB as i32)).await?.into_inner();
        times.push(sent.elapsed());
        ensure!(response.payload.is_some_and(|payload| payload.body.len() == MIB), "too short");
    }
    Ok(times)
}
