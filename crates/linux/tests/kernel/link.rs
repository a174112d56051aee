//! Devices, addresses and routes.

use crate::Outcome;
use crate::lab::{device, told};
use evenair_linux::Rtnetlink;
use evenair_linux::link::{LinkOptions, RouteOptions};
use evenair_linux::netlink::Refusal;
use evenair_units::{Bytes, Duration};
use std::io::ErrorKind;

pub(crate) fn devices_are_as_they_were_set() -> Outcome {
    let (mut netlink, index, far) = device("near")?;
    let options = LinkOptions { mtu: Some(Bytes::new(1400)), queue: Some(77), segments: Some(3) };
    netlink.set_up(index, options).expect("it can be set");
    let link = netlink.link(index).expect("it is there");
    assert_eq!((link.name.as_str(), link.kind.as_str(), link.is_up), ("near", "veth", true));
    assert!(!link.is_running, "the other end is down");
    assert_eq!((link.mtu, link.segments, link.master), (Bytes::new(1400), Some(3), None));
    let all = netlink.links().expect("a list");
    assert_eq!(all.iter().map(|link| link.name.as_str()).collect::<Vec<_>>(), ["lo", "near"]);
    let other =
        far.within(|| Rtnetlink::new().and_then(|netlink| netlink.index("far"))).expect("a namespace");
    assert!(other.is_ok(), "the other end is in the other namespace");

    let own = "10.7.0.1".parse().expect("an address");
    netlink.add_address(index, own, 24).expect("it is new");
    let options = RouteOptions {
        gateway: Some("10.7.0.9".parse().expect("an address")),
        congestion_control: Some("reno".into()),
        least_rto: Some(Duration::from_millis(300)),
        first_window: Some(4),
        first_threshold: Some(9),
        segment: Some(Bytes::new(1000)),
    };
    netlink
        .add_route(index, ("10.8.0.0".parse().expect("an address"), 16), Some(own), &options)
        .expect("a route");
    let routes = told("ip", "route show 10.8.0.0/16")?;
    let words: Vec<&str> = routes.split_whitespace().collect();
    for said in [
        "via 10.7.0.9",
        "dev near",
        "src 10.7.0.1",
        "rto_min lock 300ms",
        "initcwnd 4",
        "ssthresh 9",
        "advmss 1000",
    ] {
        assert!(words.join(" ").contains(said), "{said} in {routes}");
    }
    Ok(())
}

pub(crate) fn refusals_have_the_kernels_words() -> Outcome {
    let (mut netlink, index, far) = device("near")?;
    let twice = netlink.add_pair("near", "other", &far).expect_err("the name is taken");
    assert_eq!(twice.kind(), ErrorKind::AlreadyExists);
    let large = LinkOptions { mtu: Some(Bytes::new(1_000_000)), ..LinkOptions::default() };
    let error = netlink.set_up(index, large).expect_err("too large");
    let refusal = error.get_ref().and_then(|inner| inner.downcast_ref::<Refusal>()).expect("a refusal");
    assert!(refusal.text.contains("mtu"), "{refusal}");
    assert!(netlink.link(9_999).is_err());
    Ok(())
}

pub(crate) fn neighbours_are_known_once_they_answer() -> Outcome {
    let (mut netlink, index, far) = device("near")?;
    let address = |text: &str| text.parse().expect("an address");
    netlink.add_address(index, address("10.7.0.1"), 24).expect("it is new");
    let at_far = || {
        let mut netlink = Rtnetlink::new().expect("netlink");
        let index = netlink.index("far").expect("it is there");
        netlink.add_address(index, address("10.7.0.2"), 24).expect("it is new");
        netlink.set_up(index, LinkOptions::default()).expect("it can be up");
    };
    far.within(at_far).expect("a namespace");
    let socket = std::net::UdpSocket::bind("10.7.0.1:0").expect("a port");
    for to in ["10.7.0.2:9", "10.7.0.3:9"] {
        socket.send_to(b"no reply for it", to).expect("it leaves, or waits for an answer");
    }
    let known = |netlink: &mut Rtnetlink| {
        let all = netlink.neighbours(index).expect("a list");
        all.into_iter().filter(|one| one.has_answered).collect::<Vec<_>>()
    };
    let begun = std::time::Instant::now();
    while known(&mut netlink).is_empty() && begun.elapsed().as_secs() < 5 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let known = known(&mut netlink);
    assert_eq!(known.iter().map(|one| one.address).collect::<Vec<_>>(), [address("10.7.0.2")]);
    assert!(told("ip", "neighbour show dev near")?.contains(&format!("lladdr {}", known[0].hardware())));
    assert_eq!(netlink.neighbours(index + 1000).expect("a list"), []);
    Ok(())
}
