/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * QUIC-TCP, [QCSMA] eq. (17): w <- w - kappa * (d/D) * w^(1-2 rho) * (w - (d/D) w - p), once per round trip, for rho = 0, 1/2, 1.
 * It has nothing to do with the IETF protocol QUIC. The law is crates/laws/src/window/quic_tcp.rs: this is its second text, in fixed
 * point, and a test lays one beside the other. It differs in two things: a window of less than two packets is two, and slow start
 * stops at its threshold.
 */
#include "law.h"

struct params {
	u64 target; /* p [2^-16 packets] */
	u64 gain;   /* kappa [2^-32] */
	u64 shape;  /* 2 rho: 0, 1, 2 */
	u64 holds;  /* how long the least round trip holds [us]; ENDLESS, if for ever */
};

enum { STEADY, DRAINING, MEASURING };

struct state {
	struct window window;
	u64 average; /* D [2^-16 us] */
	u64 since;   /* since when d holds [us] */
	u64 full;    /* the window to which it returns when d has been measured anew */
	u32 base;    /* d [us]; 0 before a sample */
	u32 left;    /* segments to be acknowledged before this round trip is over */
	u32 steps;   /* how often (17) was applied */
	u8 refresh;
	u8 began;    /* there is a `since` */
};

inline_always void law_begin(const struct params *params, struct state *state)
{
	state->average = 0;
	state->since = 0;
	state->full = 0;
	state->base = 0;
	state->left = 0;
	state->steps = 0;
	state->refresh = STEADY;
	state->began = 0;
}

inline_always u64 share(const struct state *state)
{
	return state->base ? share_of(state->base, state->average) : WHOLE;
}

/* [QCSMA] eq. (17) */
inline_always u64 next(const struct params *params, u64 window, u64 share)
{
	u64 waiting = product(window, WHOLE - share, 30);
	int down = waiting > params->target;
	u64 excess = down ? waiting - params->target : params->target - waiting;
	u64 step = product(excess, share, 30);

	if (params->shape == 2) /* kappa v / w */
		step = window ? (least(step, WINDOW_MAX) << 16) / window : 0;
	else if (params->shape == 0) /* kappa v w */
		step = product(step, window, 16);
	return moved(window, product(step, params->gain, 32), down);
}

inline_always void measure(struct state *state, u64 sample)
{
	u64 now = round_trip(sample) << 16;

	if (!state->base) {
		state->average = now;
		state->base = now >> 16;
		return;
	}
	if (now >> 16 < state->base)
		state->base = now >> 16;
	/* The average is of full windows: 31/32 of it stay. */
	if (state->refresh == STEADY)
		state->average = (31 * state->average + now + 16) >> 5;
}

inline_always void law_heard(const struct params *params, struct state *state, const struct heard *heard)
{
	if (heard->sample && heard->advances)
		measure(state, heard->sample);
	state->left = less(state->left, heard->segments);
}

/* A round trip is over: d is measured anew where it has held for long enough. Says whether the law is at that. */
inline_always int refresh(const struct params *params, struct state *state, u64 now)
{
	u64 size = state->window.size;

	if (!state->began) {
		state->began = 1;
		state->since = now;
	}
	if (state->refresh == MEASURING) {
		state->refresh = STEADY;
		state->since = now;
		state->window.size = state->full;
		return 1;
	}
	if (state->refresh == DRAINING) {
		state->refresh = MEASURING;
		state->base = most(least((state->average + 0x8000) >> 16, ROUND_TRIP_MAX), 1);
		return 1;
	}
	if (params->holds == ENDLESS || now - state->since < params->holds)
		return 0;
	/* Half of what fills the path without a queue: whatever waits of its own leaves. */
	state->refresh = DRAINING;
	state->full = size;
	state->window.size = most(product(size, share(state), 31), least(4 * PACKET, size));
	return 1;
}

inline_always void law_grow(const struct params *params, struct state *state, const struct heard *heard)
{
	if (in_slow_start(&state->window)) {
		slow_start(&state->window, heard->segments);
	} else if (!state->left && state->base) {
		if (!refresh(params, state, heard->now)) {
			state->window.size = next(params, state->window.size, share(state));
			state->steps++;
		}
		/* Slow start is over: a window that falls below its threshold does not begin it again. */
		state->window.ssthresh = least(state->window.ssthresh, state->window.size >> 16);
		state->left = heard->flight;
	}
}

inline_always void law_lost(struct state *state)
{
	state->refresh = STEADY;
}

inline_always void law_timed_out(struct state *state)
{
	state->refresh = STEADY;
	state->left = 0;
}

#define STATE_ROUND_TRIP average
#include "host.h"
