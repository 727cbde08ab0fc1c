# Spans, of the kind that Jaeger's agents send.
namespace rs telemetry.tracing

enum TagType { STRING, DOUBLE, BOOL, LONG, BINARY }

struct Tag {
  1: required string  key
  2: required TagType vType
  3: optional string  vStr
  4: optional double  vDouble
  5: optional bool    vBool
  6: optional i64     vLong
  7: optional binary  vBinary
}

struct Log {
  1: required i64       timestamp
  2: required list<Tag> fields
}

enum SpanRefType { CHILD_OF, FOLLOWS_FROM }

struct SpanRef {
  1: required SpanRefType refType
  2: required i64         traceIdLow
  3: required i64         traceIdHigh
  4: required i64         spanId
}

struct Span {
  1:  required i64           traceIdLow   # the least significant 64 bits
  2:  required i64           traceIdHigh  # the most significant 64 bits; 0 when short
  3:  required i64           spanId
  4:  required i64           parentSpanId
  5:  required string        operationName
  6:  optional list<SpanRef> references
  7:  required i32           flags
  8:  required i64           startTime
  9:  required i64           duration
  10: optional list<Tag>     tags
  11: optional list<Log>     logs
}

struct Process {
  1: required string    serviceName
  2: optional list<Tag> tags
}

struct ClientStats {
  1: required i64 fullQueueDroppedSpans
  2: required i64 tooLargeDroppedSpans
  3: required i64 failedToEmitSpans
}

struct Batch {
  1: required Process     process
  2: required list<Span>  spans
  3: optional i64         seqNo
  4: optional ClientStats stats
}

struct BatchSubmitResponse { 1: required bool ok }

service Collector {
  list<BatchSubmitResponse> submitBatches(1: list<Batch> batches)
}

service Agent {
  oneway void emitBatch(1: Batch batch)
}
