# One cell of saturated stations under ns-2 2.35's own 802.11: everybody sends UDP to the node in the middle.
#
#   ns cell.tcl STATIONS SEED [DURATION] [DATA_MBPS] [BASIC_MBPS] [RTS_BYTES] [UDP_BYTES] [RADIUS_M]
#
# prints one line: stations, seed, packets per second of each station after 5 s of warm-up, and their sum.
# The stations stand evenly on a circle.

set stations [lindex $argv 0]
set seed     [lindex $argv 1]
set duration [expr {$argc > 2 ? [lindex $argv 2] : 100.0}]
set data     [expr {$argc > 3 ? [lindex $argv 3] : 11}]
set basic    [expr {$argc > 4 ? [lindex $argv 4] : 1}]
set rts      [expr {$argc > 5 ? [lindex $argv 5] : 3000}]
set bytes    [expr {$argc > 6 ? [lindex $argv 6] : 1000}]
set radius   [expr {$argc > 7 ? [lindex $argv 7] : 50.0}]
set warmup   5.0

Mac/802_11 set dataRate_ ${data}e6
Mac/802_11 set basicRate_ ${basic}e6
Mac/802_11 set RTSThreshold_ $rts

global defaultRNG
$defaultRNG seed $seed
set ns [new Simulator]
set trace [open /dev/null w]
$ns trace-all $trace
set topo [new Topography]
$topo load_flatgrid 1000 1000
create-god [expr {$stations + 1}]
$ns node-config -adhocRouting DumbAgent -llType LL -macType Mac/802_11 \
    -ifqType Queue/DropTail/PriQueue -ifqLen 50 -antType Antenna/OmniAntenna \
    -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
    -channel [new Channel/WirelessChannel] -topoInstance $topo \
    -agentTrace OFF -routerTrace OFF -macTrace OFF

proc place {n x y} {
    $n random-motion 0
    $n set X_ $x ; $n set Y_ $y ; $n set Z_ 0.0
}
set centre [$ns node]
place $centre 500.0 500.0
set pi [expr {acos(-1)}]
for {set i 0} {$i < $stations} {incr i} {
    set node($i) [$ns node]
    set angle [expr {2 * $pi * $i / $stations}]
    place $node($i) [expr {500 + $radius * cos($angle)}] [expr {500 + $radius * sin($angle)}]
    set udp($i) [new Agent/UDP]
    $udp($i) set packetSize_ 2000
    set sink($i) [new Agent/LossMonitor]
    $ns attach-agent $node($i) $udp($i)
    $ns attach-agent $centre $sink($i)
    $ns connect $udp($i) $sink($i)
    set cbr($i) [new Application/Traffic/CBR]
    $cbr($i) set packetSize_ $bytes
    # A little above what one station could carry alone, shared out, so that each queue is always full.
    $cbr($i) set interval_ [expr {0.0009 * ($stations < 4 ? 1 : $stations / 4.0) * 11.0 / ($data < 11 ? $data * 1.3 : 11)}]
    $cbr($i) attach-agent $udp($i)
    # One small datagram while the air is still quiet, so that ARP is settled before the load comes.
    $ns at [expr {0.02 * ($i + 1)}] "$udp($i) send 10"
    $ns at [expr {0.02 * $stations + 0.5 + 0.001 * $i}] "$cbr($i) start"
}
proc snapshot {} {
    global sink before stations
    for {set i 0} {$i < $stations} {incr i} { set before($i) [$sink($i) set npkts_] }
}
proc finish {} {
    global sink before stations seed duration
    set line "$stations $seed"
    set total 0.0
    for {set i 0} {$i < $stations} {incr i} {
        set rate [expr {([$sink($i) set npkts_] - $before($i)) / double($duration)}]
        set total [expr {$total + $rate}]
        append line [format " %.2f" $rate]
    }
    puts [format "%s %.2f" $line $total]
    flush stdout
    exit 0
}
$ns at $warmup "snapshot"
$ns at [expr {$warmup + $duration}] "finish"
$ns run
