// Package thrift shows how Thrift's generated code writes into reserved messages and reads from
// those that come: what Apache's compiler makes by an io.Writer and an io.Reader, and what Kitex's
// makes, with large fields straight from the program's memory. Its tests are the examples.
//
// There is no envelope: the method's number says what a message is. Whoever wants Thrift's own, and
// its clients and servers, runs Kitex over Breezeway (the module go/kitex).
package thrift
