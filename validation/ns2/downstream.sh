#!/bin/sh
# Three TCP NewReno flows from the gateway of a three-hop chain, 200 m apart, to nodes 1, 2 and 3, over a shared FIFO of 50 packets, under ns-2
# 2.35: 1 Mb/s, RTS/CTS off, segments of 1460 bytes, a receiver's window of 20 segments, no delayed acknowledgements. [Jam10] Fig 6.2, Table 6.1.
#
#   sh validation/ns2/downstream.sh > validation/ns2/downstream.txt
#
# Prints: name, seed, kb/s per flow after a warm-up of 20 s, over 300 s.
cd "$(dirname "$0")" || exit 1
for seed in $(seq 1 "${1:-12}"); do
    ns mesh.tcl "$seed" 300 "0,0 200,0 400,0 600,0" "tcp:0:1 tcp:0:2 tcp:0:3" 2>/dev/null |
        grep "^$seed " | sed "s/^/chain-down /"
done
