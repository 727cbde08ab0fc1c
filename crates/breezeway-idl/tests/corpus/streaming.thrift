namespace go echo

struct Request { 1: required string message }
struct Response { 1: required string message }

service EchoService {
    Response EchoBidirectional(1: Request req) (streaming.mode = "bidirectional"),
    Response EchoClient(1: Request req) (streaming.mode = "client"),
    Response EchoServer(1: Request req) (streaming.mode = "server"),
    Response EchoUnary(1: Request req) (streaming.mode = "unary"),
    Response EchoPingPong(1: Request req),
}
