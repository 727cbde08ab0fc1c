module github.com/breezeway-ipc/breezeway/go/breezewaygrpc

go 1.22

require (
	github.com/breezeway-ipc/breezeway/go v0.0.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20240814211410-ddb44dafa142
	google.golang.org/grpc v1.67.3
	google.golang.org/protobuf v1.34.2
)

require (
	golang.org/x/net v0.28.0 // indirect
	golang.org/x/sys v0.30.0 // indirect
	golang.org/x/text v0.17.0 // indirect
)

replace github.com/breezeway-ipc/breezeway/go => ../
