/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * What programs in the kernel see of it: the fields that they use, whose places the kernel's own description (BTF) says when a program is loaded.
 */
#ifndef EVENAIR_KERNEL_H
#define EVENAIR_KERNEL_H

#include "fixed.h"

#define SECTION(name) __attribute__((section(name), used))
#define RELOCATED __attribute__((preserve_access_index))

struct tcp_congestion_ops {
	char name[16];
} RELOCATED;

struct in6_addr {
	u8 octets[16];
};

struct sock_common {
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport;
	u16 skc_num;
	u16 skc_family;
	u8 skc_state;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
} RELOCATED;

struct inet_connection_sock {
	const struct tcp_congestion_ops *icsk_ca_ops;
	u8 icsk_ca_state : 5;
	u64 icsk_ca_priv[13];
} RELOCATED;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u64 tcp_mstamp;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 prior_cwnd;
	u32 delivered;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 max_packets_out;
	u32 srtt_us;
	u8 is_cwnd_limited : 1;
} RELOCATED;

struct ack_sample {
	u32 pkts_acked;
	int rtt_us;
} RELOCATED;

/* A field of some bits within a byte: kinds of relocation that clang and kernel agree on. */
#define BITS(from, field) \
	((u64)*(const u8 *)((const char *)(from) + __builtin_preserve_field_info((from)->field, 0)) \
	 << __builtin_preserve_field_info((from)->field, 4) >> __builtin_preserve_field_info((from)->field, 5))

/* A licence that the kernel takes for one it may lend its functions to, and that the rest of this tree has. */
char kernel_licence[] SECTION("license") = "Dual MIT/GPL";

#endif
