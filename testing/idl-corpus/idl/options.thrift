// What options change. common.thrift is in another crate: this one's library.

include "common.thrift"

enum Level { LOW = 1, HIGH = 2, MOST = 2, type = -7 }

struct Key { 1: string name, 2: list<i32> numbers = [1], 3: set<Level> levels, 4: optional Key next, 5: map<i32, Either> parts }
union Either { 1: i64 number, 2: binary bytes, 3: uuid id }
struct Report { 1: double score, 2: common.Page page = {'limit': 5}, 3: list<common.Page> pages, 4: common.Timestamp at, 5: map<string, common.Page> by_name }
service Reports extends common.Health { Report get(1: common.Page page, 2: double score) throws (1: common.Unavailable unavailable) }
