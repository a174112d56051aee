/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * FAST TCP: every so many round trips w <- min(2 w, (1 - gamma) w + gamma (d/D w + alpha)). The law, and its source, are
 * crates/laws/src/window/fast.rs: this is its second text, in fixed point, and a test lays one beside the other.
 */
#include "law.h"

struct params {
	u64 alpha;  /* [2^-16 packets] */
	u64 gain;   /* gamma [2^-32] */
	u64 rounds; /* a step every so many round trips */
};

struct state {
	struct window window;
	u64 average; /* D [2^-16 us] */
	u32 base;    /* d [us]; 0 before a sample */
	u32 left;    /* segments to be acknowledged before this round trip is over */
	u32 rounds;  /* round trips after it before the next step */
	u32 steps;   /* how often the law was applied */
};

inline_always void law_begin(const struct params *params, struct state *state)
{
	state->average = 0;
	state->base = 0;
	state->left = 0;
	state->rounds = 0;
	state->steps = 0;
}

inline_always u64 share(const struct state *state)
{
	return share_of(state->base, state->average);
}

inline_always u64 next(const struct params *params, u64 window, u64 share)
{
	u64 waiting = product(window, WHOLE - share, 30);
	int down = waiting > params->alpha;
	u64 excess = down ? waiting - params->alpha : params->alpha - waiting;

	return bounded(least(moved(window, product(excess, params->gain, 32), down), 2 * window));
}

/* The average moves by three samples' worth of a window's, at most by a quarter. */
inline_always void measure(struct state *state, u64 sample)
{
	u64 now = round_trip(sample) << 16, average = state->average, size = state->window.size;
	int down = now < average;
	u64 way = down ? average - now : now - average;

	if (!state->base) {
		state->average = now;
		state->base = now >> 16;
		return;
	}
	if (now >> 16 < state->base)
		state->base = now >> 16;
	if (size <= 12 * PACKET)
		way = (way + 2) >> 2;
	else
		way = ((way * 3 << 8) + (size >> 9)) / (size >> 8);
	state->average = down ? average - way : average + way;
}

inline_always void law_heard(const struct params *params, struct state *state, const struct heard *heard)
{
	if (heard->sample)
		measure(state, heard->sample);
	state->left = less(state->left, heard->segments);
}

inline_always void law_grow(const struct params *params, struct state *state, const struct heard *heard)
{
	u64 size = state->window.size, new;

	if (state->left)
		return;
	state->left = heard->flight;
	if (!state->base)
		return;
	new = next(params, size, share(state));
	/* Below the doubling's end a step is not waited for: that is its slow start. */
	if (new >= 2 * size || !state->rounds) {
		state->window.size = new;
		state->rounds = params->rounds;
		state->steps++;
	}
	state->rounds = less(state->rounds, 1);
}

inline_always void law_lost(struct state *state)
{
}

inline_always void law_timed_out(struct state *state)
{
	state->left = 0;
	state->rounds = 0;
}

#define STATE_ROUND_TRIP average
#include "host.h"
