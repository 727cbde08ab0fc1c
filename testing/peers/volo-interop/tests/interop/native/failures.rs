//! Calls that fail: late, unknown and malformed ones.

use std::io::ErrorKind;
use std::time::Duration;

use breezeway::{CallError, ErrorCode, SessionOptions};
use breezeway_rpc::{AsyncServer, Method};
use breezeway_tokio::Session;
use breezeway_volo::{CallOver, VoloService, methods};
use tokio::sync::mpsc::unbounded_channel;
use volo_interop::volo::{self, ShopClientBuilder, ShopRequestRecv};
use volo_thrift::{ApplicationExceptionKind, ClientError};

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
    let not_utf8 = [11, 0, 1, 0, 0, 0, 1, 0xff, 0];
    let behind_the_end = [8, 0, 1, 0, 0, 0, 1, 0, 7];
    let malformed = [&b""[..], &[99], &long_text, &negative_text, &not_utf8, &endless_list, &deep];
    for arguments in malformed {
        refuses(&session, "echo", arguments).await;
    }
    refuses(&session, "check", &behind_the_end).await;
    // A required field is missing.
    refuses(&session, "echo", &[0]).await;
    running.client(PATIENCE).await.check(1).await.unwrap();
}

#[tokio::test]
async fn malformed_oneway_call_is_survived() {
    let mut running = Running::new(Kind::Volo, "shm");
    let session = Session::connect(&running.address).await.unwrap();
    let look = Method::number("Shop", "look");
    for arguments in [&b""[..], &[99], &[11, 0, 1, 0, 0, 0, 1, 0xff, 0], &[0]] {
        session.post(look, arguments).await.unwrap();
    }
    // A oneway call of a method that has a reply runs, and one of no method does nothing.
    for method in [Method::number("Shop", "check"), 0] {
        session.post(method, b"\xff").await.unwrap();
    }
    running.client(PATIENCE).await.look("Volo".into()).await.unwrap();
    assert_eq!(running.told().await, "Volo");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_call_is_cancelled_at_the_server() {
    for kind in [Kind::Volo, Kind::Awaiting] {
        let mut running = Running::new(kind, "shm");
        let shop = running.client(PATIENCE).await;
        let held = tokio::spawn({
            let shop = shop.clone();
            async move { shop.echo("watched".into()).await }
        });
        assert_eq!(running.told().await, "begun", "{kind:?}");
        held.abort();
        assert_eq!(running.told().await, "ended", "{kind:?}");
        shop.check(1).await.unwrap();
    }
}

#[tokio::test]
async fn refusal_of_this_side_is_a_transport_error() {
    let running = Running::new(Kind::Volo, "shm");
    let options = SessionOptions::new().cap(1 << 20);
    let session = Session::connect_with(&running.address, &options).await.unwrap();
    let shop = ShopClientBuilder::new("shops").call_over(session.clone()).build();
    let refused = |failed: Result<_, ClientError>, kind: ErrorKind, words: &str| {
        let Err(ClientError::Transport(error)) = failed else { panic!("{failed:?}") };
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    };
    let large = shop.echo("x".repeat(2 << 20).into()).await;
    refused(large.map(drop), ErrorKind::InvalidInput, "cap");
    shop.check(1).await.unwrap();
    session.close();
    refused(shop.check(1).await, ErrorKind::NotConnected, "this side has closed the session");
}
