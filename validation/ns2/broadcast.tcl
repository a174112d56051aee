# One node broadcasts datagrams faster than the air takes them, under ns-2 2.35's own 802.11; a neighbour counts.
#
#   ns broadcast.tcl DATA BASIC BYTES
#
# DATA and BASIC are dataRate_ and basicRate_ [Mb/s], BYTES the datagram. DumbAgent, the routing agent, adds nothing to it.
# Prints datagrams per second, over five seconds.

foreach {data basic bytes} $argv {}
Mac/802_11 set dataRate_ ${data}e6
Mac/802_11 set basicRate_ ${basic}e6
set ns [new Simulator]
set trace [open /dev/null w]
$ns trace-all $trace
set topo [new Topography]
$topo load_flatgrid 1000 1000
create-god 2
$ns node-config -adhocRouting DumbAgent -llType LL -macType Mac/802_11 \
    -ifqType Queue/DropTail/PriQueue -ifqLen 50 -antType Antenna/OmniAntenna \
    -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
    -channel [new Channel/WirelessChannel] -topoInstance $topo \
    -agentTrace OFF -routerTrace OFF -macTrace OFF
for {set i 0} {$i < 2} {incr i} {
    set node($i) [$ns node]
    $node($i) random-motion 0
    $node($i) set X_ [expr {100 + 50 * $i}] ; $node($i) set Y_ 100 ; $node($i) set Z_ 0
}
set sender [new Agent/UDP]
$sender set packetSize_ $bytes
$ns attach-agent $node(0) $sender
$sender set dst_addr_ -1
$sender set dst_port_ 0
set source [new Application/Traffic/CBR]
$source set packetSize_ $bytes
$source set rate_ 20e6
$source attach-agent $sender
set sink [new Agent/LossMonitor]
$ns attach-agent $node(1) $sink
$ns at 1.0 "$source start"
$ns at 6.0 finish
proc finish {} {
    global sink
    puts [format %.1f [expr {[$sink set npkts_] / 5.0}]]
    exit 0
}
$ns run
