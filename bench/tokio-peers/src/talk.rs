//! One stream with an echo, ours or a unix stream of tokio, and where its loop runs.

use std::path::Path;

use anyhow::{Context, Result};
use tokio::runtime::Runtime;

use crate::{Flavour, breezeway, unix};

pub(crate) enum Talk {
    /// With the channel, which lives as long.
    Ours(breezeway::Talk, #[expect(dead_code, reason = "held")] breezeway::Client),
    Theirs(unix::Talk),
}

impl Talk {
    pub(crate) async fn ours(path: &Path, size: usize) -> Result<Self> {
        let client = breezeway::Client::connect(path).await?;
        Ok(Self::Ours(client.open(size).await?, client))
    }

    pub(crate) async fn theirs(path: &Path, size: usize) -> Result<Self> {
        Ok(Self::Theirs(unix::Talk::connect(path, size).await?))
    }

    pub(crate) async fn round(&mut self) -> Result<()> {
        match self {
            Self::Ours(talk, _) => talk.round().await,
            Self::Theirs(talk) => talk.round().await,
        }
    }
}

/// Thread of the loop that sends and waits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// In the future of `block_on`: with several workers on a thread beside them.
    BlockOn,
    /// In a task, on one of the workers.
    Task,
}

impl Place {
    /// On one thread there is one place.
    pub(crate) fn of(flavour: Flavour) -> &'static [Self] {
        match flavour {
            Flavour::CurrentThread => &[Self::BlockOn],
            Flavour::TwoWorkers => &[Self::BlockOn, Self::Task],
        }
    }

    pub(crate) fn run<T: Send + 'static>(
        self,
        runtime: &Runtime,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        match self {
            Self::BlockOn => runtime.block_on(work),
            Self::Task => runtime.block_on(async { tokio::spawn(work).await.context("a task")? }),
        }
    }
}
