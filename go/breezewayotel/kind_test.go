package breezewayotel_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/breezewayotel"
	"github.com/breezeway-ipc/breezeway/go/internal/idl/users"
	"github.com/breezeway-ipc/breezeway/go/rpc"
)

func TestErrorsHaveTheKindsOfRust(t *testing.T) {
	for _, row := range []struct {
		kind string
		err  error
	}{
		{"Failed", errors.New("of a handler")},
		{"Failed", &rpc.Exception{Kind: 77}},
		{"Failed", &rpc.BusinessError{Status: 7}},
		{"Failed", &breezeway.CallError{Code: breezeway.CodePanicked}},
		{"Failed", &breezeway.ResetError{Code: breezeway.CodeFailed}},
		{"Shortage", &breezeway.CallError{Code: breezeway.CodeOverloaded}},
		{"Shortage", &breezeway.ShortageError{}},
		{"Refused", rpc.ErrUnknownMethod},
		{"Refused", &breezeway.RefusedError{}},
		{"Refused", &breezeway.CallError{Code: breezeway.CodeRefused}},
		{"Cancelled", context.Canceled},
		{"Cancelled", &breezeway.ResetError{Code: breezeway.CodeCancelled}},
		{"Deadline", context.DeadlineExceeded},
		{"Deadline", &breezeway.CallError{Code: breezeway.CodeDeadlinePassed}},
		{"Violation", &breezeway.ViolationError{}},
		{"Violation", rpc.ErrMissingResult},
		{"TooLarge", &breezeway.TooLargeError{}},
		{"TooLarge", &breezeway.TooMuchMetadataError{}},
		{"GoingAway", breezeway.ErrGoingAway},
		{"Died", breezeway.ErrPeerDied},
		{"Closed", breezeway.ErrPeerClosed},
		{"Closed", breezeway.ErrClosed},
	} {
		for _, err := range []error{row.err, fmt.Errorf("wrapped: %w", row.err)} {
			if kind := breezewayotel.KindOf(err); kind != row.kind {
				t.Errorf("%T (%v) is %s, and not %s", row.err, err, kind, row.kind)
			}
		}
	}
	client := rpc.NewClient("unix:" + t.TempDir() + "/nowhere")
	defer client.Close()
	_, err := users.NewUsersClient(client).Age(context.Background(), "Ada")
	if kind := breezewayotel.KindOf(err); kind != "Unreachable" {
		t.Errorf("%v is %s", err, kind)
	}
}
