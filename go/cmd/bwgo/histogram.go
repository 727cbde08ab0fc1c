package main

import "math/bits"

// A histogram counts nanoseconds in buckets that are at most 1 % wide.
type histogram struct {
	buckets [(64 - subBits) << subBits]uint64
	count   uint64
	sum     float64
	min     uint64
	max     uint64
}

const subBits = 7

func bucketOf(value uint64) int {
	if value < 1<<subBits {
		return int(value)
	}
	power := bits.Len64(value) - subBits - 1
	return power<<subBits + int(value>>power)
}

// middle returns a value in a bucket.
func middle(bucket int) float64 {
	power := bucket>>subBits - 1
	if power < 0 {
		return float64(bucket)
	}
	return (float64(bucket-power<<subBits) + 0.5) * float64(uint64(1)<<power)
}

func (h *histogram) add(value uint64) {
	h.buckets[bucketOf(value)]++
	if h.count == 0 || value < h.min {
		h.min = value
	}
	h.max = max(h.max, value)
	h.count++
	h.sum += float64(value)
}

func (h *histogram) merge(other *histogram) {
	if other.count == 0 {
		return
	}
	if h.count == 0 || other.min < h.min {
		h.min = other.min
	}
	h.max = max(h.max, other.max)
	h.count += other.count
	h.sum += other.sum
	for i, count := range other.buckets {
		h.buckets[i] += count
	}
}

type percentiles struct {
	Min   float64 `json:"min"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p999"`
	P9999 float64 `json:"p9999"`
	Max   float64 `json:"max"`
	Mean  float64 `json:"mean"`
}

// percentiles returns nil if nothing was counted.
func (h *histogram) percentiles() *percentiles {
	if h.count == 0 {
		return nil
	}
	return &percentiles{
		Min: float64(h.min), P50: h.at(0.5), P90: h.at(0.9), P99: h.at(0.99), P999: h.at(0.999),
		P9999: h.at(0.9999), Max: float64(h.max), Mean: h.sum / float64(h.count),
	}
}

func (h *histogram) at(part float64) float64 {
	left := part * float64(h.count)
	for bucket, count := range h.buckets {
		if left -= float64(count); count > 0 && left <= 0 {
			return min(max(middle(bucket), float64(h.min)), float64(h.max))
		}
	}
	return float64(h.max)
}
