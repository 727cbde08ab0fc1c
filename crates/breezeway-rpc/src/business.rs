//! Business errors: refusals that a service defines itself.

use std::collections::BTreeMap;

use crate::thrift::TtHeader;

/// Text keys of TTHeader for them (Kitex).
const STATUS: &str = "biz-status";
const MESSAGE: &str = "biz-message";
const EXTRA: &str = "biz-extra";

/// A refusal that the service defines: neither an exception of the IDL nor a failure of the call,
/// but a status that client and service agree on. Kitex calls it `BizStatusError`.
///
/// `extra` travels in TTHeader only; between Breezeway's own sides only status and message travel.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("{message} (status {status})")]
pub struct BusinessError {
    /// Status in the service's numbers; not 0.
    pub status: i32,
    /// Message of the service.
    pub message: String,
    /// Further values by name.
    pub extra: BTreeMap<String, String>,
}

impl BusinessError {
    /// Creates an error with a status and a message.
    pub fn new(status: i32, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), extra: BTreeMap::new() }
    }

    /// Returns the text of a failed call for this error.
    pub(crate) fn to_reason(&self) -> String {
        format!("{} {}", self.status, self.message)
    }

    pub(crate) fn from_reason(reason: &str) -> Self {
        let (status, message) = reason.split_once(' ').unwrap_or((reason, ""));
        Self::new(status.parse().unwrap_or_default(), message)
    }

    pub(crate) fn write_to(&self, header: &mut TtHeader) {
        let mut put = |key: &str, value: String| header.texts.push((key.into(), value.into()));
        put(STATUS, self.status.to_string());
        put(MESSAGE, self.message.clone());
        if !self.extra.is_empty() {
            put(EXTRA, serde_json::json!(self.extra).to_string());
        }
    }

    /// Reads the error in a reply's header, if there is one.
    pub(crate) fn read_from(header: &TtHeader) -> Option<Self> {
        let text = |key| header.text(key).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let status: i32 = text(STATUS)?.parse().ok().filter(|status| *status != 0)?;
        let extra = text(EXTRA).and_then(|json| serde_json::from_str(&json).ok());
        let message = text(MESSAGE).unwrap_or_default();
        Some(Self { status, message, extra: extra.unwrap_or_default() })
    }
}
