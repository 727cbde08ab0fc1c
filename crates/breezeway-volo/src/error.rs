//! Errors of calls, as Volo has them.

use breezeway::{CallError, ErrorKind};
use breezeway_rpc::thrift::ExceptionKind;
use breezeway_rpc::{BusinessError, Error};
use pilota::thrift::{ApplicationException, ApplicationExceptionKind, TransportException};
use volo_thrift::{BizError, ClientError, ServerError};

/// Error for a method in the list of a service that the service's generated code does not have.
#[derive(Debug, thiserror::Error)]
#[error("the generated code of {service} has no method {name}; correct the list of its methods")]
pub struct UnknownMethod {
    pub(crate) service: &'static str,
    pub(crate) name: &'static str,
}

/// Converts the error of a call. Only errors of calls that never ran become `Transport`, because
/// Volo repeats these.
pub(crate) fn of_call(error: Error) -> ClientError {
    match error {
        Error::Application(exception) => {
            let kind = ApplicationExceptionKind::from(exception.kind.0);
            ApplicationException::new(kind, exception.message).into()
        }
        Error::Business(BusinessError { status, message, extra }) => {
            let extra = extra.into_iter().map(|(name, value)| (name.into(), value.into()));
            let extra = (extra.len() > 0).then(|| extra.collect());
            BizError { status_code: status, status_message: message.into(), extra }.into()
        }
        Error::Reply(_) => internal_error(ApplicationExceptionKind::PROTOCOL_ERROR, &error),
        Error::Call(CallError::DeadlinePassed) => {
            let words = format!("rpc call timeout: {error}");
            ApplicationException::new(ApplicationExceptionKind::INTERNAL_ERROR, words).into()
        }
        _ if error.may_have_run() => {
            internal_error(ApplicationExceptionKind::INTERNAL_ERROR, &error)
        }
        never_ran => {
            let kind = match never_ran.kind() {
                ErrorKind::TooLarge => std::io::ErrorKind::InvalidInput,
                _ => std::io::ErrorKind::NotConnected,
            };
            let source = std::io::Error::new(kind, breezeway::describe(&never_ran));
            TransportException::from(source).into()
        }
    }
}

fn internal_error(kind: ApplicationExceptionKind, error: &Error) -> ClientError {
    ApplicationException::new(kind, breezeway::describe(error)).into()
}

/// Converts the error of a handler, or of arguments that it cannot read.
pub(crate) fn of_handler(error: ServerError) -> Error {
    match error {
        ServerError::Application(exception) => {
            let kind = ExceptionKind(exception.kind().as_i32());
            Error::new(kind, exception.message().as_str())
        }
        ServerError::Biz(BizError { status_code: status, status_message, extra }) => {
            let extra = extra.into_iter().flatten();
            let extra = extra.map(|(name, value)| (name.into(), value.into())).collect();
            BusinessError { status, message: status_message.into(), extra }.into()
        }
    }
}
