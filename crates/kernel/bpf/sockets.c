/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * A look at every TCP socket of a network namespace: an iterator, which writes a record for each that has a law of evenair's, and, where it
 * is told another law's name, gives it that.
 */
#include "kernel.h"

/* What socket.h gives the laws, and is_ours below knows. */
#define PREFIX "evenair_"
#define NAME 16
#define STATE 13
#define INET6 10

struct params {
	char from[NAME]; /* whose sockets: all of evenair's, if it is empty */
	char to[NAME];   /* the law that they are given: none, if it is empty */
} the_params SECTION(".params");

struct record {
	char name[NAME];
	u8 from[16];
	u8 to[16];
	u16 family;
	u16 from_port;
	u16 to_port;
	u8 connection;
	u8 repair;
	u32 window;
	u32 threshold;
	u32 round_trip; /* an eighth of a microsecond */
	u32 moved;      /* what moving it gave: 0, or an error's number */
	u64 state[STATE];
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
} RELOCATED;

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
	u32 uid;
};

static long (*seq_write)(struct seq_file *to, const void *from, u32 length) = (void *)127;
static long (*set_option)(void *socket, int level, int name, void *value, int length) = (void *)49;
static long (*read_kernel)(void *to, u32 length, const void *from) = (void *)113;
static struct tcp_sock *(*tcp_of)(void *socket) = (void *)137;

inline_always int is_ours(const char *name)
{
	int same = 1;

#pragma unroll
	for (int at = 0; at < (int)sizeof(PREFIX) - 1; at++)
		same &= name[at] == PREFIX[at];
	if (!the_params.from[0])
		return same;
#pragma unroll
	for (int at = 0; at < NAME; at++)
		same &= name[at] == the_params.from[at];
	return same;
}

SECTION("iter/tcp") int sockets(struct bpf_iter__tcp *context)
{
	struct sock_common *common = context->sk_common;
	const struct tcp_congestion_ops *control;
	struct record record = {};
	struct tcp_sock *socket;

	if (!common)
		return 0;
	socket = tcp_of(common);
	if (!socket)
		return 0;
	control = socket->inet_conn.icsk_ca_ops;
	if (!control)
		return 0;
	read_kernel(record.name, NAME, control->name);
	if (!is_ours(record.name))
		return 0;
	record.family = common->skc_family;
	record.connection = common->skc_state;
	record.from_port = common->skc_num;
	record.to_port = __builtin_bswap16(common->skc_dport);
	if (record.family == INET6) {
		read_kernel(record.from, 16, &common->skc_v6_rcv_saddr);
		read_kernel(record.to, 16, &common->skc_v6_daddr);
	} else {
		*(u32 *)record.from = common->skc_rcv_saddr;
		*(u32 *)record.to = common->skc_daddr;
	}
	record.repair = BITS(&socket->inet_conn, icsk_ca_state);
	record.window = socket->snd_cwnd;
	record.threshold = socket->snd_ssthresh;
	record.round_trip = socket->srtt_us;
	read_kernel(record.state, sizeof(record.state), socket->inet_conn.icsk_ca_priv);
	if (the_params.to[0])
		record.moved = -set_option(socket, 6, 13, the_params.to, NAME - 1);
	seq_write(context->meta->seq, &record, sizeof(record));
	return 0;
}
