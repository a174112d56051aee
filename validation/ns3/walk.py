"""A station of 802.11a that walks out of range and back, by ns-3 3.44's WaypointMobilityModel.

With the PyPI package ns3 (3.44):
    python3 validation/ns3/walk.py > validation/ns3/walk.txt

The station has 1500-byte IP packets (1472 bytes of payload) for its receiver at any time, at 6 Mb/s. It stands 250 m
from it at 0 s, 350 m at 10 s and 250 m at 20 s; signals go 300 m. Each line has a second, counted from its beginning,
and the packets that arrive in it. The last line has the instants of the last arrival before the silence and of the
first one after it [s].
"""


def main() -> None:
    """Prints all lines."""
    from ns import ns

    ns.RngSeedManager.SetSeed(1)
    nodes = ns.NodeContainer()
    nodes.Create(2)
    channel = ns.CreateObject[ns.YansWifiChannel]()
    loss = ns.CreateObject[ns.RangePropagationLossModel]()
    loss.SetAttribute("MaxRange", ns.DoubleValue(300))
    channel.SetPropagationLossModel(loss)
    channel.SetPropagationDelayModel(ns.CreateObject[ns.ConstantSpeedPropagationDelayModel]())
    phy = ns.YansWifiPhyHelper()
    phy.SetChannel(channel)
    wifi = ns.WifiHelper()
    wifi.SetStandard(ns.WIFI_STANDARD_80211a)
    rate = ns.StringValue("OfdmRate6Mbps")
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", rate, "ControlMode", rate)
    mac = ns.WifiMacHelper()
    mac.SetType("ns3::AdhocWifiMac")
    devices = wifi.Install(phy, mac, nodes)
    still = ns.MobilityHelper()
    still.SetMobilityModel("ns3::ConstantPositionMobilityModel")
    still.Install(nodes.Get(0))
    moving = ns.MobilityHelper()
    moving.SetMobilityModel("ns3::WaypointMobilityModel")
    moving.Install(nodes.Get(1))
    track = nodes.Get(1).GetObject[ns.WaypointMobilityModel]()
    for at_s, x_m in [(0, 250), (10, 350), (20, 250)]:
        track.AddWaypoint(ns.Waypoint(ns.Seconds(at_s), ns.Vector(x_m, 0, 0)))
    ns.InternetStackHelper().Install(nodes)
    addresses = ns.Ipv4AddressHelper()
    addresses.SetBase(ns.Ipv4Address("10.0.0.0"), ns.Ipv4Mask("255.255.255.0"))
    interfaces = addresses.Assign(devices)
    there = ns.InetSocketAddress(interfaces.GetAddress(0), 9).ConvertTo()
    sink = ns.PacketSinkHelper("ns3::UdpSocketFactory", there).Install(nodes.Get(0)).Get(0)
    sink = sink.GetObject[ns.PacketSink]()
    source = ns.OnOffHelper("ns3::UdpSocketFactory", there)
    source.SetConstantRate(ns.DataRate(7_000_000), 1_472)
    source.Install(nodes.Get(1))
    totals = [0]
    for _ in range(2_000):
        ns.Simulator.Stop(ns.MilliSeconds(10))
        ns.Simulator.Run()
        totals.append(sink.GetTotalRx() // 1_472)
    for second in range(20):
        print(second, totals[100 * second + 100] - totals[100 * second])
    silent = [step for step in range(2_000) if totals[step + 1] == totals[step] and 400 < step < 1_600]
    print(silent[0] / 100, silent[-1] / 100 + 0.01)


if __name__ == "__main__":
    main()
