/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the kernel's own tcp_vegas does with one flow over a wire: run by vegas.py as the only program of a machine in qemu, as root.
 * A line for each case: alpha, beta, the wire's round trip [ms], then of the last ten of thirty seconds the mean window [packets], its
 * least and greatest, the mean round trip [ms], the base by which the law goes [ms], the rate [packets/s], and what was sent again.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <sched.h>
#include <fcntl.h>

#define SECONDS 30
#define COUNTED 10
#define PORT 5000

/* BusyBox's shell has an ip of its own, which knows no namespaces. */
#define IP "/usr/sbin/ip "
#define TC "/usr/sbin/tc "

static const char *const setup[] = {
	"modprobe veth", "modprobe sch_netem", "modprobe tcp_vegas",
	IP "netns add far", IP "link add near type veth peer name far netns far",
	/* A packet a segment: the wire counts packets. */
	IP "link set near gso_max_segs 1", IP "-n far link set far gso_max_segs 1",
	IP "address add 192.0.2.1/24 dev near", IP "-n far address add 192.0.2.2/24 dev far",
	IP "link set near up", IP "-n far link set far up", IP "-n far link set lo up",
	/* No memory of the connection before, and windows as large as they come. */
	"echo 1 > /proc/sys/net/ipv4/tcp_no_metrics_save", "echo 4096 4194304 16777216 > /proc/sys/net/ipv4/tcp_wmem",
};

static void must(int good, const char *what)
{
	if (good)
		return;
	printf("vegas: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void run(const char *command)
{
	must(system(command) == 0, command);
}

static void parameter(const char *name, int value)
{
	char command[128];

	snprintf(command, sizeof(command), "echo %d > /sys/module/tcp_vegas/parameters/%s", value, name);
	run(command);
}

/* Reads whatever comes, in the other namespace, until it is killed. */
static pid_t receiver(void)
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	static char heap[1 << 16];
	pid_t child = fork();

	if (child)
		return child;
	int space = open("/run/netns/far", O_RDONLY);
	must(space >= 0 && setns(space, CLONE_NEWNET) == 0, "setns");
	int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	must(bind(listener, (struct sockaddr *)&here, sizeof(here)) == 0 && listen(listener, 1) == 0, "listen");
	int peer = accept(listener, NULL, NULL);
	while (read(peer, heap, sizeof(heap)) > 0)
		;
	_exit(0);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

static void flow(int alpha, int beta, int round_trip)
{
	struct sockaddr_in there = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	double window = 0, trips = 0, first = 0, last = 0;
	unsigned least = ~0u, most = 0, samples = 0;
	unsigned long long acked = 0;
	static char block[1 << 16];
	struct tcpvegas_info law;
	struct tcp_info info;
	pid_t child = receiver();
	int wire = socket(AF_INET, SOCK_STREAM, 0);

	usleep(500000);
	inet_pton(AF_INET, "192.0.2.2", &there.sin_addr);
	must(setsockopt(wire, IPPROTO_TCP, TCP_CONGESTION, "vegas", 5) == 0, "vegas");
	must(connect(wire, (struct sockaddr *)&there, sizeof(there)) == 0, "connect");
	fcntl(wire, F_SETFL, O_NONBLOCK);
	for (double start = now(); now() < start + SECONDS; usleep(10000)) {
		socklen_t size = sizeof(info);

		while (write(wire, block, sizeof(block)) > 0)
			;
		getsockopt(wire, IPPROTO_TCP, TCP_INFO, &info, &size);
		if (now() < start + SECONDS - COUNTED)
			continue;
		if (!samples++)
			first = now(), acked = info.tcpi_bytes_acked;
		last = now();
		window += info.tcpi_snd_cwnd;
		trips += info.tcpi_rtt * 1e-3;
		least = info.tcpi_snd_cwnd < least ? info.tcpi_snd_cwnd : least;
		most = info.tcpi_snd_cwnd > most ? info.tcpi_snd_cwnd : most;
	}
	socklen_t size = sizeof(law);
	must(getsockopt(wire, IPPROTO_TCP, TCP_CC_INFO, &law, &size) == 0 && law.tcpv_enabled, "the law's base");
	printf("vegas: %d %d %d %.2f %u %u %.2f %.2f %.1f %u\n", alpha, beta, round_trip, window / samples, least, most, trips / samples,
	       law.tcpv_rtt * 1e-3, (info.tcpi_bytes_acked - acked) / (last - first) / info.tcpi_snd_mss, info.tcpi_total_retrans);
	fflush(stdout);
	close(wire);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

int main(void)
{
	static const int thresholds[][2] = { { 2, 4 }, { 8, 8 }, { 19, 21 } }, round_trips[] = { 20, 40, 100 };
	char command[256];

	signal(SIGPIPE, SIG_IGN);
	for (unsigned i = 0; i < sizeof(setup) / sizeof(*setup); i++)
		run(setup[i]);
	for (unsigned i = 0; i < 9; i++) {
		const int *bounds = thresholds[i / 3], round_trip = round_trips[i % 3];

		parameter("alpha", bounds[0]);
		parameter("beta", bounds[1]);
		snprintf(command, sizeof(command), TC "qdisc replace dev near root netem delay %dus rate 2mbit limit 500", round_trip * 500);
		run(command);
		snprintf(command, sizeof(command), IP "netns exec far /usr/sbin/tc qdisc replace dev far root netem delay %dus limit 500", round_trip * 500);
		run(command);
		flow(bounds[0], bounds[1], round_trip);
	}
	return 0;
}
