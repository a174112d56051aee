//! The parts of tests: devices, and the programs that report the kernel's state.

use evenair_linux::link::{LinkOptions, RouteOptions};
use evenair_linux::tc::{Change, Discipline, Handle, Htb, HtbClass, Mode, What};
use evenair_linux::{NetworkNamespace, Rtnetlink, sysctl};
use evenair_needs::Missing;
use evenair_units::Rate;
use std::net::{IpAddr, UdpSocket};
use std::process::Command;
use std::time::Duration;

/// Creates a device of the calling thread's namespace and sets it up; returns its number and the namespace of
/// its other end.
pub(crate) fn device(name: &str) -> Result<(Rtnetlink, u32, NetworkNamespace), Missing> {
    let far = NetworkNamespace::new().expect("a namespace");
    let mut netlink = Rtnetlink::new().expect("netlink");
    netlink.add_pair(name, "far", &far).map_err(|error| Missing::new("veth devices", error))?;
    let index = netlink.index(name).expect("it is there");
    netlink.set_up(index, LinkOptions::default()).expect("it can be up");
    Ok((netlink, index, far))
}

/// Creates a device with HTB as `1:`; packets without a class belong to 1:2.
pub(crate) fn shaped() -> Result<(Rtnetlink, u32, NetworkNamespace), Missing> {
    let (mut netlink, device, far) = device("near")?;
    if !netlink.has_discipline("htb").expect("the kernel answers") {
        return Err(Missing::new("HTB", "this kernel has none"));
    }
    apply(&mut netlink, &[htb(device, 2)]);
    Ok((netlink, device, far))
}

/// Returns HTB as `1:` on a device.
pub(crate) fn htb(device: u32, default: u16) -> Change {
    let discipline = Discipline::Htb(Htb { default, rate_to_quantum: 10, direct_queue: None });
    let what = What::Qdisc(Mode::Add, discipline);
    Change { device, parent: Handle::ROOT, handle: Handle::new(1, 0), what }
}

/// Returns a class of HTB `1:`.
pub(crate) fn class(device: u32, parent: Handle, minor: u16, mode: Mode, class: HtbClass) -> Change {
    Change { device, parent, handle: Handle::new(1, minor), what: What::Class(mode, class) }
}

/// Returns a class with a rate and a ceiling \[kb/s\].
pub(crate) fn kbps(rate: u64, ceiling: u64) -> HtbClass {
    HtbClass::new(Rate::from_kbps(rate), Rate::from_kbps(ceiling))
}

/// Makes changes, none of which is refused.
pub(crate) fn apply(netlink: &mut Rtnetlink, changes: &[Change]) {
    let refused = netlink.apply(changes).expect("the kernel answers");
    assert!(refused.is_empty(), "{refused:?}");
}

