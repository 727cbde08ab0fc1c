module breezeway/testing/peers/grpc-go

go 1.24

require google.golang.org/grpc v1.71.0

require (
	cel.dev/expr v0.19.1 // indirect
	cloud.google.com/go/compute/metadata v0.6.0 // indirect
	github.com/breezeway-ipc/breezeway/go v0.0.0 // indirect
	github.com/breezeway-ipc/breezeway/go/breezewaygrpc v0.0.0
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/cncf/xds/go v0.0.0-20241223141626-cff3c89139a3 // indirect
	github.com/envoyproxy/go-control-plane/envoy v1.32.4 // indirect
	github.com/envoyproxy/protoc-gen-validate v1.2.1 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/planetscale/vtprotobuf v0.6.1-0.20240319094008-0393e58bdf10 // indirect
	golang.org/x/net v0.34.0 // indirect
	golang.org/x/oauth2 v0.25.0 // indirect
	golang.org/x/sync v0.10.0 // indirect
	golang.org/x/sys v0.30.0 // indirect
	golang.org/x/text v0.21.0 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20250106144421-5f5ef82da422 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20250115164207-1a7da9e5054f // indirect
	google.golang.org/protobuf v1.36.4 // indirect
)

tool google.golang.org/grpc/interop/client

replace github.com/breezeway-ipc/breezeway/go => ../../../go

replace github.com/breezeway-ipc/breezeway/go/breezewaygrpc => ../../../go/breezewaygrpc
