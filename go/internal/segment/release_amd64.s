#include "textflag.h"

// func storeReleased(to *uint64, value uint64)
TEXT ·storeReleased(SB), NOSPLIT, $0-16
	MOVQ to+0(FP), AX
	MOVQ value+8(FP), CX
	MOVQ CX, (AX)
	RET
