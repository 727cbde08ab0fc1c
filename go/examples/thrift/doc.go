// Package thrift shows how Thrift's generated code writes into reserved messages and reads from
// received ones: Apache's through an io.Writer and an io.Reader, Kitex's with large fields straight
// from the program's memory. Its tests are the examples.
//
// Messages have no envelope: the method number determines the type of a message. For Thrift's own
// envelope, clients and servers, run Kitex over Breezeway (module go/breezewaykitex).
package thrift
