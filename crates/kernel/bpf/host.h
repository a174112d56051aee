/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
#ifdef __bpf__
#include "socket.h"
#else
#include "tape.h"
#endif
