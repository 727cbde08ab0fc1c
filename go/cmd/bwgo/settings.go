package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// settings holds the flags that both commands have.
type settings struct {
	addr             string
	cpu              int
	wait             string
	cap              size
	prefault         size
	ringCapacity     uint
	handshakeTimeout time.Duration
	callTimeout      time.Duration
	certificate      string
	key              string
	roots            string
}

// A size is a number of bytes, such as 40 or 64KiB.
type size uint64

func (s *size) String() string { return strconv.FormatUint(uint64(*s), 10) }

func (s *size) Set(text string) error {
	shift := 0
	for suffix, bits := range map[string]int{"KiB": 10, "MiB": 20, "GiB": 30} {
		if number, found := strings.CutSuffix(text, suffix); found {
			text, shift = number, bits
		}
	}
	value, err := strconv.ParseUint(text, 10, 34)
	if err != nil {
		return fmt.Errorf("%q is not a number of bytes, such as 40 or 64KiB", text)
	}
	*s = size(value << shift)
	return nil
}

// An optional is a size, or none for 0.
type optional struct{ size }

func (o *optional) Set(text string) error {
	if text == "none" {
		o.size = 0
		return nil
	}
	return o.size.Set(text)
}

func newFlags(name string, s *settings) *flag.FlagSet {
	flags := flag.NewFlagSet("bwgo "+name, flag.ContinueOnError)
	s.cap = 64 << 20
	flags.StringVar(&s.addr, "addr", "",
		"`address`: shm:/path, unix:/path, tcp:host:port, tls:host:port, "+
			"or several, separated by commas")
	flags.IntVar(&s.cpu, "cpu", -1, "pin all threads to this `CPU`")
	flags.StringVar(&s.wait, "wait", or(os.Getenv("BREEZEWAY_WAIT"), "adaptive"),
		"busy, adaptive or park")
	flags.Var(&s.cap, "cap", "the most payload memory per direction, and so the largest message")
	flags.Var(&s.prefault, "prefault", "payload memory that is ready when a session is set up")
	flags.UintVar(&s.ringCapacity, "ring-capacity", 256, "entries in the ring, a power of two")
	flags.DurationVar(&s.handshakeTimeout, "handshake-timeout", time.Second,
		"time limit of connecting, and of the hello")
	flags.DurationVar(&s.callTimeout, "call-timeout", 0, "time limit of a call")
	flags.StringVar(&s.certificate, "certificate", os.Getenv("BREEZEWAY_CERTIFICATE"),
		"PEM `file` with this side's certificate, for tls:")
	flags.StringVar(&s.key, "key", os.Getenv("BREEZEWAY_KEY"),
		"PEM `file` with the private key of the certificate")
	flags.StringVar(&s.roots, "roots", os.Getenv("BREEZEWAY_ROOTS"),
		"PEM `file` with authorities that may issue the peer's certificate")
	return flags
}

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

func (s *settings) parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if s.addr == "" {
		return fmt.Errorf("--addr is missing\n%s", usage)
	}
	return pin(s.cpu)
}

func (s *settings) options() ([]breezeway.Option, error) {
	policies := map[string]breezeway.WaitPolicy{
		"busy": breezeway.Busy, "adaptive": breezeway.Adaptive, "park": breezeway.Park}
	policy, known := policies[s.wait]
	if !known {
		return nil, fmt.Errorf("--wait %q is none of busy, adaptive and park", s.wait)
	}
	return []breezeway.Option{
		breezeway.WithWaitPolicy(policy),
		breezeway.WithCap(uint64(s.cap)), breezeway.WithPrefault(uint64(s.prefault)),
		breezeway.WithRingCapacity(uint32(s.ringCapacity)),
		breezeway.WithHandshakeTimeout(s.handshakeTimeout),
		breezeway.WithCertificate(s.certificate, s.key), breezeway.WithRoots(s.roots),
	}, nil
}

const pinned = "BWGO_PINNED"

// pin pins the process to a CPU. The runtime already has several threads, so the program starts
// again, inherits the mask, and counts its CPUs by it.
func pin(cpu int) error {
	if cpu < 0 || os.Getenv(pinned) == strconv.Itoa(cpu) {
		return nil
	}
	runtime.LockOSThread()
	var mask unix.CPUSet
	mask.Set(cpu)
	if err := unix.SchedSetaffinity(0, &mask); err != nil {
		return fmt.Errorf("pinning to CPU %d: %w", cpu, err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return syscall.Exec(self, os.Args, append(os.Environ(), pinned+"="+strconv.Itoa(cpu)))
}
