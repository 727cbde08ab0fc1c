package breezeway

import "time"

// Values for tests. The defaults suit every program that was measured.

func withSpinBound(longest time.Duration) Option {
	return option(func(o *options) { o.spinBound = longest })
}

func withUnderWay(bytes uint64) Option { return option(func(o *options) { o.underWay = bytes }) }

// WithShrinkAfter sets how long a payload segment must be unused before its memory is freed.
func WithShrinkAfter(after time.Duration) Option {
	return option(func(o *options) { o.shrinkAfter = after })
}
