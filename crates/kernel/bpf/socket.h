/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * A law at a socket of Linux: the shape of net/ipv4/tcp_vegas.c. The kernel does slow start's bookkeeping, loss recovery and time-outs, and
 * owns the window while a loss is repaired; the law sets it from `cong_avoid`. Pacing, ECN and the machine's default are left alone.
 */
#include "kernel.h"

struct params the_params SECTION(".params");

_Static_assert(sizeof(struct state) <= 13 * sizeof(u64), "the kernel has 104 bytes for a law's state");

/* Of enum tcp_ca_state and enum tcp_ca_event, which programs and kernel have agreed on for good. */
#define LOSS 4
#define CWR 2
#define TX_START 0

inline_always struct state *state_of(struct tcp_sock *socket)
{
	return (struct state *)socket->inet_conn.icsk_ca_priv;
}

inline_always u32 under_way(const struct tcp_sock *socket)
{
	return socket->packets_out - (socket->sacked_out + socket->lost_out) + socket->retrans_out;
}

/* The kernel changes the window itself where it repairs losses, after idleness, and where it takes a cut back. */
inline_always void take_over(const struct tcp_sock *socket, struct window *window)
{
	if (socket->snd_cwnd != window->whole) {
		window->whole = socket->snd_cwnd;
		window->size = window->whole * PACKET;
	}
	window->ssthresh = socket->snd_ssthresh;
}

inline_always void hand_over(struct tcp_sock *socket, struct window *window)
{
	u64 clamp = socket->snd_cwnd_clamp * PACKET;

	if (window->size > clamp)
		window->size = clamp;
	window->whole = window->size >> 16;
	if (socket->snd_cwnd != window->whole)
		socket->snd_cwnd = window->whole;
	if (socket->snd_ssthresh != window->ssthresh)
		socket->snd_ssthresh = window->ssthresh;
}

/* As tcp_is_cwnd_limited: the window is in use; in slow start, half of it is enough. */
inline_always int is_in_use(const struct tcp_sock *socket)
{
	if (BITS(socket, is_cwnd_limited))
		return 1;
	return socket->snd_cwnd < socket->snd_ssthresh && socket->snd_cwnd < 2 * socket->max_packets_out;
}

SECTION("struct_ops/init") void init(u64 *arguments)
{
	struct tcp_sock *socket = (void *)arguments[0];
	struct state *state = state_of(socket);

	state->window.whole = socket->snd_cwnd;
	state->window.size = socket->snd_cwnd * PACKET;
	state->window.ssthresh = socket->snd_ssthresh;
	state->window.delivered = socket->delivered;
	state->window.idle = 0;
	law_begin(&the_params, state);
}

SECTION("struct_ops/pkts_acked") void pkts_acked(u64 *arguments)
{
	struct tcp_sock *socket = (void *)arguments[0];
	const struct ack_sample *sample = (void *)arguments[1];
	struct state *state = state_of(socket);
	u32 delivered = socket->delivered;
	int rtt = sample->rtt_us;
	struct heard heard = {
		.now = socket->tcp_mstamp,
		.sample = rtt > 0 ? rtt : 0,
		.segments = delivered - state->window.delivered,
		.flight = under_way(socket),
		.advances = sample->pkts_acked > 0,
		.repairs = BITS(&socket->inet_conn, icsk_ca_state) >= CWR,
		.idle = state->window.idle,
	};

	take_over(socket, &state->window);
	state->window.delivered = delivered;
	state->window.idle = 0;
	law_heard(&the_params, state, &heard);
}

SECTION("struct_ops/cong_avoid") void cong_avoid(u64 *arguments)
{
	struct tcp_sock *socket = (void *)arguments[0];
	struct state *state = state_of(socket);
	struct heard heard = {
		.now = socket->tcp_mstamp,
		.segments = arguments[2],
		.flight = under_way(socket),
	};

	if (!is_in_use(socket))
		return;
	take_over(socket, &state->window);
	law_grow(&the_params, state, &heard);
	hand_over(socket, &state->window);
}

SECTION("struct_ops/set_state") void set_state(u64 *arguments)
{
	if ((u8)arguments[1] == LOSS)
		law_timed_out(state_of((void *)arguments[0]));
}

SECTION("struct_ops/cwnd_event") void cwnd_event(u64 *arguments)
{
	if ((u32)arguments[1] == TX_START)
		state_of((void *)arguments[0])->window.idle = 1;
}

/* RFC 5681 eq. (4), of the window, as the kernel's Reno. */
SECTION("struct_ops/ssthresh") u32 ssthresh(u64 *arguments)
{
	struct tcp_sock *socket = (void *)arguments[0];

	law_lost(state_of(socket));
	return most(socket->snd_cwnd >> 1, 2);
}

/* The loss was none: the window is what it was. */
SECTION("struct_ops/undo_cwnd") u32 undo_cwnd(u64 *arguments)
{
	struct tcp_sock *socket = (void *)arguments[0];

	return most(socket->snd_cwnd, socket->prior_cwnd);
}
