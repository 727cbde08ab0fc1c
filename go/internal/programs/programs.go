// Package programs starts programs of this repository in Rust for the tests of this module and of
// its sibling modules.
package programs

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"testing"
)

// Path returns the path of a program that a variable of the environment holds. Without it the test
// is skipped.
func Path(t testing.TB, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Skip("SKIPPED: needs the program of the variable " + variable + ", as make go sets it")
	}
	return path
}

// Program is a program that runs until the end of the test.
type Program struct {
	*exec.Cmd
	// Input is the standard input. A server ends once it is closed.
	Input  io.Closer
	output *bufio.Scanner
}

// Start starts a program. Its errors are those of the test.
func Start(t testing.TB, command *exec.Cmd) *Program {
	t.Helper()
	p := &Program{Cmd: command}
	p.Stderr = os.Stderr
	output, err := p.StdoutPipe()
	if err == nil {
		p.Input, err = p.StdinPipe()
	}
	if err == nil {
		err = p.Cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	p.output = bufio.NewScanner(output)
	return p
}

// Says returns the next line that the program prints.
func (p *Program) Says(t testing.TB) string {
	t.Helper()
	if !p.output.Scan() {
		t.Fatalf("%s ends", p.Path)
	}
	return p.output.Text()
}

// Kill ends the program.
func (p *Program) Kill() {
	_ = p.Process.Kill()
	_ = p.Wait()
}
