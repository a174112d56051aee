#!/bin/sh
# TCP NewReno with a receiver's window of 1000 segments over chains of 2 and 3 hops, and three upstream flows on the
# latter, under ns-2 2.35; with a first threshold of 20 segments (ns-2's own) and of 1000.
#
#   sh validation/ns2/window.sh > validation/ns2/window.txt
#
# Prints: name, seed, kb/s per flow.
cd "$(dirname "$0")" || exit 1
run() {
    for seed in $(seq 1 "$2"); do
        ns mesh.tcl "$seed" 200 "$3" "$4" window=1000 "first=$5" 2>/dev/null | grep "^$seed " | sed "s/^/$1 /"
    done
}
two="0,0 200,0 400,0"
three="$two 600,0"
for first in 20 1000; do
    run "hops-2-$first" 5 "$two" "tcp:2:0" $first
    run "hops-3-$first" 5 "$three" "tcp:3:0" $first
    run "chain-$first" 20 "$three" "tcp:1:0 tcp:2:0 tcp:3:0" $first
done
