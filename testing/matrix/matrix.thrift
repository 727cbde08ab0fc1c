namespace rs matrix
namespace go matrix

struct Line { 1: string text, 2: i32 number }
exception Missing { 1: string name }

service Matrix {
    string echo(1: string text) throws (1: Missing missing)
    void mark(1: string text)
    oneway void post(1: string text)
    i64 marks(1: string text)
    Line unary(1: Line line) (streaming.mode="unary")
    Line listen(1: Line wanted) throws (1: Missing missing) (streaming.mode="server")
    Line tell(1: Line line) (streaming.mode="client")
    Line talk(1: Line line) (streaming.mode="bidirectional")
}

service Absent { void nothing() }
