//! The service.

use std::collections::HashMap;
use std::future::pending;
use std::sync::{Arc, Mutex};

use breezeway::Address;
use breezeway_rpc::AsyncServer;
use breezeway_volo::{VoloService, methods};
use metainfo::{Backward, Forward, METAINFO};
use pilota::{AHashMap, FastStr};
use tokio::net::UnixListener;
use volo::net::incoming::DefaultIncoming;
use volo_thrift::{BizError, MaybeException, ServerError};

use crate::Outcome;
use crate::generated::volo_gen::matrix::{
    Line, Matrix, MatrixEchoException, MatrixListenException, MatrixRequestRecv, MatrixServer,
    Missing,
};

/// The service: its events, each with their count.
#[derive(Default)]
struct Service(Arc<Mutex<HashMap<FastStr, i64>>>);

/// Notes the end of a handler.
struct Ending<'s>(&'s Service, FastStr);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.note(format!("ended:{}", self.1).into());
    }
}

impl Service {
    fn note(&self, event: FastStr) {
        *self.0.lock().expect("no panic").entry(event).or_default() += 1;
    }
}

impl Matrix for Service {
    async fn echo(
        &self,
        text: FastStr,
    ) -> Result<MaybeException<FastStr, MatrixEchoException>, ServerError> {
        if let Some(name) = text.strip_prefix("wait:") {
            self.note(format!("begun:{name}").into());
            let _ending = Ending(self, name.to_owned().into());
            return pending().await;
        }
        match &*text {
            "missing" => {
                let missing = Missing { name: Some(text) };
                Ok(MaybeException::Exception(MatrixEchoException::Missing(missing)))
            }
            "refused" => {
                Err(ServerError::Biz(BizError::with_extra(410, "too late".into(), AHashMap::new())))
            }
            "metadata" => Ok(MaybeException::Ok(METAINFO.with(|values| {
                let mut values = values.borrow_mut();
                // A value that came as transient is then one of the upstream's.
                let name = values.get_upstream("name").unwrap_or_default();
                values.set_backward_transient("greeting", format!("hello {name}"));
                name
            }))),
            _ => Ok(MaybeException::Ok(text)),
        }
    }

    async fn mark(&self, text: FastStr) -> Result<(), ServerError> {
        self.note(text);
        Ok(())
    }

    async fn post(&self, text: FastStr) -> Result<(), ServerError> {
        self.note(text);
        Ok(())
    }

    async fn marks(&self, text: FastStr) -> Result<i64, ServerError> {
        Ok(self.0.lock().expect("no panic").get(&text).copied().unwrap_or_default())
    }

    async fn unary(&self, line: Line) -> Result<Line, ServerError> {
        Ok(Line { number: line.number.map(|number| number + 1), ..line })
    }

    // Volo calls the methods of streams, which no case does.
    async fn listen(
        &self,
        wanted: Line,
    ) -> Result<MaybeException<Line, MatrixListenException>, ServerError> {
        Ok(MaybeException::Ok(wanted))
    }

    async fn tell(&self, line: Line) -> Result<Line, ServerError> {
        Ok(line)
    }

    async fn talk(&self, line: Line) -> Result<Line, ServerError> {
        Ok(line)
    }
}

/// Serves sessions until standard input ends.
pub(crate) async fn serve_sessions(address: &str) -> Outcome {
    let methods = methods!(Matrix: echo, mark, marks, unary; oneway: post);
    let dispatcher = MatrixServer::from_handler(Service::default());
    let service = VoloService::<_, MatrixRequestRecv>::new(dispatcher, methods);
    let service = service.map_err(|error| error.to_string())?;
    let address = address.parse::<Address>().map_err(|error| error.to_string())?;
    let server = AsyncServer::bind(&address).map_err(|error| error.to_string())?;
    let server = server.with_thrift_clients().add_service(service);
    let server = server.map_err(|error| error.to_string())?;
    let stopper = server.stopper();
    println!("listening");
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_line(&mut String::new());
        stopper.stop();
    });
    server.serve().await.map_err(|error| error.to_string())
}

/// Serves until standard input ends.
pub(crate) async fn serve(path: &str) -> Outcome {
    // Of a server that was killed; there may be none.
    let _ = std::fs::remove_file(path);
    let listener = UnixListener::bind(path).map_err(|error| format!("listen: {error}"))?;
    println!("listening");
    let server = MatrixServer::new(Service::default()).run(DefaultIncoming::from(listener));
    let ended = tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()));
    tokio::select! {
        served = server => served.map_err(|error| format!("serve: {error}")),
        _ = ended => std::fs::remove_file(path).map_err(|error| format!("{path}: {error}")),
    }
}
