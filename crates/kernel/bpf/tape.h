/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * A law of a program of its own, which reads what the law is told, line by line, and writes its window [2^-16 packets] and threshold after
 * each: tests/law.rs lays them beside those of evenair-laws. What the kernel does at losses and time-outs is done here as Reno does it.
 *
 *   P NUMBER...                                                    parameters, as socket.h has them
 *   B WINDOW THRESHOLD                                             it begins
 *   A NOW SAMPLE SEGMENTS FLIGHT ADVANCES REPAIRS IDLE GROWS       an acknowledgement
 *   L FLIGHT      T FLIGHT REPEATED                                a loss, a time-out
 *   S             the places of the state's fields, which evenair cc status reads
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static struct params the_params;
static struct state the_state;

static void acknowledge(const u64 *number)
{
	struct heard heard = {
		.now = number[0],
		.sample = number[1],
		.segments = number[2],
		.flight = number[3],
		.advances = number[4],
		.repairs = number[5],
		.idle = number[6],
	};

	law_heard(&the_params, &the_state, &heard);
	if (number[7])
		law_grow(&the_params, &the_state, &heard);
}

static void lose(u64 flight)
{
	the_state.window.ssthresh = most(flight / 2, 2);
	the_state.window.size = the_state.window.ssthresh * PACKET;
	law_lost(&the_state);
}

static void time_out(u64 flight, u64 repeated)
{
	if (!repeated)
		the_state.window.ssthresh = most(flight / 2, 2);
	the_state.window.size = PACKET;
	law_timed_out(&the_state);
}

static int hear(char verb, const u64 *number, int count)
{
	switch (verb) {
	case 'P':
		memcpy(&the_params, number, sizeof(the_params));
		return count == sizeof(the_params) / sizeof(u64);
	case 'B':
		memset(&the_state, 0, sizeof(the_state));
		the_state.window.size = number[0];
		the_state.window.ssthresh = number[1];
		law_begin(&the_params, &the_state);
		return count == 2;
	case 'A':
		acknowledge(number);
		return count == 8;
	case 'L':
		lose(number[0]);
		return count == 1;
	case 'T':
		time_out(number[0], number[1]);
		return count == 2;
	case 'S':
		printf("%zu %zu %zu %zu\n", offsetof(struct state, STATE_ROUND_TRIP), offsetof(struct state, base),
		       offsetof(struct state, steps), sizeof(struct state));
		return count == 0;
	}
	return 0;
}

int main(void)
{
	static char line[512];

	while (fgets(line, sizeof(line), stdin)) {
		u64 number[8];
		int count, at = 0;

		count = sscanf(line + 1, "%llu %llu %llu %llu %llu %llu %llu %llu", number, number + 1, number + 2, number + 3,
			       number + 4, number + 5, number + 6, number + 7);
		at = hear(line[0], number, count < 0 ? 0 : count);
		if (!at) {
			fprintf(stderr, "what is this? %s", line);
			return 1;
		}
		if (line[0] != 'S')
			printf("%llu %u\n", the_state.window.size, the_state.window.ssthresh);
	}
	return 0;
}
