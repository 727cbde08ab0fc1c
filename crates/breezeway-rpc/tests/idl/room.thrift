namespace rs room

struct Line { 1: required string from, 2: required string text }
struct Heard { 1: required i64 lines, 2: required i64 bytes }
exception NoSuchRoom { 1: required string name }

service Room {
    // As many lines as are wanted.
    Line listen(1: Line wanted) throws (1: NoSuchRoom missing) (streaming.mode = "server")
    // How much was told.
    Heard tell(1: Line line) throws (1: NoSuchRoom missing) (streaming.mode = "client")
    // Everything that is said comes back.
    Line talk(1: Line line) throws (1: NoSuchRoom missing) (streaming.mode = "bidirectional")
    // One line each way, which is a call.
    Line say(1: Line line) throws (1: NoSuchRoom missing) (streaming.mode = "unary")
}
