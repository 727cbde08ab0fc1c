//! Breezeway under tokio.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use breezeway_tokio::{Server, Session, Stream};

pub(crate) async fn serve(path: &Path, size: usize, says_so: bool) -> Result<()> {
    let server = Server::bind(format!("shm:{}", path.display()))?;
    if says_so {
        println!("listening");
    }
    let reply = vec![0u8; size];
    let echo = move |_, mut stream: Stream| {
        let reply = reply.clone();
        async move {
            while let Ok(Some(message)) = stream.receive().await {
                drop(message);
                if stream.send(&reply).await.is_err() {
                    return;
                }
            }
        }
    };
    server.serve_streams(|call| async move { call.echo() }, echo).await?;
    Ok(())
}

pub(crate) struct Client(Session);

impl Client {
    pub(crate) async fn call(&self, request: &[u8]) -> Result<()> {
        let reply = self.0.call(0, request).await?;
        ensure!(reply.len() == request.len(), "a reply of another length");
        Ok(())
    }

    pub(crate) async fn connect(path: &Path) -> Result<Self> {
        Ok(Self(Session::connect(format!("shm:{}", path.display())).await?))
    }

    pub(crate) async fn open(&self, size: usize) -> Result<Talk> {
        Ok(Talk { stream: self.0.open(0).await?, message: vec![0; size] })
    }
}

pub(crate) struct Talk {
    stream: Stream,
    message: Vec<u8>,
}

impl Talk {
    pub(crate) async fn round(&mut self) -> Result<()> {
        self.stream.send(&self.message).await?;
        let reply = self.stream.receive().await?.context("the server has ended the stream")?;
        ensure!(reply.len() == self.message.len(), "a reply of another length");
        Ok(())
    }
}
