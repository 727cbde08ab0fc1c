package instances

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const whole = `{"address":"shm:/run/a/s,tcp:10.0.0.7:1","weight":3,"locality":"b00t/1/2"}`

// The constant is that of the test of the same name in crates/breezeway-etcd/src/record.rs.
func TestRecordIsReadAsItWasWritten(t *testing.T) {
	instance, err := Parse("a", []byte(whole))
	if err != nil || instance.Weight != 3 || instance.Locality.String() != "b00t/1/2" {
		t.Fatal(instance, err)
	}
	if written := string(instance.Record()); written != whole {
		t.Error(written)
	}
	for _, framing := range []string{"", "ttheader", "framed", "unframed"} {
		bare := instanceOf(t, "tcp:10.0.0.7:1")
		bare.Framing = framing
		read, err := Parse("a", bare.Record())
		if err != nil || !reflect.DeepEqual(read, bare) {
			t.Error(framing, read, err)
		}
	}
}

func TestMissingFieldsGetDefaultsAndUnknownOnesAreIgnored(t *testing.T) {
	read, err := Parse("a", []byte(`{"address":"tcp:10.0.0.7:1","zone":"b"}`))
	if err != nil || !reflect.DeepEqual(read, instanceOf(t, "tcp:10.0.0.7:1")) {
		t.Error(read, err)
	}
}

func TestBrokenRecordNamesTheReason(t *testing.T) {
	for text, reason := range map[string]string{
		"tcp:10.0.0.7:1":                             "invalid character",
		`{"weight":1}`:                               "has no address",
		`{"address":null}`:                           "has no address",
		`{"address":"x:y"}`:                          "no scheme that is known",
		`{"address":""}`:                             "no scheme that is known",
		`{"address":"tcp:a:1","weight":-1}`:          "weight",
		`{"address":"tcp:a:1","weight":4294967296}`:  "weight",
		`{"address":"tcp:a:1","framing":"odd"}`:      `framing "odd"`,
		`{"address":"tcp:a:1","framing":""}`:         `framing ""`,
		`{"address":"tcp:a:1","locality":""}`:        "a locality is",
		`{"address":"tcp:a:1","locality":"here"}`:    "a locality is",
		`{"address":"tcp:a:1","locality":"a/1"}`:     "a locality is",
		`{"address":"tcp:a:1","locality":"a/1/x"}`:   "a locality is",
		`{"address":"tcp:a:1","locality":"a/1/2/3"}`: "a locality is",
		`{"address":"tcp:a:1","locality":"/1/2"}`:    "a locality is",
		`{"address":"tcp:a:1","locality":"a/-1/2"}`:  "a locality is",
		`[{"address":"tcp:a:1"}]`:                    "cannot unmarshal",
		`{"address":"tcp:a:1"`:                       "unexpected end",
	} {
		_, err := Parse("a", []byte(text))
		if err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSocketsAreUsedInTheKnownLocalFolderOnly(t *testing.T) {
	folder := t.TempDir()
	sockets := "shm:" + folder + "/a,unix:" + folder + "/b"
	instance, err := Here("a", sockets+",tcp:other:1")
	if err != nil {
		t.Fatal(err)
	}
	way(t, instance, sockets, true)
	otherHost := instance
	otherHost.Locality = &Locality{"another", instance.Locality.device, instance.Locality.inode}
	way(t, otherHost, "tcp:other:1", false)
	otherHost.Locality = nil
	way(t, otherHost, "tcp:other:1", false)
	if err := os.Rename(folder, folder+"-moved"); err != nil {
		t.Fatal(err)
	}
	way(t, instance, "tcp:other:1", false)
	if err := os.Mkdir(folder, 0o700); err != nil { // Another folder of the same name.
		t.Fatal(err)
	}
	way(t, instance, "tcp:other:1", false)
}

func TestInstanceWithSocketsOnlyIsUnreachableElsewhere(t *testing.T) {
	way(t, instanceOf(t, "shm:/run/a,unix:/run/b"), "", false)
}

func TestInstanceHereWithoutASocketOrItsFolderIsRefused(t *testing.T) {
	_, err := Here("a", "tcp:localhost:1")
	if err == nil || !strings.Contains(err.Error(), "no place with a socket file") {
		t.Error(err)
	}
	if _, err := Here("a", "shm:"+filepath.Join(t.TempDir(), "none", "a")); !os.IsNotExist(err) {
		t.Error(err)
	}
}

func instanceOf(t *testing.T, addresses string) Instance {
	t.Helper()
	instance, err := New("a", addresses)
	if err != nil {
		t.Fatal(err)
	}
	return instance
}

func way(t *testing.T, instance Instance, addresses string, here bool) {
	t.Helper()
	if got, isHere := instance.Way(); got != addresses || isHere != here {
		t.Errorf("%q, here: %v", got, isHere)
	}
}
