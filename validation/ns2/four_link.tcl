# The four-link topologies of [Chen10] under ns-2 2.35's own 802.11 and TCP Reno.
#
#   ns four_link.tcl TOPOLOGY SEED [DURATION] [DATA_MBPS] [BASIC_MBPS] [RTS_BYTES]
#
# prints one line: topology, seed, packets per second of each flow after 20 s of warm-up, and their sum.
# Positions in metres, sender then receiver; carrier sense 800 m, transmission 250 m under two-ray ground.

set topology [lindex $argv 0]
set seed     [lindex $argv 1]
set duration [expr {$argc > 2 ? [lindex $argv 2] : 200.0}]
set data     [expr {$argc > 3 ? [lindex $argv 3] : 11}]
set basic    [expr {$argc > 4 ? [lindex $argv 4] : 1}]
set rts      [expr {$argc > 5 ? [lindex $argv 5] : 3000}]
set warmup   20.0

switch $topology {
    a { set at {{-600 0 -600 100} {0 0 0 100} {600 100 600 200} {600 -100 600 -200}} }
    b { set at {{-50 0 50 0} {0 600 0 700} {-520 -300 -606 -350} {520 -300 606 -350}} }
    c { set at {{-600 0 -600 100} {0 100 0 200} {0 -100 0 -200} {600 0 600 100}} }
    1 { set at {{0 0 0 100}} }
}

Mac/802_11 set dataRate_ ${data}e6
Mac/802_11 set basicRate_ ${basic}e6
Mac/802_11 set RTSThreshold_ $rts

# Two-ray ground: received power falls with d^4, so a threshold is a range.
proc two_ray {d} {
    set pt 0.28183815 ; set h 1.5
    return [expr {$pt * $h * $h * $h * $h / pow($d, 4)}]
}
Phy/WirelessPhy set RXThresh_ [two_ray 250.0]
Phy/WirelessPhy set CSThresh_ [two_ray 800.0]

global defaultRNG
$defaultRNG seed $seed
set ns [new Simulator]
set trace [open /dev/null w]
$ns trace-all $trace
set topo [new Topography]
$topo load_flatgrid 4000 4000
set count [expr {2 * [llength $at]}]
create-god $count
$ns node-config -adhocRouting DumbAgent -llType LL -macType Mac/802_11 \
    -ifqType Queue/DropTail/PriQueue -ifqLen 50 -antType Antenna/OmniAntenna \
    -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
    -channel [new Channel/WirelessChannel] -topoInstance $topo \
    -agentTrace OFF -routerTrace OFF -macTrace OFF

set i 0
foreach link $at {
    foreach {x y} $link {
        set node($i) [$ns node]
        $node($i) random-motion 0
        $node($i) set X_ [expr {$x + 2000}]
        $node($i) set Y_ [expr {$y + 2000}]
        $node($i) set Z_ 0.0
        incr i
    }
}
for {set l 0} {$l < $count / 2} {incr l} {
    set tcp($l) [new Agent/TCP/Reno]
    $tcp($l) set packetSize_ 1000
    $tcp($l) set window_ 20
    set sink($l) [new Agent/TCPSink]
    $ns attach-agent $node([expr {2 * $l}]) $tcp($l)
    $ns attach-agent $node([expr {2 * $l + 1}]) $sink($l)
    $ns connect $tcp($l) $sink($l)
    set ftp($l) [new Application/FTP]
    $ftp($l) attach-agent $tcp($l)
    $ns at [expr {0.1 * ($l + 1)}] "$ftp($l) start"
}
proc snapshot {} {
    global tcp before count
    for {set l 0} {$l < $count / 2} {incr l} { set before($l) [$tcp($l) set ack_] }
}
proc finish {} {
    global tcp before count topology seed duration
    set line "$topology $seed"
    set total 0.0
    for {set l 0} {$l < $count / 2} {incr l} {
        set rate [expr {([$tcp($l) set ack_] - $before($l)) / double($duration)}]
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
