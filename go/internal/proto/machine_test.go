package proto_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The file that does not compile belongs to the package on unsupported machines.
func TestUnsupportedMachineNamesRequirement(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("SKIPPED: there is no go command here")
	}
	for machine, refuses := range map[string]bool{
		"linux/amd64": false, "linux/arm64": false, "linux/riscv64": false,
		"linux/386": true, "linux/arm": true, "linux/s390x": true, "darwin/arm64": true,
	} {
		system, processor, _ := strings.Cut(machine, "/")
		list := exec.Command("go", "list", "-f", "{{.GoFiles}}", ".")
		list.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor)
		files, err := list.CombinedOutput()
		if err != nil || strings.Contains(string(files), "machine.go") != refuses {
			t.Errorf("%s: %v\n%s", machine, err, files)
		}
	}
}
