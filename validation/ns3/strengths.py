"""One saturated station received at a given strength, by ns-3 3.44: payload that arrives [Mb/s].

With the PyPI package ns3 (3.44):
    python3 validation/ns3/strengths.py > validation/ns3/strengths.txt

Each line has the standard's letters, the width [MHz], the rate control (ns-3's Ideal, or a fixed MCS), the strength
[dBm] at which both nodes receive each other, and the payload that one station brings to a receiver after one second,
in 2 s under Ideal and 10 s at a fixed MCS. It always has 1500-byte IP packets (1472 bytes of payload), best effort, in
aggregates of at most 65 535 bytes; the guard interval is 800 ns. Errors are those of ns-3's default tables.
"""

import multiprocessing
from typing import NamedTuple

SECONDS = {"ideal": 2}
FIXED_SECONDS = 10


class Case(NamedTuple):
    """A standard, a width, a rate control and a strength."""

    letters: str
    mhz: int
    control: str
    dbm: float


CASES = [
    *(Case("n", 20, "ideal", dbm) for dbm in range(-81, -69)),
    *(Case("ac", 80, "ideal", dbm) for dbm in range(-81, -59)),
    *(Case("ac", 20, "7", dbm) for dbm in (-76, -75.8, -75.6, -75.4, -75.2, -75, -74.8, -74.6, -74.4, -74, -73)),
]


def megabits(case: Case) -> float:
    """What arrives [Mb/s]."""
    from ns import ns

    ns.RngSeedManager.SetSeed(1)
    nodes = ns.NodeContainer()
    nodes.Create(2)
    channel = ns.CreateObject[ns.YansWifiChannel]()
    loss = ns.CreateObject[ns.FixedRssLossModel]()
    loss.SetRss(case.dbm)
    channel.SetPropagationLossModel(loss)
    channel.SetPropagationDelayModel(ns.CreateObject[ns.ConstantSpeedPropagationDelayModel]())
    phy = ns.YansWifiPhyHelper()
    phy.SetChannel(channel)
    phy.Set("ChannelSettings", ns.StringValue(f"{{0, {case.mhz}, BAND_5GHZ, 0}}"))
    wifi = ns.WifiHelper()
    wifi.SetStandard({"n": ns.WIFI_STANDARD_80211n, "ac": ns.WIFI_STANDARD_80211ac}[case.letters])
    if case.control == "ideal":
        wifi.SetRemoteStationManager("ns3::IdealWifiManager")
    else:
        mode, answers = ns.StringValue(f"VhtMcs{case.control}"), ns.StringValue("OfdmRate24Mbps")
        wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", mode, "ControlMode", answers)
    mac = ns.WifiMacHelper()
    mac.SetType("ns3::AdhocWifiMac", "BE_MaxAmpduSize", ns.UintegerValue(65_535))
    devices = wifi.Install(phy, mac, nodes)
    mobility = ns.MobilityHelper()
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel")
    mobility.Install(nodes)
    ns.InternetStackHelper().Install(nodes)
    addresses = ns.Ipv4AddressHelper()
    addresses.SetBase(ns.Ipv4Address("10.0.0.0"), ns.Ipv4Mask("255.255.255.0"))
    there = ns.InetSocketAddress(addresses.Assign(devices).GetAddress(0), 9).ConvertTo()
    sink = ns.PacketSinkHelper("ns3::UdpSocketFactory", there).Install(nodes.Get(0)).Get(0)
    sink = sink.GetObject[ns.PacketSink]()
    source = ns.OnOffHelper("ns3::UdpSocketFactory", there)
    source.SetConstantRate(ns.DataRate(5_000_000 * case.mhz), 1_472)
    source.SetAttribute("StartTime", ns.TimeValue(ns.Seconds(0.1)))
    source.Install(nodes.Get(1))
    ns.Simulator.Stop(ns.Seconds(1))
    ns.Simulator.Run()
    before = sink.GetTotalRx()
    seconds = SECONDS.get(case.control, FIXED_SECONDS)
    ns.Simulator.Stop(ns.Seconds(seconds))
    ns.Simulator.Run()
    arrived = sink.GetTotalRx() - before
    ns.Simulator.Destroy()
    return arrived * 8 / seconds / 1e6


def lines(cases: list[Case]) -> list[str]:
    """Lines of the file; one process for all, as ns-3's Python needs half a minute to begin."""
    return [f"{case.letters} {case.mhz} {case.control} {case.dbm} {megabits(case):.3f}" for case in cases]


if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print("\n".join(pool.apply(lines, (CASES,))))
