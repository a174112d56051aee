# Nodes at given places, TCP and UDP flows between them over several hops, under ns-2 2.35's own 802.11.
#
#   ns mesh.tcl SEED DURATION PLACES FLOWS [KEY=VALUE]...
#
# PLACES is "x,y x,y ..." [m]; FLOWS is "tcp:FROM:TO udp:FROM:TO:KBPS:BYTES ..." by the numbers of the nodes.
# Keys: rts (bytes, 3000 = off), capture (ratio, 10), rate and basic (Mb/s, 1), window (segments, 20), payload (bytes,
# 1460), queue (packets, 50), warmup (s, 20), tcp (Newreno), rx and cs (W, the 250 m and 550 m of the wave LAN card),
# first (segments, 20: what `window_` is when an agent is made, which is its first threshold; `window` comes after that).
#
# Prints: seed, then kb/s of application data per flow after the warm-up.
#
# Routes come from DSDV, which is silenced once they are there: 30 s before the flows start, then one update in 10^5 s.

set seed     [lindex $argv 0]
set duration [lindex $argv 1]
set places   [lindex $argv 2]
set flows    [lindex $argv 3]
array set with {rts 3000 capture 10 rate 1 basic 1 window 20 payload 1460 queue 50 warmup 20 tcp Newreno rx 3.652e-10 cs 1.559e-11 routing 60 first 20}
foreach pair [lrange $argv 4 end] {
    foreach {key value} [split $pair =] { set with($key) $value }
}

Mac/802_11 set dataRate_ $with(rate)e6
Mac/802_11 set basicRate_ $with(basic)e6
Mac/802_11 set RTSThreshold_ $with(rts)
Phy/WirelessPhy set CPThresh_ $with(capture)
Phy/WirelessPhy set RXThresh_ $with(rx)
Phy/WirelessPhy set CSThresh_ $with(cs)
Agent/TCP set window_ $with(first)
Agent/DSDV set perup_ 100000
Agent/DSDV set min_update_periods_ 3

global defaultRNG
$defaultRNG seed $seed
set ns [new Simulator]
set trace [open /dev/null w]
$ns trace-all $trace
set topo [new Topography]
$topo load_flatgrid 10000 10000
create-god [llength $places]
$ns node-config -adhocRouting DSDV -llType LL -macType Mac/802_11 \
    -ifqType Queue/DropTail/PriQueue -ifqLen $with(queue) -antType Antenna/OmniAntenna \
    -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
    -channel [new Channel/WirelessChannel] -topoInstance $topo \
    -agentTrace OFF -routerTrace OFF -macTrace OFF

set i 0
foreach place $places {
    set node($i) [$ns node]
    $node($i) random-motion 0
    foreach {x y} [split $place ,] {
        $node($i) set X_ [expr {$x + 3000.0}] ; $node($i) set Y_ [expr {$y + 3000.0}] ; $node($i) set Z_ 0.0
    }
    incr i
}
set begin $with(routing)
set f 0
foreach flow $flows {
    set part [split $flow :]
    set from $node([lindex $part 1])
    set to $node([lindex $part 2])
    set start [expr {$begin + 0.1 * $f}]
    if {[lindex $part 0] eq "tcp"} {
        set source [new Agent/TCP/$with(tcp)]
        $source set window_ $with(window)
        $source set packetSize_ $with(payload)
        set sink($f) [new Agent/TCPSink]
        $ns attach-agent $from $source
        $ns attach-agent $to $sink($f)
        $ns connect $source $sink($f)
        set application [new Application/FTP]
        $application attach-agent $source
        set bytes($f) $with(payload)
    } else {
        set bytes($f) [lindex $part 4]
        set source [new Agent/UDP]
        $source set packetSize_ 2000
        set sink($f) [new Agent/LossMonitor]
        $ns attach-agent $from $source
        $ns attach-agent $to $sink($f)
        $ns connect $source $sink($f)
        set application [new Application/Traffic/CBR]
        $application set packetSize_ $bytes($f)
        $application set interval_ [expr {8.0 * $bytes($f) / (1000.0 * [lindex $part 3])}]
        $application set random_ 1
        $application attach-agent $source
    }
    set kind($f) [lindex $part 0]
    set source_of($f) $source
    $ns at $start "$application start"
    incr f
}
proc received {f} {
    global sink kind bytes source_of
    if {$kind($f) eq "tcp"} { return [expr {([$source_of($f) set ack_] + 1) * $bytes($f)}] }
    return [expr {[$sink($f) set npkts_] * $bytes($f)}]
}
proc snapshot {} {
    global before f
    for {set i 0} {$i < $f} {incr i} { set before($i) [received $i] }
}
proc finish {} {
    global before f seed duration
    set line $seed
    for {set i 0} {$i < $f} {incr i} {
        append line [format " %.2f" [expr {8.0 * ([received $i] - $before($i)) / $duration / 1000}]]
    }
    puts $line
    flush stdout
    exit 0
}
$ns at [expr {$begin + $with(warmup)}] "snapshot"
$ns at [expr {$begin + $with(warmup) + $duration}] "finish"
$ns run
