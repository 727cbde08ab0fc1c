package breezewayotel

// KindOf is what a table of errors runs against.
var KindOf = kindOf
