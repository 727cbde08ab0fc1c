//! Refusals in terms of a service's own business.

use std::collections::BTreeMap;

use crate::thrift::TtHeader;

/// The text keys of TTHeader that say it (Kitex).
const STATUS: &str = "biz-status";
const MESSAGE: &str = "biz-message";
const EXTRA: &str = "biz-extra";

/// A refusal that is the service's own: no exception of the IDL and no failure of the call, but a
/// status that client and service agree about. Kitex calls it `BizStatusError`.
///
/// `extra` travels in TTHeader only: between Breezeway's own sides, status and message do.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("{message} (status {status})")]
pub struct BusinessError {
    /// What it is, in the service's numbers; not 0.
    pub status: i32,
    /// The service's words.
    pub message: String,
    /// More of it, by name.
    pub extra: BTreeMap<String, String>,
}

impl BusinessError {
    /// A status and words.
    pub fn new(status: i32, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), extra: BTreeMap::new() }
    }

    /// As the text of a failed call.
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

    /// What a reply's header says; nothing if it is no refusal.
    pub(crate) fn read_from(header: &TtHeader) -> Option<Self> {
        let text = |key| header.text(key).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let status: i32 = text(STATUS)?.parse().ok().filter(|status| *status != 0)?;
        let extra = text(EXTRA).and_then(|json| serde_json::from_str(&json).ok());
        let message = text(MESSAGE).unwrap_or_default();
        Some(Self { status, message, extra: extra.unwrap_or_default() })
    }
}
