"""Saturated cells of 802.11n, ac and ax by ns-3 3.44 without aggregation: payload that arrives [Mb/s].

With the PyPI package ns3 (3.44):
    python3 validation/ns3/modulated.py > validation/ns3/modulated.txt

Each line has the standard's letters, the width [MHz], the MCS, the number of stations, the seed, and what they bring
to one receiver together in 4 s. All are received with -50 dBm and send 1500-byte IP packets (1472 bytes of payload)
as best effort; the guard interval is 800 ns, frames are answered at the fastest of 6, 12 and 24 Mb/s that the
standard allows, and no A-MPDU is made.
"""

import multiprocessing
from typing import NamedTuple

CASES = [
    ("n", 20, 7, 1),
    ("ac", 20, 0, 1),
    ("ac", 80, 9, 1),
    ("ax", 80, 11, 1),
    ("ac", 80, 9, 5),
]
SEEDS = (1, 2)
SECONDS = 4


class Aggregates(NamedTuple):
    """Aggregates of at most so many bytes, and whether a missing block acknowledgement is asked for."""

    bytes: int
    asks: bool = True


ALONE = Aggregates(0)
"""One packet a frame."""


def megabits(
    case: tuple[str, int, int, int],
    seed: int,
    measured: int = SECONDS,
    offered: int = 100_000_000,
    aggregates: Aggregates = ALONE,
) -> float:
    """What arrives in one cell [Mb/s] in so many seconds after the first; each station offers so much [bit/s]."""
    from ns import ns

    letters, width, mcs, stations = case
    ns.RngSeedManager.SetSeed(seed)
    rule = "ns3::QosTxop::UseExplicitBarAfterMissedBlockAck"
    ns.Config.SetDefault(rule, ns.BooleanValue(aggregates.asks))
    nodes = ns.NodeContainer()
    nodes.Create(stations + 1)
    channel = ns.CreateObject[ns.YansWifiChannel]()
    loss = ns.CreateObject[ns.FixedRssLossModel]()
    loss.SetRss(-50)
    channel.SetPropagationLossModel(loss)
    channel.SetPropagationDelayModel(ns.CreateObject[ns.ConstantSpeedPropagationDelayModel]())
    phy = ns.YansWifiPhyHelper()
    phy.SetChannel(channel)
    phy.Set("ChannelSettings", ns.StringValue(f"{{0, {width}, BAND_5GHZ, 0}}"))
    wifi = ns.WifiHelper()
    standards = {"n": ns.WIFI_STANDARD_80211n, "ac": ns.WIFI_STANDARD_80211ac, "ax": ns.WIFI_STANDARD_80211ax}
    wifi.SetStandard(standards[letters])
    mode = {"n": "HtMcs", "ac": "VhtMcs", "ax": "HeMcs"}[letters] + str(mcs)
    answers = "OfdmRate6Mbps" if mcs == 0 else "OfdmRate24Mbps"
    wifi.SetRemoteStationManager(
        "ns3::ConstantRateWifiManager", "DataMode", ns.StringValue(mode), "ControlMode", ns.StringValue(answers)
    )
    mac = ns.WifiMacHelper()
    mac.SetType("ns3::AdhocWifiMac", "BE_MaxAmpduSize", ns.UintegerValue(aggregates.bytes))
    devices = wifi.Install(phy, mac, nodes)
    if letters == "ax":
        for index in range(devices.GetN()):
            interval = ns.TimeValue(ns.NanoSeconds(800))
            devices.Get(index).GetHeConfiguration().SetAttribute("GuardInterval", interval)
    mobility = ns.MobilityHelper()
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel")
    mobility.Install(nodes)
    ns.InternetStackHelper().Install(nodes)
    addresses = ns.Ipv4AddressHelper()
    addresses.SetBase(ns.Ipv4Address("10.0.0.0"), ns.Ipv4Mask("255.255.255.0"))
    interfaces = addresses.Assign(devices)
    there = ns.InetSocketAddress(interfaces.GetAddress(0), 9).ConvertTo()
    sinks = ns.PacketSinkHelper("ns3::UdpSocketFactory", there).Install(nodes.Get(0))
    for index in range(1, stations + 1):
        source = ns.OnOffHelper("ns3::UdpSocketFactory", there)
        source.SetConstantRate(ns.DataRate(offered), 1_472)
        source.SetAttribute("StartTime", ns.TimeValue(ns.Seconds(0.1 + 0.01 * index)))
        source.Install(nodes.Get(index))
    sink = sinks.Get(0).GetObject[ns.PacketSink]()
    ns.Simulator.Stop(ns.Seconds(1))
    ns.Simulator.Run()
    before = sink.GetTotalRx()
    ns.Simulator.Stop(ns.Seconds(measured))
    ns.Simulator.Run()
    return (sink.GetTotalRx() - before) * 8 / measured / 1e6


def line(case: tuple[str, int, int, int], seed: int) -> str:
    """A line of the file."""
    return " ".join(map(str, (*case, seed, round(megabits(case, seed), 3))))


if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        runs = [pool.apply_async(line, (case, seed)) for case in CASES for seed in SEEDS]
        for run in runs:
            print(run.get(), flush=True)
