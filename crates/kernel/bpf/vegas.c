/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * TCP Vegas: once per round trip the packets that wait, w (1 - d/D), are compared with two thresholds. The law, and its source, are
 * crates/laws/src/window/vegas.rs: this is its second text, in fixed point, and a test lays one beside the other.
 */
#include "law.h"

struct params {
	u64 alpha; /* [2^-16 packets] */
	u64 beta;
	u64 gamma;
	u64 linux_measure; /* 1: w (D/d - 1), as tcp_vegas of Linux; 0: w (1 - d/D) */
};

struct state {
	struct window window;
	u32 base;     /* d [us]; 0 before a sample */
	u32 of_round; /* D, the least of this round trip [us]; 0 before a sample */
	u32 samples;  /* in this round trip */
	u32 left;     /* segments to be acknowledged before it is over */
	u32 steps;    /* how often the law has decided */
	u8 repairs;
};

/* A decision takes so many samples: one of them is not a delayed acknowledgement's. */
#define SAMPLES_MIN 3

inline_always void begin_round(struct state *state, u32 under_way)
{
	state->of_round = 0;
	state->samples = 0;
	state->left = under_way + 1;
}

inline_always void law_begin(const struct params *params, struct state *state)
{
	state->base = 0;
	state->steps = 0;
	state->repairs = 0;
	begin_round(state, 0);
}

inline_always void law_heard(const struct params *params, struct state *state, const struct heard *heard)
{
	if (heard->idle) {
		state->base = 0;
		begin_round(state, heard->flight);
	}
	if (state->repairs && !heard->repairs)
		begin_round(state, heard->flight);
	state->repairs = heard->repairs;
	if (heard->sample) {
		u32 sample = round_trip(heard->sample);

		if (!state->base || sample < state->base)
			state->base = sample;
		if (!state->of_round || sample < state->of_round)
			state->of_round = sample;
		state->samples++;
	}
	state->left = less(state->left, heard->segments);
}

inline_always void decide(const struct params *params, struct state *state, u32 segments)
{
	u64 base = state->base, of_round = state->of_round, size = state->window.size;
	u64 queueing = of_round > base ? of_round - base : 0;
	u64 divisor = params->linux_measure ? base : of_round;
	u64 excess = divisor ? product(size, (queueing << 30) / divisor, 30) : 0;
	u32 threshold = state->window.ssthresh;

	if (in_slow_start(&state->window) && excess <= params->gamma) {
		slow_start(&state->window, segments);
	} else {
		if (in_slow_start(&state->window))
			size = least(size, ((of_round ? product(size, (base << 30) / of_round, 30) : size) & ~(PACKET - 1)) + PACKET);
		else if (excess < params->alpha)
			size += PACKET;
		else if (excess > params->beta)
			size = size > PACKET ? size - PACKET : 0;
		size = bounded(size);
		state->window.size = size;
		if ((u64)threshold * PACKET > size)
			threshold = size >> 16;
	}
	/* As Linux: what the window was lately is a threshold for the next slow start. */
	threshold = most(threshold, 3 * (state->window.size >> 2) >> 16);
	state->window.ssthresh = threshold;
	state->steps++;
}

inline_always void law_grow(const struct params *params, struct state *state, const struct heard *heard)
{
	if (state->repairs) {
		reno_grow(&state->window, heard->segments);
	} else if (!state->left) {
		if (state->samples >= SAMPLES_MIN)
			decide(params, state, heard->segments);
		else
			reno_grow(&state->window, heard->segments);
		begin_round(state, heard->flight);
	} else if (in_slow_start(&state->window)) {
		slow_start(&state->window, heard->segments);
	}
}

inline_always void law_lost(struct state *state)
{
}

inline_always void law_timed_out(struct state *state)
{
	state->base = 0;
	begin_round(state, 0);
}

#define STATE_ROUND_TRIP of_round
#include "host.h"
