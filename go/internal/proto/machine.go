//go:build !linux || !(amd64 || arm64 || loong64 || mips64le || ppc64le || riscv64)

package proto

// Words of shared memory are 64-bit, little-endian, and read and written whole.
const _ = breezeway_needs_linux_on_a_64_bit_little_endian_processor
