//! A server's own record, under a lease that it keeps alive.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use etcd_client::{Client, PutOptions};
use tokio::time::{sleep, timeout};

use crate::{Error, Task};

/// How long an instance stays registered that no longer says that it is there: seconds, at least 1.
/// etcd has a shortest time of its own, two seconds as it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease(u32);

impl Default for Lease {
    fn default() -> Self {
        Self(10)
    }
}

impl Lease {
    /// So many seconds.
    pub fn seconds(seconds: u32) -> Self {
        Self(seconds.max(1))
    }

    fn time(self) -> Duration {
        Duration::from_secs(self.0.into())
    }
}

/// An instance that is registered for as long as this exists. When it is dropped, or the process is
/// killed, the lease ends by itself; [`Self::deregister`] ends it at once.
///
/// When etcd was away, the instance is there again a third of the lease's time after etcd is, also
/// if etcd has lost everything; later if an attempt hangs, which it may for the lease's time.
pub struct Registration {
    record: Arc<Record>,
    keeping: Task,
}

struct Record {
    client: Client,
    key: String,
    value: Vec<u8>,
    lease: Lease,
    /// The number that etcd gave the lease last.
    number: AtomicI64,
}

impl Registration {
    pub(crate) async fn new(
        client: Client,
        key: String,
        value: Vec<u8>,
        lease: Lease,
    ) -> Result<Self, Error> {
        let record = Arc::new(Record { client, key, value, lease, number: AtomicI64::new(0) });
        record.put().await?;
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
        let (mut client, number) = (record.client.clone(), record.number.load(Ordering::Relaxed));
        record.answered(client.lease_revoke(number)).await?;
        Ok(())
    }
}

impl Record {
    /// Writes it under a new lease.
    async fn put(&self) -> Result<(), Error> {
        let mut client = self.client.clone();
        let granted = self.answered(client.lease_grant(self.lease.0.into(), None)).await?;
        let options = PutOptions::new().with_lease(granted.id());
        let put = client.put(self.key.clone(), self.value.clone(), Some(options));
        self.answered(put).await?;
        // Only now: a lease that was granted for a key that was not written is not to be kept.
        self.number.store(granted.id(), Ordering::Relaxed);
        Ok(())
    }

    /// Keeps it there, whatever happens to etcd.
    async fn keep(&self) {
        let pause = self.lease.time() / 3;
        loop {
            sleep(pause).await;
            match self.keep_lease().await {
                Ok(()) => {}
                Err(Error::Etcd(etcd_client::Error::LeaseKeepAliveError(_))) => {
                    tracing::debug!(key = self.key, "the lease has ended: registering anew");
                    if let Err(error) = self.put().await {
                        tracing::warn!(key = self.key, %error, "not registered");
                    }
                }
                Err(error) => tracing::debug!(key = self.key, %error, "the lease was not renewed"),
            }
        }
    }

    /// Renews the lease, which fails with [`etcd_client::Error::LeaseKeepAliveError`] if there is
    /// none. Each time anew, so that no connection is taken for alive that is not.
    async fn keep_lease(&self) -> Result<(), Error> {
        let number = self.number.load(Ordering::Relaxed);
        let mut client = self.client.clone();
        self.answered(client.lease_keep_alive(number)).await?;
        Ok(())
    }

    async fn answered<T>(
        &self,
        answer: impl Future<Output = Result<T, etcd_client::Error>>,
    ) -> Result<T, Error> {
        let patience = self.lease.time();
        Ok(timeout(patience, answer).await.map_err(|_| Error::NoAnswer(patience))??)
    }
}
