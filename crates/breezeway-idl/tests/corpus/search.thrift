namespace rs search.v2

/** A tree of conditions. */
union Query {
    1: Term term,
    2: Range range,
    3: Bool all_of,
    4: Bool any_of,
    5: Query negated,
    6: MatchAll everything,
}

struct MatchAll {}

struct Term {
    1: required string field
    2: required string value
    3: optional double boost = 1.0
}

struct Range {
    1: required string field
    2: optional double from
    3: optional double to
    4: bool inclusive = true
}

struct Bool {
    1: required list<Query> queries
}

enum SortOrder { ASCENDING, DESCENDING }

struct Sort { 1: string field, 2: SortOrder order = SortOrder.ASCENDING }

struct Request {
    1: required Query query
    2: list<Sort> sort
    3: i32 from = 0
    4: i32 size = 10
    5: map<string, list<string>> facets
    6: optional i64 timeout_ms
}

struct Hit {
    1: required string id
    2: double score
    3: binary source
    4: map<string, list<string>> highlights
}

struct Response {
    1: i64 total
    2: list<Hit> hits
    3: map<string, map<string, i64>> facets
    4: i32 took_ms
}

exception QueryError { 1: string message, 2: i32 position = -1 }

service Search {
    Response search(1: Request request) throws (1: QueryError error)
    list<Response> multi(1: list<Request> requests) throws (1: QueryError error)
}
