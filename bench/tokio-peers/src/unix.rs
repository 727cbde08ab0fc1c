//! A bare unix stream socket of tokio.

use std::path::Path;

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

pub(crate) async fn serve(path: &Path, size: usize) -> Result<()> {
    let listener = UnixListener::bind(path)?;
    println!("listening");
    loop {
        let (mut socket, _) = listener.accept().await?;
        tokio::spawn(async move {
            let mut message = vec![0; size];
            while socket.read_exact(&mut message).await.is_ok() {
                if socket.write_all(&message).await.is_err() {
                    return;
                }
            }
        });
    }
}

pub(crate) struct Talk {
    socket: UnixStream,
    message: Vec<u8>,
}

impl Talk {
    pub(crate) async fn connect(path: &Path, size: usize) -> Result<Self> {
        Ok(Self { socket: UnixStream::connect(path).await?, message: vec![0; size] })
    }

    pub(crate) async fn round(&mut self) -> Result<()> {
        self.socket.write_all(&self.message).await?;
        self.socket.read_exact(&mut self.message).await?;
        Ok(())
    }
}
