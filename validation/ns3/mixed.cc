// A cell of an 802.11g access point, stations of 802.11g and stations of 802.11b: saturated UDP from each station, kb/s.
//
//   mixed --g=1 --b=1 [--active=gb] [--protection=1] [--seed=1] [--duration=20]
//
// `active` names the kinds of stations that send. Frames have 1500 bytes of IP. ns-3's beacons, associations and ARP stay.
#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/mobility-module.h>
#include <ns3/network-module.h>
#include <ns3/propagation-module.h>
#include <ns3/wifi-module.h>

#include <iostream>

using namespace ns3;

int
main(int argc, char** argv)
{
    uint32_t g = 1, b = 1, seed = 1;
    bool protection = true;
    double duration = 20;
    std::string active = "gb";
    CommandLine line;
    line.AddValue("g", "stations of 802.11g", g);
    line.AddValue("b", "stations of 802.11b", b);
    line.AddValue("active", "kinds that send", active);
    line.AddValue("protection", "CTS to self", protection);
    line.AddValue("seed", "run", seed);
    line.AddValue("duration", "seconds", duration);
    line.Parse(argc, argv);
    RngSeedManager::SetRun(seed);

    NodeContainer ap(1), gs(g), bs(b);
    YansWifiChannelHelper channel = YansWifiChannelHelper::Default();
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    phy.Set("ChannelSettings", StringValue("{1, 0, BAND_2_4GHZ, 0}"));
    auto wifi = [&](WifiStandard standard, const char* rate, const char* control) {
        WifiHelper helper;
        helper.SetStandard(standard);
        helper.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue(rate), "ControlMode",
                                       StringValue(control), "ErpProtectionMode", EnumValue(WifiRemoteStationManager::CTS_TO_SELF));
        return helper;
    };
    WifiMacHelper mac;
    Ssid ssid("mixed");
    NetDeviceContainer apDevice, gDevices, bDevices;
    mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(ssid), "QosSupported", BooleanValue(false));
    gDevices = wifi(WIFI_STANDARD_80211g, "ErpOfdmRate54Mbps", "DsssRate1Mbps").Install(phy, mac, gs);
    mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(ssid), "QosSupported", BooleanValue(false), "ShortSlotTimeSupported",
                BooleanValue(false));
    bDevices = wifi(WIFI_STANDARD_80211b, "DsssRate11Mbps", "DsssRate1Mbps").Install(phy, mac, bs);
    mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(ssid), "QosSupported", BooleanValue(false), "EnableNonErpProtection",
                BooleanValue(protection), "ShortSlotTimeSupported", BooleanValue(true));
    // It sends nothing but management and answers: at a rate that both kinds of stations decode.
    apDevice = wifi(WIFI_STANDARD_80211g, "DsssRate11Mbps", "DsssRate1Mbps").Install(phy, mac, ap);

    MobilityHelper mobility;
    auto places = CreateObject<ListPositionAllocator>();
    places->Add(Vector(0, 0, 0));
    for (uint32_t i = 0; i < g + b; i++)
    {
        places->Add(Vector(5 * std::cos(i * 1.7), 5 * std::sin(i * 1.7), 0));
    }
    mobility.SetPositionAllocator(places);
    NodeContainer all(ap, gs, bs);
    mobility.Install(all);
    InternetStackHelper().Install(all);
    Ipv4AddressHelper address("10.0.0.0", "255.255.255.0");
    auto apAddress = address.Assign(apDevice);
    address.Assign(gDevices);
    address.Assign(bDevices);

    NeighborCacheHelper().PopulateNeighborCache();
    std::vector<Ptr<PacketSink>> sinks;
    auto flow = [&](Ptr<Node> node, uint16_t port) {
        OnOffHelper source("ns3::UdpSocketFactory", InetSocketAddress(apAddress.GetAddress(0), port));
        source.SetConstantRate(DataRate("40Mbps"), 1472);
        source.SetAttribute("StartTime", TimeValue(Seconds(1 + 0.01 * (port - 5000))));
        source.Install(node);
        PacketSinkHelper sink("ns3::UdpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sinks.push_back(DynamicCast<PacketSink>(sink.Install(ap).Get(0)));
    };
    if (active.find('g') != std::string::npos)
        for (uint32_t i = 0; i < g; i++)
            flow(gs.Get(i), 5000 + i);
    if (active.find('b') != std::string::npos)
        for (uint32_t i = 0; i < b; i++)
            flow(bs.Get(i), 5100 + i);
    std::vector<uint64_t> before;
    Simulator::Schedule(Seconds(3), [&] {
        for (auto& sink : sinks)
            before.push_back(sink->GetTotalRx());
    });
    Simulator::Stop(Seconds(3 + duration));
    Simulator::Run();
    for (size_t i = 0; i < sinks.size(); i++)
        std::cout << (sinks[i]->GetTotalRx() - before[i]) / 1472.0 / duration << " ";
    std::cout << std::endl;
}
