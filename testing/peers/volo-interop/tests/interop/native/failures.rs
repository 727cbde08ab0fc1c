//! Calls that fail: late, unknown and malformed ones.

use std::time::Duration;

use breezeway::{CallError, ErrorCode};
use breezeway_rpc::{AsyncServer, Method};
use breezeway_tokio::Session;
use breezeway_volo::{VoloService, methods};
use pilota::thrift::{
    TAsyncInputProtocol, TInputProtocol, TLengthProtocol, TMessageIdentifier, TOutputProtocol,
    ThriftException,
};
use tokio::sync::mpsc::unbounded_channel;
use volo_interop::volo::{self, ShopRequestRecv};
use volo_thrift::context::ServerContext;
use volo_thrift::{ApplicationExceptionKind, ClientError, EntryMessage, ServerError};

use super::shop::{KINDS, Kind, PATIENCE, Running, client};
use crate::shops::Corner;

/// Code of a failed call for arguments that cannot be read.
const UNREADABLE: ErrorCode = ErrorCode::Application(7);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unanswered_call_ends_at_its_deadline() {
    for kind in KINDS {
        let running = Running::new(kind, "shm");
        let held = running.slow.lock().await;
        let late = running.client(Duration::from_millis(100)).await;
        let failed = late.echo("never".into()).await;
        let Err(ClientError::Application(error)) = failed else { panic!("{kind:?}: {failed:?}") };
        assert_eq!(error.kind(), ApplicationExceptionKind::INTERNAL_ERROR);
        assert!(error.message().contains("timeout"), "{error}");
        drop(held);
        // The session is not affected.
        late.check(1).await.unwrap();
    }
}

#[tokio::test]
async fn unknown_method_has_its_kind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nothing.sock");
    let server = AsyncServer::bind(format!("shm:{}", path.display())).unwrap();
    let address = server.address();
    let serving = tokio::spawn(server.serve());
    let failed = client(&address, PATIENCE).await.check(1).await;
    let Err(ClientError::Application(error)) = failed else { panic!("{failed:?}") };
    assert_eq!(error.kind(), ApplicationExceptionKind::UNKNOWN_METHOD, "{error}");
    serving.abort();
}

#[test]
fn listed_method_that_the_code_lacks_is_refused() {
    let create = |methods| {
        let (tell, _) = unbounded_channel();
        let shop = volo::ShopServer::from_handler(Corner::new(tell));
        VoloService::<_, ShopRequestRecv>::new(shop, methods).map(drop)
    };
    create(methods!(Shop: ; oneway: look)).unwrap();
    let error = create(methods!(Shop: check, type)).unwrap_err();
    let words = "the generated code of Shop has no method type; correct the list of its methods";
    assert_eq!(error.to_string(), words);
}

async fn refuses(session: &Session, method: &str, arguments: &[u8]) {
    let failed = session.call(Method::number("Shop", method), arguments).await;
    let is_refused = |code: ErrorCode| code == UNREADABLE;
    assert!(
        matches!(&failed, Err(CallError::Failed { code, .. }) if is_refused(*code)),
        "{method} {arguments:?}: {:?}",
        failed.map(|reply| reply.to_vec())
    );
}

#[tokio::test]
async fn malformed_arguments_fail_the_call_alone() {
    let running = Running::new(Kind::Volo, "shm");
    let session = Session::connect(&running.address).await.unwrap();
    let long_text = [&[11, 0, 1][..], &100_i32.to_be_bytes(), b"short", &[0]].concat();
    let negative_text = [&[11, 0, 1][..], &(-1_i32).to_be_bytes(), &[0]].concat();
    let endless_list = [&[15, 0, 9, 12][..], &i32::MAX.to_be_bytes(), &[0]].concat();
    let deep = [vec![12, 0, 9].repeat(10_000), vec![0; 10_001]].concat();
    let behind_the_end = [8, 0, 1, 0, 0, 0, 1, 0, 7];
    for arguments in [&b""[..], &[99], &long_text, &negative_text, &endless_list, &deep] {
        refuses(&session, "echo", arguments).await;
    }
    refuses(&session, "check", &behind_the_end).await;
    // A required field is missing.
    refuses(&session, "echo", &[0]).await;
    running.client(PATIENCE).await.check(1).await.unwrap();
}

/// A message which is read as pilota reads a container with elements of another type.
struct Overrun;

impl EntryMessage for Overrun {
    fn encode<T: TOutputProtocol>(&self, _: &mut T) -> Result<(), ThriftException> {
        Ok(())
    }

    fn decode<T: TInputProtocol>(
        protocol: &mut T,
        _: &TMessageIdentifier,
    ) -> Result<Self, ThriftException> {
        protocol.get_bytes(None, 1 << 20)?;
        Ok(Self)
    }

    async fn decode_async<T: TAsyncInputProtocol>(
        _: &mut T,
        _: &TMessageIdentifier,
    ) -> Result<Self, ThriftException> {
        unreachable!("messages are read at once")
    }

    fn size<T: TLengthProtocol>(&self, _: &mut T) -> usize {
        0
    }
}

struct Unreached;

impl motore::Service<ServerContext, Overrun> for Unreached {
    type Response = Overrun;
    type Error = ServerError;

    async fn call(&self, _: &mut ServerContext, _: Overrun) -> Result<Overrun, ServerError> {
        unreachable!("its arguments cannot be read")
    }
}

#[tokio::test]
async fn panic_of_pilota_fails_the_call_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("overrun.sock");
    let server = AsyncServer::bind(format!("shm:{}", path.display())).unwrap();
    let service = VoloService::<_, Overrun>::new(Unreached, methods!(Shop: check)).unwrap();
    let server = server.add_service(service).unwrap();
    let session = {
        let address = server.address();
        tokio::spawn(server.serve());
        Session::connect(&address).await.unwrap()
    };
    for _ in 0..2 {
        refuses(&session, "check", &[0]).await;
    }
}
