package main

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/cloudwego/shmipc-go"
)

// settings holds the options of every role of this program.
type settings struct {
	path     string
	mode     string
	prefix   string
	buffer   uint
	slices   string
	queue    uint
	sessions int
	rebuild  time.Duration
	patience time.Duration
	tied     bool
}

func (s *settings) register(flags *flag.FlagSet) {
	flags.StringVar(&s.path, "path", "", "the path of the socket, or tcp:HOST:PORT")
	flags.StringVar(&s.mode, "mode", "file", "how a client shares memory: file (protocol 2) or memfd (protocol 3)")
	flags.StringVar(&s.prefix, "prefix", "/dev/shm/shmipc-go", "the beginning of the names of a client's regions")
	flags.UintVar(&s.buffer, "buffer", 32<<20, "bytes of a client's buffer region")
	flags.StringVar(&s.slices, "slices", "8172:50,32748:30,131052:20", "slice sizes of a client's buffer region and the percentage that each gets")
	flags.UintVar(&s.queue, "queue", 8192, "elements of a client's queues")
	flags.IntVar(&s.sessions, "sessions", 1, "connections of a client")
	flags.DurationVar(&s.rebuild, "rebuild", 50*time.Millisecond, "how long a client waits before it connects again")
	flags.DurationVar(&s.patience, "patience", 20*time.Second, "how long a client waits for an answer")
	flags.BoolVar(&s.tied, "tied", false, "end a server with its standard input, so that none outlives a test that was killed")
}

// network returns the address in the library's form.
func (s *settings) network() (network, address string) {
	if address, found := strings.CutPrefix(s.path, "tcp:"); found {
		return "tcp", address
	}
	return "unix", s.path
}

// announce prints the address at which a server listens.
func (s *settings) announce(listener *shmipc.Listener) {
	if network, _ := s.network(); network == "tcp" {
		fmt.Printf("listening on tcp:%s\n", listener.Addr())
		return
	}
	fmt.Printf("listening on %s\n", s.path)
}

// config returns the configuration of both roles.
func (s *settings) config() (*shmipc.Config, error) {
	config := shmipc.DefaultConfig()
	config.LogOutput = os.Stderr
	config.ShareMemoryPathPrefix = s.prefix
	config.ShareMemoryBufferCap = uint32(s.buffer)
	config.QueueCap = uint32(s.queue)
	// Upstream's second is short where the machine is busy.
	config.InitializeTimeout = 20 * time.Second
	switch s.mode {
	case "file":
		config.MemMapType = shmipc.MemMapTypeDevShmFile
	case "memfd":
		config.MemMapType = shmipc.MemMapTypeMemFd
	default:
		return nil, fmt.Errorf("no mode %q: expected file or memfd", s.mode)
	}
	slices, err := parseSlices(s.slices)
	config.BufferSliceSizes = slices
	return config, err
}

func parseSlices(text string) ([]*shmipc.SizePercentPair, error) {
	var slices []*shmipc.SizePercentPair
	for pair := range strings.SplitSeq(text, ",") {
		size, percent, _ := strings.Cut(pair, ":")
		bytes, err := strconv.ParseUint(size, 10, 32)
		if err != nil {
			return nil, err
		}
		share, err := strconv.ParseUint(percent, 10, 32)
		if err != nil {
			return nil, err
		}
		slices = append(slices, &shmipc.SizePercentPair{Size: uint32(bytes), Percent: uint32(share)})
	}
	return slices, nil
}

// connect opens the sessions of a client.
func (s *settings) connect() (*shmipc.SessionManager, error) {
	config, err := s.config()
	if err != nil {
		return nil, err
	}
	setRebuildInterval(config, s.rebuild)
	manager := shmipc.DefaultSessionManagerConfig()
	manager.Config = config
	manager.Network, manager.Address = s.network()
	manager.SessionNum = s.sessions
	return shmipc.NewSessionManager(manager)
}

// setRebuildInterval shortens the minute that the library waits before it connects again: its
// configuration has the value, but does not export it.
func setRebuildInterval(config *shmipc.Config, interval time.Duration) {
	field := reflect.ValueOf(config).Elem().FieldByName("rebuildInterval")
	reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().SetInt(int64(interval))
}

// listenerConfig is the configuration of a server.
func (s *settings) listenerConfig() (*shmipc.ListenerConfig, error) {
	config, err := s.config()
	if err != nil {
		return nil, err
	}
	network, address := s.network()
	listener := shmipc.NewDefaultListenerConfig(address, network)
	listener.Config = config
	return listener, nil
}
