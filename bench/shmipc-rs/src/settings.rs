//! The options of every role of this program.

use anyhow::{Context, Result};
use clap::ValueEnum;
use shmipc::Listener;
use shmipc::config::{Config, SizePercentPair};
use shmipc::consts::MemMapType;
use shmipc::session::{SessionManager, SessionManagerConfig};
use shmipc::transport::{DefaultUnixConnect, DefaultUnixListen};
use std::os::unix::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) type Client = SessionManager<DefaultUnixConnect>;

#[derive(clap::Args)]
pub(crate) struct Settings {
    /// The path of the socket
    #[arg(long, value_name = "P")]
    pub(crate) path: PathBuf,
    /// Memory sharing of a client: by named files (protocol 2) or memfds (protocol 3)
    #[arg(long, value_enum, default_value_t = Mode::Memfd)]
    pub(crate) mode: Mode,
    /// Ask for protocol 4 first, and continue with 3 if that fails
    #[arg(long)]
    v4: bool,
    /// The beginning of the names of a client's regions
    #[arg(long, default_value = "/dev/shm/shmipc-rs")]
    prefix: String,
    /// Bytes of a client's buffer region
    #[arg(long, value_name = "B", default_value_t = 32 << 20)]
    buffer: u32,
    /// Slice sizes of a client's buffer region and the percentage that each gets
    #[arg(long, value_delimiter = ',', value_parser = parse_slices, default_value = "8172:50,32748:30,131052:20")]
    slices: Vec<(u32, u32)>,
    /// Elements of a client's queues
    #[arg(long, default_value_t = 8192)]
    queue: u32,
    /// Connections of a client
    #[arg(long, default_value_t = 1)]
    sessions: usize,
    /// Milliseconds that a client waits before it connects again
    #[arg(long, value_name = "MS", default_value_t = 50)]
    rebuild: u64,
    /// Seconds that a client waits for an answer
    #[arg(long, value_name = "S", default_value_t = 20)]
    patience: u64,
    /// End a server with its standard input, so that none outlives a test that was killed
    #[arg(long)]
    pub(crate) tied: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    File,
    Memfd,
}

fn parse_slices(text: &str) -> Result<(u32, u32)> {
    let (size, percent) = text.split_once(':').context("expected SIZE:PERCENT")?;
    Ok((size.parse()?, percent.parse()?))
}

impl Settings {
    pub(crate) fn patience(&self) -> Duration {
        Duration::from_secs(self.patience)
    }

    fn config(&self) -> Config {
        let pair = |&(size, percent): &(u32, u32)| SizePercentPair { size, percent };
        let config = Config {
            queue_cap: self.queue,
            share_memory_buffer_cap: self.buffer,
            share_memory_path_prefix: self.prefix.clone(),
            buffer_slice_sizes: self.slices.iter().map(pair).collect(),
            mem_map_type: match self.mode {
                Mode::File => MemMapType::MemMapTypeDevShmFile,
                Mode::Memfd => MemMapType::MemMapTypeMemFd,
            },
            rebuild_interval: Duration::from_millis(self.rebuild),
            // Upstream's second is short where the machine is busy.
            initialize_timeout: self.patience(),
            ..Config::default()
        };
        if self.v4 { config.with_v4() } else { config }
    }

    fn address(&self) -> Result<SocketAddr> {
        Ok(SocketAddr::from_pathname(&self.path)?)
    }

    pub(crate) async fn connect(&self) -> Result<Client> {
        let sessions =
            SessionManagerConfig::new().with_config(self.config()).with_session_num(self.sessions);
        let failed = || format!("no session with {}", self.path.display());
        let client = SessionManager::new(sessions, DefaultUnixConnect, self.address()?).await;
        client.with_context(failed)
    }

    pub(crate) async fn listen(&self) -> Result<Listener> {
        let listener = Listener::new(DefaultUnixListen, self.address()?, self.config()).await?;
        println!("listening on {}", self.path.display());
        Ok(listener)
    }
}
