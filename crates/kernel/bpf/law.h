/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * What a law is told, and the part of its state that the host sees. A law's file defines, after this one, its parameters (`struct
 * params`, numbers of 64 bits), its state (`struct state`, whose first field is a `struct window`; 104 bytes at most), and
 *
 *   law_begin     the connection starts
 *   law_heard     an acknowledgement came, of whatever kind
 *   law_grow      it acknowledged new data of a window that was in use, outside fast recovery; told after law_heard
 *   law_lost      a loss was found, the window is cut
 *   law_timed_out the retransmission timer expired
 *
 * At its end it names the field of its state with the round trip that it compares with the least one, `base` (STATE_ROUND_TRIP), and
 * includes its host, host.h: a socket of the kernel's, or the tape of the tests that lay the law beside evenair-laws.
 */
#ifndef EVENAIR_LAW_H
#define EVENAIR_LAW_H

#include "fixed.h"

struct window {
	u64 size;     /* the window, with its fraction [2^-16 packets] */
	u32 whole;    /* the window that the host was given: another there is the host's own doing */
	u32 ssthresh; /* the slow-start threshold [packets] */
	u32 delivered; /* the host's: segments that had arrived in all at the last acknowledgement */
	u32 idle;     /* the host's: what is acknowledged next was sent when nothing was under way */
};

struct heard {
	u64 now;      /* [us] */
	u64 sample;   /* the round trip that it measures [us]; 0, if it measures none */
	u32 segments; /* that it reports to have arrived and none did before */
	u32 flight;   /* segments under way after it */
	u8 advances;  /* it acknowledges new data cumulatively */
	u8 repairs;   /* a loss is being repaired */
	u8 idle;      /* nothing was under way when what it acknowledges was sent */
};

inline_always int in_slow_start(const struct window *window)
{
	return window->size < (u64)window->ssthresh * PACKET;
}

/* Slow start: one packet for each that is acknowledged, up to the threshold; at least one. */
inline_always void slow_start(struct window *window, u32 segments)
{
	u64 end = most((u64)window->ssthresh * PACKET, window->size + PACKET);

	if (segments)
		window->size = least(window->size + segments * PACKET, least(end, WINDOW_MAX));
}

/* Reno's growth: slow start, or a packet in a round trip. */
inline_always void reno_grow(struct window *window, u32 segments)
{
	if (in_slow_start(window))
		slow_start(window, segments);
	else if (window->size)
		window->size = least(window->size + segments * (PACKET << 16) / window->size, WINDOW_MAX);
}

inline_always u32 less(u32 left, u32 segments)
{
	return left > segments ? left - segments : 0;
}

/* A round trip takes time, and no longer than half a minute [us]. */
inline_always u64 round_trip(u64 sample)
{
	return most(least(sample, ROUND_TRIP_MAX), 1);
}

/* d/D [2^-30]: `base` [us] over `average` [2^-16 us]. */
inline_always u64 share_of(u64 base, u64 average)
{
	u64 divisor = average >> 8;

	if (!divisor)
		return WHOLE;
	return least(((base << 16) << 22) / divisor, WHOLE);
}

#endif
