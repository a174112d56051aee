#!/bin/sh
# The chain of docs/how-to/ns.md under ns-2 2.35 ("chain SEED", then kb/s of payload), and broadcasts ("broadcast DATA BASIC
# BYTES", rates in Mb/s, then datagrams per second). Run it beside mesh.tcl and broadcast.tcl.
for seed in 1 2 3; do
    echo "chain $(ns mesh.tcl $seed 200 "0,0 200,0 400,0 600,0" "tcp:3:0" payload=1000 2>/dev/null | grep "^$seed ")"
done
for case in "11 1 500" "11 2 500" "2 1 1000"; do
    echo "broadcast $case $(ns broadcast.tcl $case 2>/dev/null | grep '^[0-9.]*$')"
done
