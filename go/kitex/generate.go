package kitex

//go:generate go tool kitex -module github.com/breezeway-ipc/breezeway/go/kitex idl/echo.thrift
