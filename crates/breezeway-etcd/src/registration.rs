//! A server's own record, under a lease that it keeps alive.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use etcd_client::{Client, PutOptions};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use crate::{Error, Task};

/// gRPC's code for a missing key or lease.
const NOT_FOUND: i32 = 5;

/// Time in seconds, at least 1, for which an instance that no longer renews its lease stays
/// registered. etcd has a minimum of its own, two seconds by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease(u32);

impl Default for Lease {
    fn default() -> Self {
        Self(10)
    }
}

impl Lease {
    /// Returns a lease of this many seconds.
    pub fn seconds(seconds: u32) -> Self {
        Self(seconds.max(1))
    }

    fn time(self) -> Duration {
        Duration::from_secs(self.0.into())
    }

    /// Returns the interval of renewals, and the time limit of each: one renewal may fail in any
    /// way, and the next is still in time.
    fn third(self) -> Duration {
        self.time() / 3
    }
}

/// An instance that is registered for as long as this exists. When it is dropped, or the process is
/// killed, the lease ends after its time; [`Self::deregister`] ends it at once.
///
/// When etcd was away, the instance is registered again a third of the lease's time after etcd is
/// back, also if etcd has lost everything; two thirds, if an attempt hangs in between.
pub struct Registration {
    record: Arc<Record>,
    keeping: Task,
}

struct Record {
    client: Client,
    key: String,
    value: Vec<u8>,
    lease: Lease,
    /// The number of the lease that is kept: one whose key was written.
    number: AtomicI64,
    /// The number that etcd gave a lease last. It may be unknown whether its key was written.
    granted: AtomicI64,
}

impl Registration {
    pub(crate) async fn new(
        client: Client,
        key: String,
        value: Vec<u8>,
        lease: Lease,
    ) -> Result<Self, Error> {
        let (number, granted) = (AtomicI64::new(0), AtomicI64::new(0));
        let record = Arc::new(Record { client, key, value, lease, number, granted });
        record.put(lease.time()).await?;
        let keeping = Arc::clone(&record);
        let keeping = Task(tokio::spawn(async move { keeping.keep().await }));
        Ok(Self { record, keeping })
    }

    /// Ends the lease, and with it the registration: clients make no further calls here once they
    /// learn of it. Stop the server after that.
    pub async fn deregister(self) -> Result<(), Error> {
        let Self { record, keeping } = self;
        // Or it might register again.
        keeping.end().await;
        let patience = record.lease.time();
        // The key stays, as it may be that of another instance of this name by now.
        let ended = record.revoke(record.number.load(Ordering::Relaxed), patience).await;
        record.forget(patience).await?;
        ended
    }
}

impl Record {
    /// Ends the lease that is not known to have its key. From then on etcd refuses to write that,
    /// also if it has the request already and is late.
    async fn forget(&self, patience: Duration) -> Result<(), Error> {
        let [number, granted] =
            [&self.number, &self.granted].map(|number| number.load(Ordering::Relaxed));
        if granted == number { Ok(()) } else { self.revoke(granted, patience).await }
    }

    /// Ends a lease, unless it has expired.
    async fn revoke(&self, number: i64, patience: Duration) -> Result<(), Error> {
        let mut client = self.client.clone();
        match answered(patience, client.lease_revoke(number)).await {
            Err(Error::Etcd(etcd_client::Error::GRpcStatus(status)))
                if i32::from(status.code()) == NOT_FOUND =>
            {
                Ok(())
            }
            other => other.map(drop),
        }
    }

    /// Writes it under a new lease. A write before it that was not answered could come after it,
    /// and leave the key to a lease that is not renewed: that lease ends first.
    async fn put(&self, patience: Duration) -> Result<(), Error> {
        self.forget(patience).await?;
        let mut client = self.client.clone();
        let number = answered(patience, async {
            let granted = client.lease_grant(self.lease.0.into(), None).await?;
            self.granted.store(granted.id(), Ordering::Relaxed);
            let options = PutOptions::new().with_lease(granted.id());
            client.put(self.key.clone(), self.value.clone(), Some(options)).await?;
            Ok(granted.id())
        });
        // Only now: a lease that was granted for a key that was not written is not to be kept.
        self.number.store(number.await?, Ordering::Relaxed);
        Ok(())
    }

    /// Keeps it there, whatever happens to etcd.
    async fn keep(&self) {
        let third = self.lease.third();
        let mut ticks = interval_at(Instant::now() + third, third);
        // An attempt that took all of its time is followed by the next.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            match self.keep_lease().await {
                Ok(()) => {}
                Err(Error::Etcd(etcd_client::Error::LeaseKeepAliveError(_))) => {
                    tracing::debug!(key = self.key, "the lease has ended: registering again");
                    if let Err(error) = self.put(third).await {
                        tracing::warn!(key = self.key, %error, "not registered");
                    }
                }
                Err(error) => tracing::debug!(key = self.key, %error, "the lease was not renewed"),
            }
        }
    }

    /// Renews the lease, which fails with [`etcd_client::Error::LeaseKeepAliveError`] if there is
    /// none. Each renewal opens a new stream, so that it cannot succeed on a dead one.
    async fn keep_lease(&self) -> Result<(), Error> {
        let number = self.number.load(Ordering::Relaxed);
        let mut client = self.client.clone();
        answered(self.lease.third(), client.lease_keep_alive(number)).await.map(drop)
    }
}

async fn answered<T>(
    patience: Duration,
    answer: impl Future<Output = Result<T, etcd_client::Error>>,
) -> Result<T, Error> {
    Ok(timeout(patience, answer).await.map_err(|_| Error::NoAnswer(patience))??)
}
