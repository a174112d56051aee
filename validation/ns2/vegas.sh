#!/bin/sh
# Vegas as Linux 2.6.22 had it, under the TCP-Linux agent of ns-2 2.35, alone over a bottleneck without loss.
#
#   sh validation/ns2/vegas.sh > validation/ns2/vegas.txt
#
# Prints: rate [Mb/s], round trip [ms], alpha, beta, goodput [kb/s], mean window, mean queue [packets].
cd "$(dirname "$0")" || exit 1
for path in "1 200" "1 20" "10 20" "10 100"; do
    for thresholds in "2 4" "20 23"; do
        # shellcheck disable=SC2086
        echo "$path $thresholds $(ns vegas.tcl $path $thresholds 220 2>/dev/null | grep -aE '^[0-9.]+ [0-9.]+ [0-9.]+$')"
    done
done
