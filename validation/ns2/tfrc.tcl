# TFRC over a wire that loses by lot: ns-2 2.35's Agent/TFRC, its defaults but the size of packets.
# ns tfrc.tcl LOSS ROUND_TRIP_MS SEED: the trace of the wire, of 1100 seconds; tfrc.sh counts.
set loss [lindex $argv 0]
set round_trip_ms [lindex $argv 1]
ns-random [lindex $argv 2]
set ns [new Simulator]
set a [$ns node]
set b [$ns node]
# So fast that nothing queues.
$ns duplex-link $a $b 100Mb [expr {$round_trip_ms / 2.0}]ms DropTail
$ns queue-limit $a $b 1000
set source [new Agent/TFRC]
$source set packetSize_ 1000
# The RTO in its equation is TCP's, of a clock of 0.1 s; RFC 5348 has four round trips and no clock. The path's round trip is
# constant, so that the least RTO is the RTO.
$source set tcp_tick_ 0.001
$source set minrto_ [expr {4.0 * $round_trip_ms / 1000.0}]
set sink [new Agent/TFRCSink]
$ns attach-agent $a $source
$ns attach-agent $b $sink
$ns connect $source $sink
set model [new ErrorModel]
$model set rate_ $loss
$model unit pkt
$model ranvar [new RandomVariable/Uniform]
set lost [new Agent/Null]
$model drop-target $lost
$ns lossmodel $model $a $b
set trace [open "|cat" w]
$ns trace-queue $a $b $trace
$ns at 0.0 "$source start"
$ns at 1100.0 "flush $trace; exit 0"
$ns run
