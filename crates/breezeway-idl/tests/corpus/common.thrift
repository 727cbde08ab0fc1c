// What all services share.

namespace * acme.common

/** Milliseconds since 1970. */
typedef i64 Timestamp
typedef i64 UserId
typedef binary Cursor

const i32 DEFAULT_LIMIT = 20
const string API_VERSION = "v1"

struct Page {
    1: i32 offset = 0,
    2: i32 limit = DEFAULT_LIMIT,
}

exception Unavailable {
    1: required string reason,
    2: optional i32 retry_after_ms,
}

service Health {
    /** Answers when all is well. */
    string ping() throws (1: Unavailable unavailable),
    oneway void shutdown(),
}
