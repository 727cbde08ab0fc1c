package breezeway_test

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
)

// bwgo builds the command once, for tests with processes of their own.
var bwgo = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "bwgo")
	if err != nil {
		return "", err
	}
	built = folder
	path := folder + "/bwgo"
	output, err := exec.Command("go", "build", "-o", path, "../cmd/bwgo").CombinedOutput()
	if err != nil {
		return "", errors.New(string(output))
	}
	return path, nil
})

// built is the folder where bwgo was built, if a test has needed it.
var built string

func TestMain(m *testing.M) {
	if actRole() {
		return
	}
	folder, err := os.MkdirTemp("", "breezeway")
	if err == nil {
		err = certify(folder)
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	_ = os.RemoveAll(built)
	os.Exit(code)
}

// startsPrograms returns true if the system can start programs like this one. An emulator may not.
var startsPrograms = sync.OnceValue(func() bool {
	err := exec.Command(os.Args[0], "-test.run", "^$").Run()
	return !errors.Is(err, syscall.ENOEXEC)
})

func mustStartPrograms(t testing.TB) {
	if !startsPrograms() {
		t.Skip("SKIPPED: the system does not start programs for", runtime.GOARCH)
	}
}

// commands returns the commands of both languages.
func commands(t *testing.T) map[string]string {
	mustStartPrograms(t)
	goCommand, err := bwgo()
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]string{"go": goCommand}
	if rust := os.Getenv("BREEZEWAY_BIN"); rust != "" {
		list["rust"] = rust
	} else {
		t.Log("SKIPPED: the half with Rust, as BREEZEWAY_BIN does not name the command breezeway")
	}
	return list
}
