// Nodes at given places, TCP and saturated UDP flows between them, under ns-3's own 802.11b.
//
//   mesh --places="0,0;200,0" --flows="tcp:1:0;udp:0:1" [--rate=1] [--bytes=1460] [--seed=1] [--duration=200] ...
//
// prints kb/s of application data per flow after the warm-up. Radio as in [Jam10]: two-ray ground, 24.5 dBm, frames above
// -64.37 dBm (250 m) are received, energy above the carrier-sense threshold makes the medium busy. Static routes along the
// shortest paths. What ns-3 decides in its own way stays so: interference by SINR and an error model per modulation, its
// TCP, its ARP.
#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/mobility-module.h>
#include <ns3/network-module.h>
#include <ns3/propagation-module.h>
#include <ns3/traffic-control-module.h>
#include <ns3/wifi-module.h>

#include <deque>
#include <iostream>
#include <sstream>

using namespace ns3;

namespace
{

std::vector<std::string> Split(const std::string& text, char by)
{
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, by);)
    {
        if (!part.empty())
        {
            parts.push_back(part);
        }
    }
    return parts;
}

/// Next hop of every node towards `to`, over hops of at most `range` metres; of equals the smallest number.
std::vector<int> NextHops(const std::vector<Vector>& at, int to, double range)
{
    std::vector<int> next(at.size(), -1);
    next[to] = to;
    std::deque<int> frontier{to};
    while (!frontier.empty())
    {
        const int node = frontier.front();
        frontier.pop_front();
        for (int near = 0; near < static_cast<int>(at.size()); near++)
        {
            if (next[near] < 0 && CalculateDistance(at[node], at[near]) <= range)
            {
                next[near] = node;
                frontier.push_back(near);
            }
        }
    }
    return next;
}

} // namespace