/// Returns the output of a program, which reads the kernel's state independently.
pub(crate) fn told(program: &'static str, arguments: &str) -> Result<String, Missing> {
    let paths = "/usr/sbin:/sbin:/usr/bin:/bin";
    let run = Command::new(program).args(arguments.split_whitespace()).env("PATH", paths).output();
    let output = run.map_err(|error| Missing::new(program, error))?;
    assert!(output.status.success(), "{program} {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout).expect("UTF-8"))
}

/// Two hosts with a wire between: 10.3.0.1, the calling thread's, and 10.3.0.2.
pub(crate) struct Link {
    pub(crate) netlink: Rtnetlink,
    /// The device here.
    pub(crate) device: u32,
    there: NetworkNamespace,
}

impl Link {
    pub(crate) fn new() -> Result<Self, Missing> {
        let (mut netlink, device, there) = device("near")?;
        netlink.add_address(device, address("10.3.0.1"), 24).expect("it is new");
        let link = Self { netlink, device, there };
        link.far(|| {
            let mut netlink = Rtnetlink::new().expect("netlink");
            let device = netlink.index("far").expect("it is there");
            netlink.set_up(device, LinkOptions::default()).expect("it can be up");
            netlink.add_address(device, address("10.3.0.2"), 24).expect("it is new");
        });
        let end = |text| UdpSocket::bind((address(text), 9)).expect("a socket");
        wait(&end("10.3.0.1"), &link.far(|| end("10.3.0.2")));
        Ok(link)
    }

    /// Runs a function at the other end.
    pub(crate) fn far<T>(&self, act: impl FnOnce() -> T) -> T {
        self.there.within(act).expect("the namespace can be entered")
    }
}

pub(crate) fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// A mesh with subscribers 10.1.0.1 to 10.1.0.9 and `2001:db8:1:100::1` to `…900::1`, and a server 10.2.0.1
/// and `2001:db8:2::1`. Between them routes the calling thread's namespace, over its devices `mesh` and `up`.
pub(crate) struct Router {
    pub(crate) netlink: Rtnetlink,
    pub(crate) mesh: u32,
    pub(crate) up: u32,
    subscribers: NetworkNamespace,
    server: NetworkNamespace,
}

impl Router {
    pub(crate) fn new() -> Result<Self, Missing> {
        let subscribers = NetworkNamespace::new().expect("a namespace");
        let server = NetworkNamespace::new().expect("a namespace");
        let mut netlink = Rtnetlink::new().expect("netlink");
        // Addresses are used at once, not after a second without objections.
        let without_detection = || sysctl::set("ipv6/conf/default/accept_dad", "0");
        let all = [
            without_detection(),
            subscribers.within(without_detection).expect("entered"),
            server.within(without_detection).expect("entered"),
        ];
        if let Some(Err(error)) = all.into_iter().find(Result::is_err) {
            return Err(Missing::new("IPv6", error));
        }
        for (own, peer, host) in [("mesh", "air", &subscribers), ("up", "wire", &server)] {
            let made = netlink.add_pair(own, peer, host);
            made.map_err(|error| Missing::new("veth devices", error))?;
        }
        sysctl::set("ipv4/ip_forward", "1").map_err(|error| Missing::new("routing", error))?;
        sysctl::set("ipv6/conf/all/forwarding", "1").map_err(|error| Missing::new("IPv6", error))?;
        let own = |index: u8| [format!("10.{index}.255.254"), format!("2001:db8:{index}::fffe")];
        let numbers = ["mesh", "up"].map(|name| netlink.index(name).expect("it is there"));
        for (index, device) in (1..).zip(numbers) {
            netlink.set_up(device, LinkOptions::default()).expect("it can be up");
            for (text, prefix) in own(index).iter().zip([16, 48]) {
                netlink.add_address(device, address(text), prefix).expect("it is new");
            }
        }
        let hosts = (1..=9).map(|host| [format!("10.1.0.{host}"), format!("2001:db8:1:{host}00::1")]);
        inside(&subscribers, "air", hosts.flatten(), &own(1));
        let hosts = ["10.2.0.1".to_owned(), "2001:db8:2::1".to_owned()];
        inside(&server, "wire", hosts.into_iter(), &own(2));
        let [mesh, up] = numbers;
        let router = Self { netlink, mesh, up, subscribers, server };
        for (server, subscriber) in [("10.2.0.1", "10.1.0.9"), ("2001:db8:2::1", "2001:db8:1:900::1")] {
            let end = |text| UdpSocket::bind((address(text), 9)).expect("a socket");
            wait(&router.at_server(|| end(server)), &router.at_subscribers(|| end(subscriber)));
        }
        Ok(router)
    }

    /// Runs a function at the subscribers.
    pub(crate) fn at_subscribers<T>(&self, act: impl FnOnce() -> T) -> T {
        self.subscribers.within(act).expect("the namespace can be entered")
    }

    /// Runs a function at the server.
    pub(crate) fn at_server<T>(&self, act: impl FnOnce() -> T) -> T {
        self.server.within(act).expect("the namespace can be entered")
    }
}

/// Waits until packets pass both ways: until the kernel has noticed a device's carrier they are lost, for up
/// to a second.
fn wait(one: &UdpSocket, other: &UdpSocket) {
    for (from, to) in [(one, other), (other, one)] {
        to.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout");
        let target = to.local_addr().expect("it is bound");
        let passes = (0..250).any(|_| from.send_to(&[0], target).is_ok() && to.recv(&mut [0]).is_ok());
        assert!(passes, "nothing passes to {target}");
    }
}

/// Gives a host's device addresses, and routes over the router.
fn inside(host: &NetworkNamespace, device: &str, own: impl Iterator<Item = String>, router: &[String]) {
    let set = || {
        let mut netlink = Rtnetlink::new().expect("netlink");
        let device = netlink.index(device).expect("it is there");
        netlink.set_up(device, LinkOptions::default()).expect("it can be up");
        for own in own.map(|text| address(&text)) {
            netlink.add_address(device, own, if own.is_ipv4() { 16 } else { 48 }).expect("it is new");
        }
        for (gateway, all) in router.iter().zip(["0.0.0.0", "::"]) {
            let options = RouteOptions { gateway: Some(address(gateway)), ..RouteOptions::default() };
            netlink.add_route(device, (address(all), 0), None, &options).expect("a route");
        }
    };
    host.within(set).expect("the namespace can be entered");
}
