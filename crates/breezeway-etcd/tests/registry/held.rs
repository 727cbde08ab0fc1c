//! A proxy between a client and etcd that holds back etcd's answers from one message on.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch::{self, Receiver, Sender};
use tokio::task::JoinHandle;

/// Ends with its connections when dropped.
pub(crate) struct Held {
    port: u16,
    /// Words of the client from which on answers are held back.
    words: Arc<Mutex<Option<String>>>,
    holding: Sender<bool>,
    accepting: JoinHandle<()>,
}

impl Held {
    pub(crate) async fn start(etcd: &str) -> Self {
        let etcd = etcd.strip_prefix("http://").unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let words = Arc::<Mutex<Option<String>>>::default();
        let holding = watch::channel(false).0;
        let (said, state) = (Arc::clone(&words), holding.clone());
        let accepting = tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let (from_client, to_client) = client.into_split();
                let etcd = TcpStream::connect(&etcd).await.unwrap();
                let (from_etcd, to_etcd) = etcd.into_split();
                tokio::spawn(requests(from_client, to_etcd, Arc::clone(&said), state.clone()));
                tokio::spawn(answers(from_etcd, to_client, state.subscribe()));
            }
        });
        Self { port, words, holding, accepting }
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Holds answers back once the client has sent these words.
    pub(crate) fn hold_once_said(&self, words: &str) {
        *self.words.lock().unwrap() = Some(words.to_owned());
    }

    /// Waits until they are.
    pub(crate) async fn holds(&self) {
        self.holding.subscribe().wait_for(|holding| *holding).await.unwrap();
    }

    pub(crate) fn release(&self) {
        self.holding.send_replace(false);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Until either side is gone.
async fn requests(
    mut client: OwnedReadHalf,
    mut etcd: OwnedWriteHalf,
    words: Arc<Mutex<Option<String>>>,
    holding: Sender<bool>,
) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(len @ 1..) = client.read(&mut bytes).await {
        let text = String::from_utf8_lossy(&bytes[..len]);
        if words.lock().unwrap().take_if(|words| text.contains(&**words)).is_some() {
            holding.send_replace(true);
        }
        if etcd.write_all(&bytes[..len]).await.is_err() {
            break;
        }
    }
}

async fn answers(mut etcd: OwnedReadHalf, mut client: OwnedWriteHalf, mut holding: Receiver<bool>) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(len @ 1..) = etcd.read(&mut bytes).await {
        let is_let_go = holding.wait_for(|holding| !holding).await.is_ok();
        if !is_let_go || client.write_all(&bytes[..len]).await.is_err() {
            break;
        }
    }
}
