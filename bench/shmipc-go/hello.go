package main

import (
	"flag"
	"fmt"

	"github.com/cloudwego/shmipc-go"
)

// Messages of the two programs of upstream's quick start.
const (
	request  = "client say hello world!!!"
	response = "server hello world!!!"
)

// helloServer answers the request of one client with the response.
func helloServer(arguments []string) error {
	var told settings
	flags := flag.NewFlagSet("hello-server", flag.ExitOnError)
	told.register(flags)
	flags.Parse(arguments)

	config, err := told.listenerConfig()
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	handle := func(stream *shmipc.Stream) error {
		err := answerHello(stream)
		done <- err
		return err
	}
	listener, err := shmipc.NewListener(&server{handle: handle}, config)
	if err != nil {
		return err
	}
	told.announce(listener)
	go listener.Run()
	return <-done
}

func answerHello(stream *shmipc.Stream) error {
	received, err := stream.BufferReader().ReadString(len(request))
	if err != nil {
		return err
	}
	fmt.Printf("server receive request message:%s\n", received)
	if err := stream.BufferWriter().WriteString(response); err != nil {
		return err
	}
	if err := stream.Flush(true); err != nil {
		return err
	}
	// A session that ends at once loses what was sent: the client closes when it has read.
	_, err = readAvailable(stream)
	return err
}

// helloClient sends the request and prints the response.
func helloClient(arguments []string) error {
	var told settings
	flags := flag.NewFlagSet("hello-client", flag.ExitOnError)
	told.register(flags)
	flags.Parse(arguments)

	manager, err := told.connect()
	if err != nil {
		return err
	}
	defer manager.Close()
	stream, err := manager.GetStream()
	if err != nil {
		return err
	}
	defer stream.Close()
	if err := stream.BufferWriter().WriteString(request); err != nil {
		return err
	}
	if err := stream.Flush(true); err != nil {
		return err
	}
	received, err := stream.BufferReader().ReadString(len(response))
	if err != nil {
		return err
	}
	fmt.Printf("client stream receive response %s\n", received)
	return nil
}
