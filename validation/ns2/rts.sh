#!/bin/sh
# The cases of rts.txt under ns-2 2.35: RTS/CTS where terminals are hidden and over three hops, and one hop of 1500 m, which is
# too long for ns-2's time-out. Prints "name seed" and kb/s of payload for each flow. Run it beside mesh.tcl.
case_of() {
    name=$1 seed=$2
    shift 2
    echo "$name $(ns mesh.tcl "$seed" 100 "$@" 2>/dev/null | grep "^$seed ")"
}
for seed in 1 2 3 4 5; do
    case_of rts-receiver $seed "0,0 200,0 600,0 800,0" "udp:0:1:2000:1500 udp:2:3:2000:1500" rts=0
    case_of rts-receiver-tcp $seed "0,0 200,0 600,0 800,0" "tcp:0:1 tcp:2:3" rts=0
    for d in 150 190 215 240; do
        case_of rts-asymmetry-$d $seed "0,0 $d,0 560,0 760,0" "udp:0:1:2000:1500 udp:2:3:2000:1500" rts=0
    done
    case_of rts-middle $seed "0,0 0,200 500,0 500,200 1000,0 1000,200" \
        "udp:0:1:2000:1500 udp:2:3:2000:1500 udp:4:5:2000:1500" rts=0
    case_of rts-chain-tcp $seed "0,0 200,0 400,0 600,0" "tcp:1:0 tcp:2:0 tcp:3:0" rts=0
    case_of rts-hops-tcp $seed "0,0 200,0 400,0 600,0" "tcp:3:0" rts=0
    case_of far-1500 $seed "0,0 1500,0" "udp:0:1:2000:1500" rx=1e-14 cs=1e-15
done
