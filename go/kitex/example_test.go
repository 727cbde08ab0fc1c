package kitex_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	breezekitex "github.com/breezeway-ipc/breezeway/go/kitex"
	"github.com/breezeway-ipc/breezeway/go/kitex/kitex_gen/echo/echo"
)

func Example() {
	folder, err := os.MkdirTemp("", "kitex")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	address := "shm:" + filepath.Join(folder, "echo.sock")

	listener, err := breezekitex.Listen(address)
	if err != nil {
		panic(err)
	}
	server := echo.NewServer(&mirror{}, breezekitex.WithListener(listener)...)
	go server.Run()
	defer server.Stop()

	client := echo.MustNewClient("Echo", breezekitex.WithDialer(address)...)
	back, err := client.Bounce(context.Background(), []byte("hello"))
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", back)
	// Output: hello
}
