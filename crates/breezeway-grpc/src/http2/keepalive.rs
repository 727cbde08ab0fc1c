//! PING, which checks that the client of a stopping server is alive.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};
use tokio::sync::watch;
use tokio::time::sleep_until;

/// hyper's clock for a connection, which stands still until the server stops: before that, the end
/// of the socket is the only sign of a client's death, and an idle connection costs nothing.
#[derive(Clone)]
pub(crate) struct StopTimer {
    /// Watches for the stop, at which its sender is dropped.
    stop: watch::Receiver<()>,
}

struct Sleeping(Pin<Box<dyn Future<Output = ()> + Send + Sync>>);

impl StopTimer {
    pub(crate) fn new(stop: watch::Receiver<()>) -> Self {
        Self { stop }
    }
}

impl Timer for StopTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(Instant::now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        let mut stop = self.stop.clone();
        Box::pin(Sleeping(Box::pin(async move {
            while stop.changed().await.is_ok() {}
            sleep_until(deadline.into()).await;
        })))
    }
}

impl Sleep for Sleeping {}

impl Future for Sleeping {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}
