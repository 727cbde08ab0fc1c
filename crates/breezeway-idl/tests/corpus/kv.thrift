namespace rs kv

typedef binary Key
typedef binary Bytes

struct Entry { 1: required Key key, 2: required Bytes value, 3: optional i64 expires_at, 4: i64 version = 0 }

union Operation { 1: Entry put, 2: Key delete, 3: Increment increment }

struct Increment { 1: Key key, 2: i64 by = 1 }

struct WriteBatch { 1: list<Operation> operations, 2: bool sync = false }

struct ReadBatch { 1: list<Key> keys, 2: bool values_only }

struct Found { 1: map<Key, Entry> entries, 2: set<Key> missing }

exception Conflict { 1: Key key, 2: i64 expected, 3: i64 actual }

service KeyValue {
    Found read(1: ReadBatch batch)
    list<i64> write(1: WriteBatch batch) throws (1: Conflict conflict)
    Bytes get(1: Key key)
    bool contains(1: Key key)
}
