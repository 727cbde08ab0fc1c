[
    "ads", "chain_c", "config", "feed", "hbase", "ids", "kv", "order", "requiredness", "tensors",
    "tracing", "zipkin",
]
