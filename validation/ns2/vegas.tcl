# One Vegas sender of ns-2's TCP-Linux agent (the code of Linux 2.6.22) over a bottleneck without loss: rate [Mb/s], round trip
# without a queue [ms], alpha and beta [packets], seconds. Prints goodput [kb/s], the mean window and the mean queue [packets], after a
# warm-up of 20 s.
lassign $argv rate round_trip alpha beta seconds
set ns [new Simulator]
set sender [$ns node]
set router [$ns node]
set receiver [$ns node]
set delay [expr ($round_trip - 12.0 / $rate) / 2]
$ns duplex-link $sender $router 10000Mb 0ms DropTail
$ns simplex-link $router $receiver ${rate}Mb ${delay}ms DropTail
$ns simplex-link $receiver $router ${rate}Mb ${delay}ms DropTail
$ns queue-limit $sender $router 100000
$ns queue-limit $router $receiver 1000
Agent/TCP set window_ 100000
Agent/TCP set windowInit_ 10
Agent/TCP set packetSize_ 1460
Agent/TCP set minrto_ 1
Agent/TCP set tcpTick_ 0.000001
Agent/TCP set timestamps_ true
Agent/TCP set ts_option_size_ 0
set tcp [new Agent/TCP/Linux]
$ns attach-agent $sender $tcp
set sink [new Agent/TCPSink/Sack1]
$ns attach-agent $receiver $sink
$ns connect $tcp $sink
$ns at 0 "$tcp select_ca vegas"
# Thresholds have one binary place.
$ns at 0 "$tcp set_ca_default_param vegas alpha [expr 2 * $alpha]"
$ns at 0 "$tcp set_ca_default_param vegas beta [expr 2 * $beta]"
set source [new Application/FTP]
$source attach-agent $tcp
$ns at 0.1 "$source start"
set monitor [$ns monitor-queue $router $receiver ""]
set looks 0
set windows 0.0
set waiting 0.0
proc look {} {
    global ns tcp monitor looks windows waiting
    incr looks
    set windows [expr $windows + [$tcp set cwnd_]]
    set waiting [expr $waiting + [$monitor set pkts_]]
    $ns at [expr [$ns now] + 0.01] look
}
$ns at 20 {
    set first [$tcp set ack_]
    look
}
$ns at $seconds {
    set goodput [expr ([$tcp set ack_] - $first) * 1460 * 8 / 1e3 / ($seconds - 20)]
    puts [format "%.1f %.2f %.2f" $goodput [expr $windows / $looks] [expr $waiting / $looks]]
    exit 0
}
$ns run
