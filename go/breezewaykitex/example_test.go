package breezewaykitex_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/echo/echo"
)

func Example() {
	folder, err := os.MkdirTemp("", "kitex")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	address := "shm:" + filepath.Join(folder, "echo.sock")

	server := echo.NewServer(&mirror{}, breezewaykitex.Server(address))
	go server.Run()
	defer server.Stop()

	client := echo.MustNewClient("Echo",
		breezewaykitex.Client(address, breezeway.WithWaitForServer(10*time.Second)))
	back, err := client.Echo(context.Background(), []byte("hello"))
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", back)
	// Output: hello
}
