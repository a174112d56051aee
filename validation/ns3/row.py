"""Three access points in a row by ns-3 3.44, 802.11ax: payload of each link [Mb/s].

With the PyPI package ns3 (3.44):
    python3 validation/ns3/row.py > validation/ns3/row.txt

Each line has the distance between neighbours [m], the seed, and what the links on the left, in the middle and on the
right bring their stations in 10 s after one second. A station is 2 m from its access point, at right angles to the
row. All send at HE MCS 5, 20 MHz, 800 ns, 20 dBm; a signal loses 46.68 dB over the first metre, and 35 dB with every
further factor of ten. Aggregates have at most 65 535 bytes.
"""

import multiprocessing

DISTANCES = (10, 20, 30, 40)
SEEDS = (1, 2, 3)
SECONDS = 10


def links(distance: int, seed: int) -> list[float]:
    """The payload of each link [Mb/s]."""
    from ns import ns

    ns.RngSeedManager.SetSeed(seed)
    nodes = ns.NodeContainer()
    nodes.Create(6)
    channel = ns.CreateObject[ns.YansWifiChannel]()
    loss = ns.CreateObject[ns.LogDistancePropagationLossModel]()
    loss.SetPathLossExponent(3.5)
    loss.SetReference(1, 46.68)
    channel.SetPropagationLossModel(loss)
    channel.SetPropagationDelayModel(ns.CreateObject[ns.ConstantSpeedPropagationDelayModel]())
    phy = ns.YansWifiPhyHelper()
    phy.SetChannel(channel)
    phy.Set("ChannelSettings", ns.StringValue("{0, 20, BAND_5GHZ, 0}"))
    phy.Set("TxPowerStart", ns.DoubleValue(20))
    phy.Set("TxPowerEnd", ns.DoubleValue(20))
    wifi = ns.WifiHelper()
    wifi.SetStandard(ns.WIFI_STANDARD_80211ax)
    wifi.SetRemoteStationManager(
        "ns3::ConstantRateWifiManager",
        "DataMode",
        ns.StringValue("HeMcs5"),
        "ControlMode",
        ns.StringValue("OfdmRate24Mbps"),
    )
    mac = ns.WifiMacHelper()
    mac.SetType("ns3::AdhocWifiMac", "BE_MaxAmpduSize", ns.UintegerValue(65_535))
    devices = wifi.Install(phy, mac, nodes)
    for index in range(devices.GetN()):
        interval = ns.TimeValue(ns.NanoSeconds(800))
        devices.Get(index).GetHeConfiguration().SetAttribute("GuardInterval", interval)
    places = ns.CreateObject[ns.ListPositionAllocator]()
    for side in (0, 2):
        for link in range(3):
            places.Add(ns.Vector(distance * link, side, 0))
    mobility = ns.MobilityHelper()
    mobility.SetPositionAllocator(places)
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel")
    mobility.Install(nodes)
    ns.InternetStackHelper().Install(nodes)
    addresses = ns.Ipv4AddressHelper()
    addresses.SetBase(ns.Ipv4Address("10.0.0.0"), ns.Ipv4Mask("255.255.255.0"))
    interfaces = addresses.Assign(devices)
    sinks = []
    for link in range(3):
        there = ns.InetSocketAddress(interfaces.GetAddress(3 + link), 9).ConvertTo()
        installed = ns.PacketSinkHelper("ns3::UdpSocketFactory", there).Install(nodes.Get(3 + link))
        sinks.append(installed.Get(0).GetObject[ns.PacketSink]())
        source = ns.OnOffHelper("ns3::UdpSocketFactory", there)
        source.SetConstantRate(ns.DataRate(100_000_000), 1_472)
        source.SetAttribute("StartTime", ns.TimeValue(ns.Seconds(0.1 + 0.01 * link)))
        source.Install(nodes.Get(link))
    ns.Simulator.Stop(ns.Seconds(1))
    ns.Simulator.Run()
    before = [sink.GetTotalRx() for sink in sinks]
    ns.Simulator.Stop(ns.Seconds(SECONDS))
    ns.Simulator.Run()
    return [(sink.GetTotalRx() - then) * 8 / SECONDS / 1e6 for sink, then in zip(sinks, before, strict=True)]


def line(distance: int, seed: int) -> str:
    """A line of the file."""
    return " ".join([str(distance), str(seed), *(f"{mbps:.2f}" for mbps in links(distance, seed))])


if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        runs = [pool.apply_async(line, (distance, seed)) for distance in DISTANCES for seed in SEEDS]
        for run in runs:
            print(run.get(), flush=True)
