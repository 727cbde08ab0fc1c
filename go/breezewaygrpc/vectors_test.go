package breezewaygrpc

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// A row is a line of docs/vectors/grpc.txt, without its kind.
type row struct {
	left, right string
	isWritten   bool // an encoder writes the left side
}

func rows(t *testing.T, kind string) (list []row) {
	text, err := os.ReadFile("../../docs/vectors/grpc.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		rest, is := strings.CutPrefix(line, kind+" ")
		if !is {
			continue
		}
		r := row{isWritten: strings.Contains(rest, " <-> ")}
		r.left, r.right, _ = strings.Cut(strings.Replace(rest, "<->", "->", 1), " -> ")
		list = append(list, r)
	}
	if len(list) == 0 {
		t.Fatal("no rows of ", kind)
	}
	return list
}

func unhex(t *testing.T, column string) []byte {
	bytes, err := hex.DecodeString(strings.TrimSuffix(column, "-"))
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

func shown(text string) string {
	if text == "" {
		return "-"
	}
	return hex.EncodeToString([]byte(text))
}

func shownFields(fields []field) string {
	var columns []string
	for _, f := range fields {
		columns = append(columns, shown(f.name)+"="+shown(f.value))
	}
	return strings.Join(columns, " ")
}

// isVector compares a row with what was read, and what is written again.
func isVector(t *testing.T, r row, read string, err error, write func() ([]byte, error)) {
	t.Helper()
	if err != nil {
		read = "violation"
	}
	if read != r.right {
		t.Errorf("%s is read as %s (%v), and not %s", r.left, read, err, r.right)
	}
	if err != nil || !r.isWritten {
		return
	}
	if block, err := write(); err != nil || !bytes.Equal(block, unhex(t, r.left)) {
		t.Errorf("%s is written as %x, %v", r.left, block, err)
	}
}

func TestRequestBlocksAreThoseOfVectors(t *testing.T) {
	for _, r := range rows(t, "request") {
		path, fields, err := decodeRequest(unhex(t, r.left))
		read := strings.TrimSpace(shown(path) + " " + shownFields(fields))
		isVector(t, r, read, err, func() ([]byte, error) {
			return encodeRequest(path, slices.DeleteFunc(fields, func(f field) bool {
				return f.name == "te"
			}))
		})
	}
}

func TestResponseBlocksAreThoseOfVectors(t *testing.T) {
	for _, r := range rows(t, "response") {
		response, err := decodeResponse(unhex(t, r.left))
		read := strings.TrimSpace(fmt.Sprint(response.status, " ", shownFields(response.headers)))
		if response.trailers != nil {
			read = strings.TrimSpace(read + " / " + shownFields(response.trailers))
		}
		isVector(t, r, read, err, func() ([]byte, error) {
			return encodeResponse(response.headers, response.trailers, response.trailers != nil)
		})
	}
}

func TestTrailersAreThoseOfVectors(t *testing.T) {
	for _, r := range rows(t, "trailers") {
		fields, err := decodeTrailers(unhex(t, r.left))
		read := shownFields(fields)
		if read == "" {
			read = "-"
		}
		isVector(t, r, read, err, func() ([]byte, error) { return encodeTrailers(fields) })
	}
}

func TestTimeoutsAndResetsAreThoseOfVectors(t *testing.T) {
	for _, r := range rows(t, "timeout") {
		read := "none"
		left, has := decodeTimeout(r.left)
		if has {
			read = strconv.FormatInt(int64(left), 10)
		}
		if read != r.right {
			t.Errorf("%s is read as %s, and not %s", r.left, read, r.right)
		}
	}
	for _, r := range rows(t, "reset") {
		code, err := strconv.ParseUint(r.left, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		if read := fmt.Sprint(uint32(codeOfReset(breezeway.Code(code)))); read != r.right {
			t.Errorf("%s is read as %s, and not %s", r.left, read, r.right)
		}
	}
}

func TestWrittenTimeoutsAreReadAsNoMore(t *testing.T) {
	for left, value := range map[time.Duration]string{0: "0n", -1: "0n", 99_999_999: "99999999n",
		100_000_999: "100000u", 100 * time.Second: "100000m", 100_000 * time.Second: "100000S"} {
		if got := encodeTimeout(left); got != value {
			t.Errorf("%v is written as %s, and not %s", left, got, value)
		}
	}
	if left, has := decodeTimeout("99999999H"); !has || left != 1<<63-1 {
		t.Errorf("the longest time is %v", left)
	}
}

// TestAnyBlockIsValidatedWithoutPanic changes, cuts and extends the blocks of the vectors.
func TestAnyBlockIsValidatedWithoutPanic(t *testing.T) {
	for kind, read := range map[string]func(block []byte) error{
		"request":  func(block []byte) error { _, _, err := decodeRequest(block); return err },
		"response": func(block []byte) error { _, err := decodeResponse(block); return err },
		"trailers": func(block []byte) error { _, err := decodeTrailers(block); return err },
	} {
		random := rand.New(rand.NewPCG(1, 2)) // The kinds come in any order.
		list, valid := rows(t, kind), 0
		const most = 20_000
		for n := range most {
			block := unhex(t, list[n%len(list)].left)
			block = append(block, make([]byte, random.IntN(3))...)
			for range min(len(block), random.IntN(4)) {
				block[random.IntN(len(block))] = byte(random.IntN(256))
			}
			if read(block[:len(block)-random.IntN(min(len(block), 2)+1)]) == nil {
				valid++
			}
		}
		if valid < most/50 || valid > most-most/50 {
			t.Errorf("%d of %d blocks of a %s are valid", valid, most, kind)
		}
	}
}

func TestWordsOfStatusComeBack(t *testing.T) {
	for _, words := range []string{"", "plain", "100 %", "%41", "%zz%", "\t\n☺ 😈\x00"} {
		value := encodeMessage(words)
		if !isPrintable(value) || decodeMessage(value) != words {
			t.Errorf("%q comes back as %q, by %q", words, decodeMessage(value), value)
		}
	}
	if got := decodeMessage("a%4"); got != "a%4" {
		t.Errorf("%q", got)
	}
	if got := encodeMessage("\xff"); got != "%EF%BF%BD" {
		t.Errorf("%q", got)
	}
}

func TestMetadataBeyondTheLongestBlockIsRefused(t *testing.T) {
	const rest = lensLen + 1
	fits := []field{{"k", strings.Repeat("x", longestBlock-rest)}}
	if _, err := encodeTrailers(fits); err != nil {
		t.Error(err)
	}
	for _, value := range []int{longestBlock - rest + 1, 1 << 16, 1 << 17} {
		if _, err := encodeTrailers([]field{{"k", strings.Repeat("x", value)}}); err == nil {
			t.Errorf("%d bytes are written", value)
		}
	}
	if _, err := encodeRequest("/"+strings.Repeat("x", 1<<16), nil); err == nil {
		t.Error("a path of 64 KiB is written")
	}
}
