package rpc_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/internal/idl/users"
	"github.com/breezeway-ipc/breezeway/go/internal/wire"
	"github.com/breezeway-ipc/breezeway/go/rpc"
)

// rows returns the rows of docs/vectors/services.txt of a kind: their columns, and the outcome.
func rows(t *testing.T, kind string) (found [][2][]string) {
	text, err := os.ReadFile("../../docs/vectors/services.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
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

func unhex(t *testing.T, column string) []byte {
	t.Helper()
	bytes, err := hex.DecodeString(strings.TrimSuffix(column, "-"))
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

func TestFailureVectors(t *testing.T) {
	for _, row := range rows(t, "failure") {
		code, err := strconv.ParseUint(row[0][0], 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		failed := &breezeway.CallError{Code: breezeway.Code(code),
			Reason: string(unhex(t, row[0][1]))}
		var (
			business  *rpc.BusinessError
			exception *rpc.Exception
			found     = "other"
		)
		switch err := rpc.FailureOf(failed); {
		case errors.As(err, &business):
			message := hex.EncodeToString([]byte(business.Message))
			if message == "" {
				message = "-"
			}
			found = fmt.Sprintf("business %d %s", business.Status, message)
		case errors.As(err, &exception):
			found = fmt.Sprintf("exception %d", exception.Kind)
		}
		if found != strings.Join(row[1], " ") {
			t.Errorf("%v is %s, and not %v", row[0], found, row[1])
		}
	}
}

func TestLastMessageVectors(t *testing.T) {
	for _, row := range rows(t, "last") {
		message := unhex(t, row[0][0])
		if len(message) == 0 || message[0] != wire.OutcomeMark {
			if row[1][0] != "message" {
				t.Errorf("%x is no outcome, and not %v", message, row[1])
			}
			continue
		}
		var (
			business  *rpc.BusinessError
			exception *rpc.Exception
			found     = "violation"
		)
		switch err := rpc.DecodeOutcome(message, new(users.UsersAgeResult)); {
		case err == error(rpc.ErrOutcome):
		case errors.As(err, &business):
			found = fmt.Sprintf("business %d %x", business.Status, business.Message)
		case errors.As(err, &exception):
			found = fmt.Sprintf("exception %d %x", exception.Kind, exception.Message)
		case errors.As(err, new(*users.NoSuchUser)):
			found = fmt.Sprintf("thrown %x", message[2:])
		}
		// A reply of no bytes is found out here at once, by Rust when it is read.
		if expected := strings.Join(row[1], " "); found != expected && expected != "thrown -" {
			t.Errorf("%x is %s, and not %s", message, found, expected)
		}
	}
}

func TestOutcomesComeBackAsTheyWere(t *testing.T) {
	for _, sent := range []error{
		&users.NoSuchUser{Name: "Bob"},
		&rpc.Exception{Kind: 77, Message: "no such coupon"},
		&rpc.BusinessError{Status: -3, Message: "too late", Extra: map[string]string{"a": "b"}},
	} {
		wrapped := fmt.Errorf("wrapped: %w", sent)
		message, err := rpc.EncodeOutcome(rpc.Method{}, wrapped, new(users.UsersAgeResult))
		if err != nil {
			t.Fatal(err)
		}
		back := rpc.DecodeOutcome(message, new(users.UsersAgeResult))
		if !strings.Contains(fmt.Sprintf("%#v", back), fmt.Sprintf("%T", sent)[1:]) {
			t.Errorf("%v comes back as %#v", sent, back)
		}
	}
}