int main(int argc, char* argv[])
{
    std::string places = "0,0;200,0";
    std::string flows = "tcp:1:0";
    std::string rate = "1";
    std::string basic = "1";
    uint32_t bytes = 1460;
    uint32_t window = 20;
    uint32_t queue = 50;
    uint32_t rts = 999999;
    uint32_t seed = 1;
    double duration = 200;
    double warmup = 20;
    double sense = -78;
    double threshold = 4;
    CommandLine command(__FILE__);
    command.AddValue("places", "x,y of each node [m]", places);
    command.AddValue("flows", "tcp:FROM:TO or udp:FROM:TO (saturated)", flows);
    command.AddValue("rate", "data rate: 1, 2, 5_5 or 11 [Mb/s]", rate);
    command.AddValue("basic", "rate of control frames [Mb/s]", basic);
    command.AddValue("bytes", "payload of a TCP segment, network-layer size of a datagram", bytes);
    command.AddValue("window", "TCP's receiver window [segments]", window);
    command.AddValue("queue", "packets that wait at a node", queue);
    command.AddValue("rts", "RTS threshold [bytes]", rts);
    command.AddValue("seed", "run number", seed);
    command.AddValue("duration", "measured time [s]", duration);
    command.AddValue("warmup", "time before it [s]", warmup);
    command.AddValue("sense", "carrier-sense threshold [dBm]", sense);
    command.AddValue("threshold", "signal to noise and interference that a preamble needs [dB]", threshold);
    command.Parse(argc, argv);
    RngSeedManager::SetRun(seed);

    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", UintegerValue(rts));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(bytes));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window * bytes));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 20));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::ArpCache::AliveTimeout", TimeValue(Seconds(100000)));
    Config::SetDefault("ns3::ArpCache::DeadTimeout", TimeValue(Seconds(1)));

    std::vector<Vector> at;
    Ptr<ListPositionAllocator> allocator = CreateObject<ListPositionAllocator>();
    for (const auto& place : Split(places, ';'))
    {
        const auto xy = Split(place, ',');
        at.emplace_back(std::stod(xy[0]), std::stod(xy[1]), 1.5);
        allocator->Add(at.back());
    }
    NodeContainer nodes;
    nodes.Create(at.size());
    MobilityHelper mobility;
    mobility.SetPositionAllocator(allocator);
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(nodes);

    Ptr<YansWifiChannel> channel = CreateObject<YansWifiChannel>();
    Ptr<TwoRayGroundPropagationLossModel> loss = CreateObject<TwoRayGroundPropagationLossModel>();
    loss->SetFrequency(914e6);
    channel->SetPropagationLossModel(loss);
    channel->SetPropagationDelayModel(CreateObject<ConstantSpeedPropagationDelayModel>());
    YansWifiPhyHelper phy;
    phy.SetChannel(channel);
    for (const auto* power : {"TxPowerStart", "TxPowerEnd"})
    {
        phy.Set(power, DoubleValue(24.5));
    }
    // What is below the sensitivity does not even make the medium busy; what the preamble detection refuses does.
    phy.Set("RxSensitivity", DoubleValue(sense));
    phy.Set("CcaEdThreshold", DoubleValue(sense));
    phy.SetPreambleDetectionModel("ns3::ThresholdPreambleDetectionModel",
                                  "MinimumRssi",
                                  DoubleValue(-64.37),
                                  "Threshold",
                                  DoubleValue(threshold));
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211b);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode",
                                 StringValue("DsssRate" + rate + "Mbps"),
                                 "ControlMode",
                                 StringValue("DsssRate" + basic + "Mbps"));
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac", "QosSupported", BooleanValue(false));
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, queue)));
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);

    InternetStackHelper internet;
    internet.Install(nodes);
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.0.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    TrafficControlHelper().Uninstall(devices); // FqCoDel would come with the addresses
    Ipv4StaticRoutingHelper routing;
    for (int to = 0; to < static_cast<int>(at.size()); to++)
    {
        const auto next = NextHops(at, to, 250.5);
        for (int from = 0; from < static_cast<int>(at.size()); from++)
        {
            if (from != to && next[from] >= 0 && next[from] != to)
            {
                routing.GetStaticRouting(nodes.Get(from)->GetObject<Ipv4>())
                    ->AddHostRouteTo(interfaces.GetAddress(to), interfaces.GetAddress(next[from]), 1);
            }
        }
    }

    std::vector<Ptr<PacketSink>> sinks;
    uint16_t port = 5000;
    for (const auto& flow : Split(flows, ';'))
    {
        const auto part = Split(flow, ':');
        const int from = std::stoi(part[1]);
        const int to = std::stoi(part[2]);
        const bool tcp = part[0] == "tcp";
        const std::string factory = tcp ? "ns3::TcpSocketFactory" : "ns3::UdpSocketFactory";
        const InetSocketAddress address(interfaces.GetAddress(to), port++);
        PacketSinkHelper sink(factory, InetSocketAddress(Ipv4Address::GetAny(), address.GetPort()));
        sinks.push_back(DynamicCast<PacketSink>(sink.Install(NodeContainer(nodes.Get(to))).Get(0)));
        const double start = 1 + 0.1 * sinks.size();
        if (tcp)
        {
            BulkSendHelper source(factory, address);
            source.SetAttribute("SendSize", UintegerValue(bytes));
            source.Install(NodeContainer(nodes.Get(from))).Start(Seconds(start));
        }
        else
        {
            // A packet of `bytes` at the network layer: 28 of them headers; far more than the air takes.
            OnOffHelper source(factory, address);
            source.SetConstantRate(DataRate(rate == "11" ? "8Mbps" : "2Mbps"), bytes - 28);
            source.Install(NodeContainer(nodes.Get(from))).Start(Seconds(start));
        }
    }
    std::vector<uint64_t> before(sinks.size());
    Simulator::Schedule(Seconds(warmup), [&] {
        for (std::size_t i = 0; i < sinks.size(); i++)
        {
            before[i] = sinks[i]->GetTotalRx();
        }
    });
    Simulator::Stop(Seconds(warmup + duration));
    Simulator::Run();
    std::cout << seed;
    for (std::size_t i = 0; i < sinks.size(); i++)
    {
        std::cout << " " << 8.0 * (sinks[i]->GetTotalRx() - before[i]) / duration / 1000;
    }
    std::cout << std::endl;
    Simulator::Destroy();
    return 0;
}
