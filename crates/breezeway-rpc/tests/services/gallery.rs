//! A service with short text, which allocates no memory, and binaries that may be shared.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread::JoinHandle;

use breezeway::{Address, Pool, ServeError, Stopper};
use breezeway_rpc::thrift::{Bytes, SmallString, decode_shared, to_vec};
use breezeway_rpc::{
    AsyncReplies, AsyncRequests, AsyncServer, Channel, Context, Error, Replies, Requests, Server,
    ThriftClient, ThriftFraming,
};
use tempfile::TempDir;

include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/gallery.rs"));
use gallery::*;

/// Pictures by their titles.
#[derive(Default)]
struct Wall(Mutex<BTreeMap<String, Picture>>);

impl Wall {
    fn find(&self, title: &str) -> Result<Picture, GalleryShowError> {
        let pictures = self.0.lock().unwrap();
        let missing = || NoSuchPicture { message: format!("there is no {title}").into() };
        pictures.get(title).cloned().ok_or_else(|| missing().into())
    }
}

impl Gallery for Wall {
    fn show(&self, _: &Context, title: SmallString) -> Result<Picture, GalleryShowError> {
        self.find(&title)
    }

    fn hang(&self, _: &Context, picture: Picture) -> Result<(), Error> {
        self.0.lock().unwrap().insert(picture.title.to_string(), picture);
        Ok(())
    }

    fn develop(
        &self,
        _: &Context,
        negative: Bytes,
        title: Option<SmallString>,
    ) -> Result<Bytes, Error> {
        let title = title.unwrap_or_default();
        Ok(title.bytes().chain(negative.iter().map(|byte| !byte)).collect())
    }

    fn copy(
        &self,
        _: &Context,
        mut originals: Requests<'_, Picture>,
        mut copies: Replies<'_, Picture>,
    ) -> Result<(), Error> {
        while let Some(original) = originals.receive()? {
            copies.send(&original)?;
        }
        Ok(())
    }
}

impl AsyncGallery for Wall {
    async fn show(&self, _: &Context, title: SmallString) -> Result<Picture, GalleryShowError> {
        self.find(&title)
    }

    async fn hang(&self, cx: &Context, picture: Picture) -> Result<(), Error> {
        Gallery::hang(self, cx, picture)
    }

    async fn develop(
        &self,
        cx: &Context,
        negative: Bytes,
        title: Option<SmallString>,
    ) -> Result<Bytes, Error> {
        Gallery::develop(self, cx, negative, title)
    }

    async fn copy(
        &self,
        _: &Context,
        mut originals: AsyncRequests<'_, Picture>,
        mut copies: AsyncReplies<'_, Picture>,
    ) -> Result<(), Error> {
        while let Some(original) = originals.receive().await? {
            copies.send(&original).await?;
        }
        Ok(())
    }
}

/// Messages that travel in the ring, beside it, and that are read once from where they are.
const SIZES: [usize; 4] = [0, 20, 5_000, 300_000];

fn picture(size: usize) -> Picture {
    let pixels: Bytes = (0..size).map(|index| index as u8).collect();
    Picture {
        title: format!("{size} pixels").into(),
        frames: Some(vec![pixels.slice(..size / 2), Bytes::new()]),
        notes: [("of a usual length, which is not in place".into(), pixels.slice(size / 2..))]
            .into(),
        pixels,
        ..Picture::default()
    }
}

/// A server in this process, which ends with it.
struct Running {
    address: Address,
    stopper: Stopper,
    serving: Option<JoinHandle<Result<(), ServeError>>>,
    _folder: TempDir,
}

impl Running {
    fn new(carrier: &str) -> Self {
        let (folder, address) = place(carrier);
        let server = Server::bind(&address).unwrap().with_thrift_clients();
        let server = server.add_service(GalleryServer(Wall::default())).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let serving = Some(std::thread::spawn(move || server.serve()));
        Self { address, stopper, serving, _folder: folder }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
        self.serving.take().unwrap().join().unwrap().unwrap();
    }
}

