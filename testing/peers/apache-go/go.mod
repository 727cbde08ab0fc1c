module breezeway/testing/peers/apache

go 1.26

require github.com/apache/thrift v0.25.0
