module github.com/breezeway-ipc/breezeway/go/examples/thrift

go 1.26

require (
	breezeway/testing/peers/apache v0.0.0
	github.com/apache/thrift v0.25.0
	github.com/breezeway-ipc/breezeway/go v0.0.0
	github.com/breezeway-ipc/breezeway/go/breezewaykitex v0.0.0
	github.com/cloudwego/gopkg v0.2.0
)

require (
	github.com/bytedance/gopkg v0.1.4 // indirect
	golang.org/x/sys v0.30.0 // indirect
)

replace (
	breezeway/testing/peers/apache => ../../../testing/peers/apache-go
	github.com/breezeway-ipc/breezeway/go => ../..
	github.com/breezeway-ipc/breezeway/go/breezewaykitex => ../../breezewaykitex
)
