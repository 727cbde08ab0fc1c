package breezewaykitex

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/cloudwego/kitex/pkg/kerrors"
	"github.com/cloudwego/kitex/pkg/remote"
	"github.com/cloudwego/kitex/pkg/rpcinfo"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/users"
	"github.com/breezeway-ipc/breezeway/go/internal/wire"
)

// rows returns the rows of docs/vectors/services.txt of a kind: their columns, and the outcome.
func rows(t *testing.T, kind string) (found [][2][]string) {
	text, err := os.ReadFile("../../docs/vectors/services.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		left, right, _ := strings.Cut(strings.TrimSpace(line), " -> ")
		if columns := strings.Fields(left); len(columns) > 0 && columns[0] == kind {
			found = append(found, [2][]string{columns[1:], strings.Fields(right)})
		}
	}
	if len(found) == 0 {
		t.Fatalf("no rows of %s", kind)
	}
	return found
}

func text(column string) string { return strings.TrimSuffix(column, "-") }

func unhex(t *testing.T, column string) []byte {
	t.Helper()
	bytes, err := hex.DecodeString(text(column))
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

func TestTagVectors(t *testing.T) {
	for _, row := range rows(t, "tag") {
		tag := wire.Tag(text(row[0][0]), text(row[0][1]))
		if fmt.Sprint(tag) != row[1][0] {
			t.Errorf("%v is %d, and not %s", row[0], tag, row[1][0])
		}
	}
}

func TestPairVectors(t *testing.T) {
	for _, row := range rows(t, "pairs") {
		block := unhex(t, row[0][0])
		pairs, err := wire.DecodePairs(block)
		if row[1][0] == "violation" {
			if err == nil {
				t.Errorf("%x is %v", block, pairs)
			}
			continue
		}
		expected := map[string]string{}
		for _, pair := range row[1] {
			name, value, _ := strings.Cut(pair, "=")
			expected[string(unhex(t, name))] = string(unhex(t, value))
		}
		if err != nil || !maps.Equal(pairs, expected) {
			t.Errorf("%x is %v, %v, and not %v", block, pairs, err, expected)
		}
		again, err := wire.EncodePairs(pairs)
		if len(pairs) == len(row[1]) && err == nil {
			pairs, err = wire.DecodePairs(again)
		}
		if err != nil || !maps.Equal(pairs, expected) {
			t.Errorf("%v is encoded as %x: %v", expected, again, err)
		}
	}
}

func TestFailureVectors(t *testing.T) {
	for _, row := range rows(t, "failure") {
		code, err := strconv.ParseUint(row[0][0], 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		failed := &breezeway.CallError{Code: breezeway.Code(code),
			Reason: string(unhex(t, row[0][1]))}
		if got := outcomeOf(failed); got != strings.Join(row[1], " ") {
			t.Errorf("%v is %s, and not %v", row[0], got, row[1])
		}
	}
}

// outcomeOf returns a failed call in the words of services.txt.
func outcomeOf(failed error) string {
	info := rpcinfo.NewRPCInfo(nil, nil, rpcinfo.NewInvocation("S", "m"), nil, nil)
	if isBusiness(failed, info) {
		business := info.Invocation().BizStatusErr()
		message := hex.EncodeToString([]byte(business.BizMessage()))
		if message == "" {
			message = "-"
		}
		return fmt.Sprintf("business %d %s", business.BizStatusCode(), message)
	}
	var exception *remote.TransError
	if errors.As(failure(context.Background(), failed), &exception) {
		return fmt.Sprintf("exception %d", exception.TypeID())
	}
	return "other"
}

func TestKindsTravelAsCodesAndBack(t *testing.T) {
	for kind := int32(-2); kind < 1<<17; kind++ {
		expected := kind
		if kind < 0 || kind >= math.MaxUint16 {
			expected = remote.InternalError
		}
		if back, is := wire.KindOf(wire.CodeOf(kind)); !is || back != expected {
			t.Fatalf("kind %d comes back as %d", kind, back)
		}
	}
}

func TestPairsBeyondTheirLengthsAreRefused(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	for _, pairs := range []map[string]string{{"a": long}, {long: "a"}} {
		if _, err := wire.EncodePairs(pairs); !errors.Is(err, wire.ErrLong) {
			t.Error(err)
		}
	}
}

func TestLastMessageVectors(t *testing.T) {
	for _, row := range rows(t, "last") {
		message := unhex(t, row[0][0])
		if !isOutcome(message) {
			if row[1][0] != "message" {
				t.Errorf("%x is no outcome, and not %v", message, row[1])
			}
			continue
		}
		err := decodeOutcome(message, users.NewUsersAgeResult())
		var exception *remote.TransError
		found := "violation"
		if business, is := kerrors.FromBizStatusError(err); is {
			found = fmt.Sprintf("business %d %x", business.BizStatusCode(), business.BizMessage())
		} else if errors.As(err, &exception) {
			found = fmt.Sprintf("exception %d %x", exception.TypeID(), exception.Error())
		} else if errors.As(err, new(*users.NoSuchUser)) {
			found = fmt.Sprintf("thrown %x", message[2:])
		}
		// A reply of no bytes is found out here at once, by Rust when it is read.
		if expected := strings.Join(row[1], " "); found != expected && expected != "thrown -" {
			t.Errorf("%x is %s, and not %s", message, found, expected)
		}
	}
}

func TestOutcomeWithBytesBehindItsStructIsRefused(t *testing.T) {
	for _, message := range []string{"ff0100aa", "ff000c00010b000100000003426f620000aa"} {
		err := decodeOutcome(unhex(t, message), users.NewUsersAgeResult())
		if !errors.Is(err, errOutcome) {
			t.Errorf("%s is %v", message, err)
		}
	}
}