fn place(carrier: &str) -> (TempDir, Address) {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("{carrier}:{}/gallery.sock", folder.path().display());
    (folder, address.parse().unwrap())
}

fn every_call<C: Channel>(gallery: &GalleryClient<C>) {
    for size in SIZES {
        let picture = picture(size);
        gallery.hang(picture.clone()).unwrap();
        let shown = gallery.show(picture.title.clone()).unwrap();
        assert_eq!(shown, picture);
        assert_eq!(shown.thumbnail, "none yet");
        let developed = gallery.develop(picture.pixels.clone(), Some("x".into())).unwrap();
        assert_eq!(developed.len(), size + 1);
        assert!(developed[1..].iter().zip(&picture.pixels).all(|(one, other)| *one == !other));
    }
    match gallery.show("Nobody".into()) {
        Err(GalleryShowError::Missing(missing)) => {
            assert_eq!(missing.to_string(), "there is no Nobody");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn small_strings_and_shared_bytes_are_served() {
    for carrier in ["shm", "unix"] {
        let running = Running::new(carrier);
        every_call(&GalleryClient::new(Pool::connect(&running.address).unwrap()));
        every_call(&GalleryClient::new(breezeway::Session::connect(&running.address).unwrap()));
        for framing in [ThriftFraming::TtHeader, ThriftFraming::Framed, ThriftFraming::Unframed] {
            let client = ThriftClient::with_framing(running.address.clone(), framing);
            every_call(&GalleryClient::new(client));
        }
    }
}

#[test]
fn small_strings_and_shared_bytes_are_streamed() {
    for carrier in ["shm", "unix"] {
        let running = Running::new(carrier);
        let channel = breezeway::Session::connect(&running.address).unwrap();
        let mut copies = GalleryClient::new(channel).copy().unwrap();
        for size in SIZES {
            copies.send(&picture(size)).unwrap();
            assert_eq!(copies.receive().unwrap(), Some(picture(size)));
        }
        copies.finish().unwrap();
        assert_eq!(copies.receive().unwrap(), None);
    }
}

#[tokio::test]
async fn services_with_small_strings_and_shared_bytes_are_awaited() {
    for carrier in ["shm", "unix"] {
        let (_folder, address) = place(carrier);
        let server = AsyncServer::bind(&address).unwrap();
        let server = server.add_service(AsyncGalleryServer(Wall::default())).unwrap();
        let stopper = server.stopper();
        let serving = tokio::spawn(server.serve());
        let channel = breezeway_tokio::Session::connect(&address).await.unwrap();
        let gallery = AsyncGalleryClient::new(channel);
        let mut copies = gallery.copy().await.unwrap();
        for size in SIZES {
            gallery.hang(picture(size)).await.unwrap();
            assert_eq!(gallery.show(picture(size).title).await.unwrap(), picture(size));
            copies.send(&picture(size)).await.unwrap();
            assert_eq!(copies.receive().await.unwrap(), Some(picture(size)));
        }
        let missing = gallery.show("Nobody".into()).await;
        assert!(matches!(missing, Err(GalleryShowError::Missing(_))), "{missing:?}");
        drop((copies, gallery));
        stopper.stop();
        serving.await.unwrap().unwrap();
    }
}

/// A service gets a copy of the received bytes; bytes that a program keeps need not be a copy.
#[test]
fn kept_message_is_decoded_again_without_copy() {
    let running = Running::new("shm");
    let gallery = GalleryClient::new(Pool::connect(&running.address).unwrap());
    gallery.hang(picture(5_000)).unwrap();
    let kept = Bytes::from(to_vec(&gallery.show("5000 pixels".into()).unwrap()).unwrap());
    let again: Picture = decode_shared(&kept).unwrap();
    assert_eq!(again, picture(5_000));
    assert!(kept.as_ptr_range().contains(&again.pixels.as_ptr()), "it is a copy");
}

#[test]
fn serde_is_derived_for_service_types() {
    fn shown<T: serde::Serialize + serde::de::DeserializeOwned>(_: &T) {}
    shown(&picture(1));
    shown(&NoSuchPicture::default());
}
