#!/bin/sh
# Runs mesh.cc and mixed.cc over the scenarios that evenair is compared with; MESH and MIXED are the programs, their output goes
# beside this script.
#   MESH=./mesh MIXED=./mixed validation/ns3/run.sh
# Built against the libraries of the PyPI package ns3 (3.44), $NS3 being its folder ns3/:
#   g++ -O2 -std=c++20 -I $NS3/include mesh.cc -o mesh -L $NS3/lib64 -Wl,-rpath,$NS3/lib64 -Wl,--allow-shlib-undefined \
#     $(for m in core network internet mobility propagation wifi applications traffic-control; do echo -l:libns3.44-$m.so; done)
set -e
here=$(dirname "$0")
: > "$here/hops.txt"
: > "$here/cell.txt"
: > "$here/chain.txt"
for hops in 1 2 3 4 5 6 7 8 9 10; do
    places=0,0
    for i in $(seq 1 $hops); do places="$places;$((200 * i)),0"; done
    for seed in 1 2 3; do
        echo "$hops $("$MESH" --seed=$seed --places="$places" --flows="tcp:$hops:0" --duration=100)" >> "$here/hops.txt"
    done
done
for seed in 1 2 3 4 5; do
    "$MESH" --seed=$seed --places="0,0;200,0;400,0;600,0" --flows="tcp:1:0;tcp:2:0;tcp:3:0" >> "$here/chain.txt"
done
for stations in 1 2 5 10 20; do
    places=0,0
    flows=
    for i in $(seq 1 "$stations"); do
        xy=$(awk -v i="$i" -v n="$stations" 'BEGIN { a = 6.283185307179586 * i / n; printf "%.4f,%.4f", 50 * cos(a), 50 * sin(a) }')
        places="$places;$xy"
        flows="$flows;udp:$i:0"
    done
    for seed in 1 2; do
        echo "$stations $("$MESH" --seed=$seed --places="$places" --flows="$flows" --rate=11 --basic=1 --bytes=1000 --duration=40)" >> "$here/cell.txt"
    done
done
# The four-link topologies of [Chen10]: 800 m of carrier sense are -84.5 dBm.
: > "$here/four_link.txt"
four() {
    for seed in 1 2 3; do
        echo "$1 $("$MESH" --seed=$seed --places="$2" --flows="tcp:0:1;tcp:2:3;tcp:4:5;tcp:6:7" --rate=11 --bytes=1000 --sense=-84.5 --duration=60)" >> "$here/four_link.txt"
    done
}
four a "-600,0;-600,100;0,0;0,100;600,100;600,200;600,-100;600,-200"
four b "-50,0;50,0;0,600;0,700;-520,-300;-606,-350;520,-300;606,-350"
four c "-600,0;-600,100;0,100;0,200;0,-100;0,-200;600,0;600,100"
: > "$here/mixed.txt"
for cell in 1+1 2+1 1+2 2+2; do
    for seed in 1 2 3 4 5; do
        echo "$cell $seed $("$MIXED" --g="${cell%+*}" --b="${cell#*+}" --protection=0 --seed=$seed)" >> "$here/mixed.txt"
    done
done
