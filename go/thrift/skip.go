package thrift

// Types of Thrift Binary.
const (
	typeBool   = 2
	typeI8     = 3
	typeDouble = 4
	typeI16    = 6
	typeI32    = 8
	typeI64    = 10
	typeString = 11
	typeStruct = 12
	typeMap    = 13
	typeSet    = 14
	typeList   = 15
	typeUUID   = 16
)

// fixedSizes are the sizes of the values of fixed size, by type.
var fixedSizes = [256]uint8{typeBool: 1, typeI8: 1, typeDouble: 8, typeI16: 2, typeI32: 4,
	typeI64: 8, typeUUID: 16}

// Skip passes over the value of the field with this head, as [Reader.Head] has returned it.
func (r *Reader) Skip(head uint32) { r.skip(byte(head>>16), r.depth) }

// skip passes over a value in which structs and containers lie no deeper than depth.
func (r *Reader) skip(kind byte, depth int) {
	if size := fixedSizes[kind]; size > 0 {
		r.take(int(size))
		return
	}
	if kind == typeString {
		r.counted()
		return
	}
	if depth--; depth < 0 {
		r.fail(ErrDepth)
		return
	}
	switch kind {
	case typeStruct:
		for head := r.Head(); head != 0; head = r.Head() {
			r.skip(byte(head>>16), depth)
		}
	case typeList, typeSet:
		if b := r.take(5); b != nil {
			r.skipElements(b[1:], depth, b[0])
		}
	case typeMap:
		if b := r.take(6); b != nil {
			r.skipElements(b[2:], depth, b[0], b[1])
		}
	default:
		r.fail(ErrType)
	}
}

// skipElements passes over the elements of a container, each of the types in turn.
func (r *Reader) skipElements(count []byte, depth int, kinds ...byte) {
	n, size := int(GetI32(count)), 0
	for _, kind := range kinds {
		if fixed := int(fixedSizes[kind]); fixed == 0 {
			size = 0
			break
		} else {
			size += fixed
		}
	}
	if n < 0 || n > (len(r.buf)-r.at)/max(size, 1) {
		r.fail(ErrSize)
		return
	}
	if size > 0 {
		r.at += n * size
		return
	}
	for ; n > 0 && r.err == nil; n-- {
		for _, kind := range kinds {
			r.skip(kind, depth)
		}
	}
}
