package breezewaykitex

//go:generate -command kitex go tool kitex -module github.com/breezeway-ipc/breezeway/go/$GOPACKAGE
//go:generate kitex idl/echo.thrift
//go:generate kitex idl/lists.thrift
//go:generate kitex ../../crates/breezeway-rpc/tests/idl/users.thrift
//go:generate kitex -streamx ../../crates/breezeway-rpc/tests/idl/room.thrift
//go:generate kitex idl/shapes.thrift
