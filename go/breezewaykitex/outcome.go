package breezewaykitex

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/cloudwego/gopkg/protocol/thrift"
	"github.com/cloudwego/kitex/pkg/kerrors"
	"github.com/cloudwego/kitex/pkg/remote"
	"github.com/cloudwego/kitex/pkg/transmeta"
	"github.com/cloudwego/kitex/pkg/utils"

	"github.com/breezeway-ipc/breezeway/go/internal/wire"
)

var errOutcome = errors.New("the stream ended in an unknown way")

// isOutcome returns true for a message that holds the reason of a stream's failure.
func isOutcome(message []byte) bool {
	return len(message) > 0 && message[0] == wire.OutcomeMark
}

// encodeOutcome returns the last message of a stream whose handler failed. Result is the method's
// reply, in which declared exceptions are found.
func encodeOutcome(err error, result any) ([]byte, error) {
	if business, is := kerrors.FromBizStatusError(err); is && business.BizStatusCode() != 0 {
		return encodeBusiness(business)
	}
	if reply := thrown(err, result); reply != nil {
		return append([]byte{wire.OutcomeMark, wire.OutcomeThrown},
			thrift.FastMarshal(reply)...), nil
	}
	var detailed *kerrors.DetailedError
	if errors.As(err, &detailed) && detailed.Is(kerrors.ErrBiz) {
		err = detailed.Unwrap() // What the handler has returned.
	}
	failed := remote.NewTransError(remote.InternalError, err)
	exception := thrift.NewApplicationException(failed.TypeID(), failed.Error())
	return append([]byte{wire.OutcomeMark, wire.OutcomeFailed},
		thrift.FastMarshal(exception)...), nil
}

func encodeBusiness(business kerrors.BizStatusErrorIface) ([]byte, error) {
	pairs := map[string]string{"biz-status": strconv.Itoa(int(business.BizStatusCode())),
		"biz-message": business.BizMessage()}
	if extra := business.BizExtra(); len(extra) > 0 {
		text, err := utils.Map2JSONStr(extra)
		if err != nil {
			return nil, err
		}
		pairs["biz-extra"] = text
	}
	block, err := wire.EncodePairs(pairs)
	return append([]byte{wire.OutcomeMark, wire.OutcomeBusiness}, block...), err
}

// decodeOutcome returns the error that a stream ended with. Result is the method's reply, to which
// a declared exception is read.
func decodeOutcome(message []byte, result any) error {
	if len(message) < 2 {
		return errOutcome
	}
	rest := message[2:]
	switch message[1] {
	case wire.OutcomeThrown:
		return declared(rest, result)
	case wire.OutcomeFailed:
		exception := thrift.NewApplicationException(remote.UnknownApplicationException, "")
		if err := readStruct(rest, exception); err != nil {
			return errors.Join(errOutcome, err)
		}
		return remote.NewTransErrorWithMsg(exception.TypeID(), exception.Msg())
	case wire.OutcomeBusiness:
		pairs, err := wire.DecodePairs(rest)
		if err != nil {
			return errors.Join(errOutcome, err)
		}
		if business, err := transmeta.ParseBizStatusErr(pairs); err == nil && business != nil {
			return business
		}
	}
	return errOutcome
}

// thrown returns the reply that has an error as a declared exception; nil if it declares none such.
func thrown(err error, result any) thrift.FastCodec {
	reply, is := result.(thrift.FastCodec)
	value := reflect.ValueOf(result)
	if !is || value.Kind() != reflect.Pointer {
		return nil
	}
	for i := range value.Elem().NumField() {
		field := value.Elem().Field(i)
		if !field.CanSet() || !field.Type().Implements(reflect.TypeFor[error]()) {
			continue
		}
		if found := reflect.New(field.Type()); errors.As(err, found.Interface()) {
			field.Set(found.Elem())
			return reply
		}
	}
	return nil
}

// declared returns the declared exception that a reply has.
func declared(reply []byte, result any) error {
	if fast, is := result.(thrift.FastCodec); is {
		if err := readStruct(reply, fast); err != nil {
			return errors.Join(errOutcome, err)
		}
		value := reflect.ValueOf(result).Elem()
		for i := range value.NumField() {
			field := value.Field(i)
			if field.Kind() != reflect.Pointer || field.IsNil() {
				continue
			}
			if exception, is := field.Interface().(error); is {
				return exception
			}
		}
	}
	return remote.NewTransErrorWithMsg(remote.MissingResult,
		fmt.Sprintf("the stream ended with an exception that %T does not know", result))
}
