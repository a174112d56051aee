/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * Numbers of the laws in C: whole numbers that stand for multiples of 2^-16 (a window, packets), 2^-30 (a share), 2^-32 (a gain).
 * A kernel has no floating point, and BPF no wider product than 64 bits. Everything here is the same under clang's BPF and natively.
 */
#ifndef EVENAIR_FIXED_H
#define EVENAIR_FIXED_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

#define inline_always static inline __attribute__((always_inline))

/* One packet, the whole of a share, a gain of one. */
#define PACKET (1ull << 16)
#define WHOLE (1ull << 30)
#define GAIN (1ull << 32)
#define ENDLESS (~0ull)

/* TCP announces no more than 2^30 bytes (RFC 7323 section 2.2); no law leaves less than two segments by itself. */
#define WINDOW_MAX (PACKET << 30)
#define WINDOW_MIN (2 * PACKET)

/* No round trip is longer: 33 s [us]. */
#define ROUND_TRIP_MAX ((1ull << 25) - 1)

inline_always u64 least(u64 a, u64 b)
{
	return a < b ? a : b;
}

inline_always u64 most(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* a * b / 2^shift, rounded down, for a shift from 1 to 32; ENDLESS, if that is more than 64 bits hold. */
inline_always u64 product(u64 a, u64 b, u32 shift)
{
	u64 a_high = a >> 32, a_low = (u32)a, b_high = b >> 32, b_low = (u32)b;
	u64 low = a_low * b_low;
	u64 first = a_high * b_low + (low >> 32);
	u64 second = a_low * b_high + (u32)first;
	u64 high = a_high * b_high + (first >> 32) + (second >> 32);

	if (high >> shift)
		return ENDLESS;
	return (high << (64 - shift)) | ((u64)(u32)second << (32 - shift)) | ((u64)(u32)low >> shift);
}

/* A window within what a law may leave. */
inline_always u64 bounded(u64 window)
{
	return most(least(window, WINDOW_MAX), WINDOW_MIN);
}

/* A window that a step moves down, or up. */
inline_always u64 moved(u64 window, u64 step, int down)
{
	if (down)
		return bounded(window > step ? window - step : 0);
	return bounded(step > WINDOW_MAX ? WINDOW_MAX : window + step);
}

#endif
