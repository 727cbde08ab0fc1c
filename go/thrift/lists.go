package thrift

import "encoding/binary"

// Lists of numbers are read and written eight at a time, without a check for each of them.

// ReadBools reads a list or set of bool.
func ReadBools(r *Reader) []bool {
	list := make([]bool, r.List(typeBool, 1))
	for i, v := range r.take(len(list)) {
		list[i] = v != 0
	}
	r.EndList()
	return list
}

// ReadI8s reads a list or set of i8.
func ReadI8s(r *Reader) []int8 {
	list := make([]int8, r.List(typeI8, 1))
	for i, v := range r.take(len(list)) {
		list[i] = int8(v)
	}
	r.EndList()
	return list
}

// ReadI16s reads a list or set of i16.
func ReadI16s(r *Reader) []int16 {
	list := make([]int16, r.List(typeI16, 2))
	b := r.take(2 * len(list))
	for i := 0; i < len(list) && len(b) >= 2; i++ {
		list[i] = int16(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	r.EndList()
	return list
}

// ReadI32s reads a list or set of i32 or of an enum.
func ReadI32s[T ~int32](r *Reader) []T {
	list := make([]T, r.List(typeI32, 4))
	b, rest := r.take(4*len(list)), list
	for len(rest) >= 8 && len(b) >= 32 {
		to, from := (*[8]T)(rest), (*[32]byte)(b)
		to[0] = T(GetI32(from[0:]))
		to[1] = T(GetI32(from[4:]))
		to[2] = T(GetI32(from[8:]))
		to[3] = T(GetI32(from[12:]))
		to[4] = T(GetI32(from[16:]))
		to[5] = T(GetI32(from[20:]))
		to[6] = T(GetI32(from[24:]))
		to[7] = T(GetI32(from[28:]))
		b, rest = b[32:], rest[8:]
	}
	for i := 0; i < len(rest) && len(b) >= 4; i++ {
		rest[i] = T(GetI32(b))
		b = b[4:]
	}
	r.EndList()
	return list
}

// ReadI64s reads a list or set of i64.
func ReadI64s(r *Reader) []int64 {
	list := make([]int64, r.List(typeI64, 8))
	b, rest := r.take(8*len(list)), list
	for len(rest) >= 8 && len(b) >= 64 {
		to, from := (*[8]int64)(rest), (*[64]byte)(b)
		to[0] = GetI64(from[0:])
		to[1] = GetI64(from[8:])
		to[2] = GetI64(from[16:])
		to[3] = GetI64(from[24:])
		to[4] = GetI64(from[32:])
		to[5] = GetI64(from[40:])
		to[6] = GetI64(from[48:])
		to[7] = GetI64(from[56:])
		b, rest = b[64:], rest[8:]
	}
	for i := 0; i < len(rest) && len(b) >= 8; i++ {
		rest[i] = GetI64(b)
		b = b[8:]
	}
	r.EndList()
	return list
}

// ReadDoubles reads a list or set of double.
func ReadDoubles(r *Reader) []float64 {
	list := make([]float64, r.List(typeDouble, 8))
	b, rest := r.take(8*len(list)), list
	for len(rest) >= 8 && len(b) >= 64 {
		to, from := (*[8]float64)(rest), (*[64]byte)(b)
		to[0] = GetDouble(from[0:])
		to[1] = GetDouble(from[8:])
		to[2] = GetDouble(from[16:])
		to[3] = GetDouble(from[24:])
		to[4] = GetDouble(from[32:])
		to[5] = GetDouble(from[40:])
		to[6] = GetDouble(from[48:])
		to[7] = GetDouble(from[56:])
		b, rest = b[64:], rest[8:]
	}
	for i := 0; i < len(rest) && len(b) >= 8; i++ {
		rest[i] = GetDouble(b)
		b = b[8:]
	}
	r.EndList()
	return list
}

// ReadStrings reads a list or set of string.
func ReadStrings(r *Reader) []string {
	list := make([]string, r.List(typeString, 4))
	for i := range list {
		list[i] = r.Text()
	}
	r.EndList()
	return list
}

// PutBools writes a list or set of bool.
func PutBools(b []byte, list []bool) int {
	n := PutList(b, typeBool, len(list))
	for i, v := range list {
		PutBool(b[n+i:], v)
	}
	return n + len(list)
}

// PutI8s writes a list or set of i8.
func PutI8s(b []byte, list []int8) int {
	n := PutList(b, typeI8, len(list))
	for i, v := range list {
		b[n+i] = byte(v)
	}
	return n + len(list)
}

// PutI16s writes a list or set of i16.
func PutI16s(b []byte, list []int16) int {
	n := PutList(b, typeI16, len(list))
	b = b[n : n+2*len(list)]
	for i := 0; i < len(list) && len(b) >= 2; i++ {
		binary.BigEndian.PutUint16(b, uint16(list[i]))
		b = b[2:]
	}
	return n + 2*len(list)
}

// PutI32s writes a list or set of i32 or of an enum.
func PutI32s[T ~int32](b []byte, list []T) int {
	n := PutList(b, typeI32, len(list))
	b = b[n : n+4*len(list)]
	n += len(b)
	for len(list) >= 8 && len(b) >= 32 {
		to, from := (*[32]byte)(b), (*[8]T)(list)
		PutI32(to[0:], int32(from[0]))
		PutI32(to[4:], int32(from[1]))
		PutI32(to[8:], int32(from[2]))
		PutI32(to[12:], int32(from[3]))
		PutI32(to[16:], int32(from[4]))
		PutI32(to[20:], int32(from[5]))
		PutI32(to[24:], int32(from[6]))
		PutI32(to[28:], int32(from[7]))
		b, list = b[32:], list[8:]
	}
	for i := 0; i < len(list) && len(b) >= 4; i++ {
		PutI32(b, int32(list[i]))
		b = b[4:]
	}
	return n
}

// PutI64s writes a list or set of i64.
func PutI64s(b []byte, list []int64) int {
	n := PutList(b, typeI64, len(list))
	b = b[n : n+8*len(list)]
	n += len(b)
	for len(list) >= 8 && len(b) >= 64 {
		to, from := (*[64]byte)(b), (*[8]int64)(list)
		PutI64(to[0:], from[0])
		PutI64(to[8:], from[1])
		PutI64(to[16:], from[2])
		PutI64(to[24:], from[3])
		PutI64(to[32:], from[4])
		PutI64(to[40:], from[5])
		PutI64(to[48:], from[6])
		PutI64(to[56:], from[7])
		b, list = b[64:], list[8:]
	}
	for i := 0; i < len(list) && len(b) >= 8; i++ {
		PutI64(b, list[i])
		b = b[8:]
	}
	return n
}

// PutDoubles writes a list or set of double.
func PutDoubles(b []byte, list []float64) int {
	n := PutList(b, typeDouble, len(list))
	b = b[n : n+8*len(list)]
	n += len(b)
	for len(list) >= 8 && len(b) >= 64 {
		to, from := (*[64]byte)(b), (*[8]float64)(list)
		PutDouble(to[0:], from[0])
		PutDouble(to[8:], from[1])
		PutDouble(to[16:], from[2])
		PutDouble(to[24:], from[3])
		PutDouble(to[32:], from[4])
		PutDouble(to[40:], from[5])
		PutDouble(to[48:], from[6])
		PutDouble(to[56:], from[7])
		b, list = b[64:], list[8:]
	}
	for i := 0; i < len(list) && len(b) >= 8; i++ {
		PutDouble(b, list[i])
		b = b[8:]
	}
	return n
}

// PutStrings writes a list or set of string.
func PutStrings(b []byte, list []string) int {
	n := PutList(b, typeString, len(list))
	for _, v := range list {
		n += PutString(b[n:], v)
	}
	return n
}
