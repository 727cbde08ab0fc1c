//! The crate shmipc, used as its own benchmark does.

use std::os::unix::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, anyhow};
use shmipc::buffer::{BufferReader, BufferWriter};
use shmipc::config::SizePercentPair;
use shmipc::consts::MemMapType;
use shmipc::session::{SessionManager, SessionManagerConfig};
use shmipc::stream::Stream;
use shmipc::transport::{DefaultUnixConnect, DefaultUnixListen};
use shmipc::{Error, Listener};

fn config(path: &Path, size: usize) -> SessionManagerConfig {
    let mut config = SessionManagerConfig::new();
    let inner = config.config_mut();
    inner.queue_cap = 65536;
    inner.connection_write_timeout = Duration::from_secs(1);
    inner.share_memory_buffer_cap = 256 << 20;
    inner.mem_map_type = MemMapType::MemMapTypeMemFd;
    let pair = |size: usize, percent| SizePercentPair { size: size as u32 + 256, percent };
    inner.buffer_slice_sizes = vec![pair(size, 70), pair(16 << 10, 20), pair(64 << 10, 10)];
    inner
        .share_memory_path_prefix
        .push_str(&path.file_name().unwrap_or_default().to_string_lossy());
    config.with_session_num(1)
}

fn failed(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("shmipc: {error}")
}

pub(crate) async fn serve(path: &Path, size: usize, says_so: bool) -> Result<()> {
    let address = SocketAddr::from_pathname(path)?;
    let config = config(path, size).config().clone();
    let mut listener = Listener::new(DefaultUnixListen, address, config).await.map_err(failed)?;
    if says_so {
        println!("listening");
    }
    loop {
        let mut stream = listener.accept().await.map_err(failed)?;
        tokio::spawn(async move {
            while stream.discard(size).await.is_ok() {
                stream.recv_buf().release_previous_read();
                if write(&mut stream, size).await.is_err() {
                    return;
                }
            }
        });
    }
}

/// Sends bytes without initialising them.
async fn write(stream: &mut Stream, size: usize) -> Result<()> {
    stream.send_buf().reserve(size).map_err(failed)?;
    loop {
        match stream.flush(false).await {
            Err(Error::QueueFull) => tokio::time::sleep(Duration::from_micros(1)).await,
            outcome => return outcome.map_err(failed),
        }
    }
}

pub(crate) struct Client(SessionManager<DefaultUnixConnect>);

impl Client {
    pub(crate) async fn connect(path: &Path, size: usize) -> Result<Self> {
        let address = SocketAddr::from_pathname(path)?;
        Ok(Self(
            SessionManager::new(config(path, size), DefaultUnixConnect, address)
                .await
                .map_err(failed)?,
        ))
    }

    pub(crate) fn open(&self, size: usize) -> Result<Talk> {
        Ok(Talk { stream: self.0.get_stream().map_err(failed)?, size })
    }

    pub(crate) async fn close(self) {
        self.0.close().await;
    }
}

pub(crate) struct Talk {
    stream: Stream,
    size: usize,
}

impl Talk {
    pub(crate) async fn round(&mut self) -> Result<()> {
        write(&mut self.stream, self.size).await?;
        self.stream.discard(self.size).await.map_err(failed)?;
        self.stream.release_read_and_reuse();
        Ok(())
    }

    pub(crate) async fn close(mut self) -> Result<()> {
        self.stream.close().await.map_err(failed)?;
        Ok(())
    }
}
