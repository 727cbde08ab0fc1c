//! Metadata of calls as Volo's `METAINFO`.

use breezeway_rpc::{CallOptions, Context, ReplyMetadata};
use metainfo::{Backward, Forward, METAINFO, MetaInfo, RPC_PREFIX_BACKWARD};

/// Adds the values that the task has for its servers.
pub(crate) fn add_to(mut options: CallOptions) -> CallOptions {
    METAINFO.with(|values| {
        let values = values.borrow();
        for (name, value) in values.get_all_persistents().into_iter().flatten() {
            options = std::mem::take(&mut options).persistent_metadata(name, value);
        }
        for (name, value) in values.get_all_transients().into_iter().flatten() {
            options = std::mem::take(&mut options).metadata(name, value);
        }
    });
    options
}

/// Gives the values of a reply to the task.
pub(crate) fn received(reply: &ReplyMetadata) {
    let pairs = reply.pairs();
    if pairs.is_empty() {
        return;
    }
    METAINFO.with(|values| {
        let mut values = values.borrow_mut();
        for (name, value) in &pairs {
            let (name, value) = (text(name), text(value));
            let name = name.strip_prefix(RPC_PREFIX_BACKWARD).unwrap_or(&name).to_owned();
            values.set_backward_downstream(name, value);
        }
    });
}

/// Returns the values of a request for its handler.
pub(crate) fn of_request(cx: &Context) -> MetaInfo {
    let mut values = MetaInfo::new();
    for (name, value) in cx.metadata_pairs() {
        let (name, value) = (text(name), text(value));
        values.strip_rpc_prefix_and_set_persistent(&name, value.clone());
        values.strip_rpc_prefix_and_set_upstream(&name, value);
    }
    values
}

/// Sends back the values that the handler has set for its client.
pub(crate) fn send_back(cx: &Context) {
    METAINFO.with(|values| {
        for (name, value) in values.borrow().get_all_backward_transients().into_iter().flatten() {
            cx.set_reply_metadata(name, value);
        }
    });
}

/// Returns a name or value as Volo has them: bytes that are not UTF-8 are replaced.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
