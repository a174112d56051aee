#!/bin/sh
# TFRC under ns-2 2.35 over a wire that loses by lot.
#
#   sh validation/ns2/tfrc.sh > validation/ns2/tfrc.txt
#
# Prints: loss, round trip [ms], seed, packets sent per second, loss events per packet sent. Losses sent within a round trip of
# an event's first are that event's: counted from the trace, not by the agents.
cd "$(dirname "$0")" || exit 1
for round_trip_ms in 50 100 200; do
    for loss in 0.005 0.01 0.02 0.04 0.08; do
        for seed in 1 2 3; do
            ns tfrc.tcl $loss $round_trip_ms $seed 2>/dev/null |
                awk -v loss=$loss -v ms=$round_trip_ms -v seed=$seed '
                    $2 < 100 { next }
                    $1 == "+" { sent++ }
                    $1 == "d" && $2 - began >= ms / 1000 { events++; began = $2 }
                    END { printf "%s %d %d %.3f %.6f\n", loss, ms, seed, sent / 1000, events / sent }'
        done
    done
done
