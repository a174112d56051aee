//! `evenair emulate --router`: a node's kernel forwards packets.

use crate::emulate::{run, run_with};
use crate::{evenair, json, stderr, stdout};
use std::io::Write as _;
use std::net::{TcpListener, UdpSocket};

/// Sends three pings over three hops while something runs at the first node between.
fn ping(extra: &[&str]) -> Option<String> {
    let to = ["--", "ping", "-4", "-n", "-c", "3", "-i", "0.3", "-W", "1", "node-3"];
    let done = run_with(&["ping"], &[&["jam10/chain"], extra, &to].concat())?;
    assert!(done.status.code() < Some(125), "{}", stderr(&done));
    Some(stdout(&done))
}

#[test]
fn each_forwarder_takes_one_hop() {
    for routers in [&[][..], &["--router", "1"], &["--router", "1", "--router", "2"]] {
        let Some(told) = ping(routers) else { return };
        assert_eq!(told.matches(" ttl=62 ").count(), 3, "{routers:?}: {told}");
    }
}

#[test]
fn router_without_forwarding_stops_packets() {
    let stop = "1=sh -c 'echo 0 > /proc/sys/net/ipv4/ip_forward'";
    let Some(told) = ping(&["--router", "1", "--at", stop]) else { return };
    assert!(told.contains(" 0 received"), "{told}");
    let Some(told) = ping(&["--at", stop]) else { return };
    assert_eq!(told.matches(" ttl=62 ").count(), 3, "a node that is no router is not asked: {told}");
}

#[test]
fn a_flow_through_a_router_counts_the_whole_way() {
    let flow = "flows=[{ id = '1', from = '3', to = '0', traffic = 'cbr', rate = '40 kb/s' }]";
    let arguments = ["jam10/chain", "--set", flow, "--set", "warmup=1 s", "--set", "duration=3 s", "--json"];
    let Some(done) = run(&[&["--router", "1", "--router", "2"], &arguments[..]].concat()) else { return };
    let emulated = json(&done);
    let simulated = json(&evenair(&[&["run"], &arguments[..]].concat()));
    for (quantity, least, most) in [("goodput_bps", 0.8, 1.2), ("sent", 0.8, 1.2), ("arrived", 0.8, 1.2)] {
        let of = |document: &serde_json::Value| document["flows"][0][quantity].as_f64().expect("a number");
        let ratio = of(&emulated) / of(&simulated);
        assert!((least..most).contains(&ratio), "{quantity}: {} of {}", of(&emulated), of(&simulated));
    }
    let delay = |document: &serde_json::Value| document["flows"][0]["delay"]["p50_s"].as_f64();
    // Three hops of 1 Mb/s, plus the machine's time for two kernels' ways: less than from one packet to the next, 0.3 s.
    let (real, ours) = (delay(&emulated).expect("a time"), delay(&simulated).expect("a time"));
    assert!((ours * 0.9..ours + 0.2).contains(&real), "{real} for {ours} s");
}

#[test]
fn a_router_has_a_device_for_each_wire() {
    let shown = "b=sh -c 'grep -c wire0 /proc/net/dev; grep -c wire1 /proc/net/dev'";
    let Some(done) = run(&["chen10/wired", "--router", "b", "--at", shown, "--", "sleep", "0.3"]) else {
        return;
    };
    assert_eq!(stdout(&done).trim(), "1\n0", "{}", stderr(&done));
    let Some(done) = run(&["chen10/wired", "--router", "x", "--", "true"]) else { return };
    assert_eq!(done.status.code(), Some(125));
    assert!(stderr(&done).contains("--router: there is no node"), "{}", stderr(&done));
}

/// Asks a server and prints the answer.
const FETCH: &str = "import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 10); print(s.recv(100).decode())";

#[test]
fn programs_reach_machines_own_network_over_air() {
    // An address of this machine that others would reach it by; no packet is sent for that.
    let asked = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        socket.connect("192.0.2.1:9")?;
        socket.local_addr()
    });
    let Ok(own) = asked else { return evenair_needs::skip("a network", "no address but the loopback's") };
    let server = TcpListener::bind((own.ip(), 0)).expect("an address of its own");
    let place = server.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for stream in server.incoming() {
            stream.and_then(|mut stream| stream.write_all(b"from outside")).expect("somebody listens");
        }
    });
    let (host, port) = (place.ip().to_string(), place.port().to_string());
    let fetch = ["--", "python3", "-c", FETCH, &host, &port];
    let Some(done) = run_with(&["slirp4netns"], &[&["jam10/chain", "--internet", "3"][..], &fetch].concat())
    else {
        return;
    };
    assert_eq!(stdout(&done).trim(), "from outside", "{}", stderr(&done));
    let Some(done) = run(&[&["jam10/chain"][..], &fetch].concat()) else { return };
    assert!(stderr(&done).contains("unreachable"), "there is no other way: {}", stderr(&done));
}
