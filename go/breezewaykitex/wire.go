package breezewaykitex

import (
	"github.com/cloudwego/kitex/pkg/kerrors"

	"github.com/breezeway-ipc/breezeway/go/internal/wire"
)

// reasonOf returns the text of a call that fails by a business error.
func reasonOf(err kerrors.BizStatusErrorIface) string {
	return wire.BusinessReason(err.BizStatusCode(), err.BizMessage())
}

// businessError returns the business error of a failed call's text.
func businessError(reason string) kerrors.BizStatusErrorIface {
	return kerrors.NewBizStatusError(wire.ParseBusinessReason(reason))
}
