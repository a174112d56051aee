//! Features that evenair lacks, and words that mean something that it has under another name.

/// Features of other programs that evenair lacks, and the words by which they are asked for, in small letters without signs between.
const NOT_BUILT: &[(&str, &[&str])] = &[
    (
        "802.11be and later, OFDMA, several users at once and spatial reuse; evenair has one user per transmission",
        &[
            "80211be",
            "80211p",
            "80211ah",
            "be",
            "wifi7",
            "mimo",
            "antennas",
            "ofdma",
            "ru",
            "mumimo",
            "sumimo",
            "beamforming",
            "beamformer",
            "stbc",
            "ldpc",
            "greenfield",
            "puncturing",
            "preamblepuncturing",
            "dcm",
            "mlo",
            "multilink",
            "channelbonding",
            "bonding",
            "spatialreuse",
            "bsscolor",
            "bsscolour",
            "bsscoloring",
            "obsspd",
            "eht",
            "uhr",
            "wifi8",
        ],
    ),
    (
        "fragmentation; a packet is one frame, so make `tcp.payload` or the flow's `size` smaller",
        &[
            "fragmentation",
            "fragmentationthreshold",
            "fragment",
            "fragments",
            "fragthreshold",
            "frag",
            "fragmentthreshold",
        ],
    ),
    (
        "protection of OFDM beside 802.11b; all stations of a scenario have one kind of MAC",
        &[
            "ctstoself",
            "cts2self",
            "protection",
            "protectionmode",
            "erpprotection",
            "useprotection",
            "mixedmode",
        ],
    ),
    (
        "management frames: no beacons, scanning, association or roaming; stations are there from the start",
        &[
            "beacon",
            "beacons",
            "beaconinterval",
            "ssid",
            "bssid",
            "bss",
            "ibss",
            "association",
            "associate",
            "authentication",
            "roaming",
            "handover",
            "handoff",
            "scan",
            "scanning",
            "bandsteering",
            "tim",
            "dtim",
            "dtimperiod",
            "accesspoint",
            "ap",
            "80211k",
            "80211r",
            "80211v",
        ],
    ),
    (
        "encryption; frames have the length of unencrypted ones",
        &[
            "encryption",
            "security",
            "wep",
            "wpa",
            "wpa2",
            "wpa3",
            "wpapsk",
            "tkip",
            "ccmp",
            "psk",
            "passphrase",
            "password",
            "80211i",
            "80211w",
        ],
    ),
    (
        "mesh networking of 802.11s; give routes by `via`, or let them have the fewest hops",
        &["80211s", "mesh", "meshpoint", "hwmpprotocol"],
    ),
    (
        "choice of channels; a node stays on the channel that `mac.channel` or its own `channel` gives",
        &["dfs", "acs", "channelselection", "autochannel", "channelswitch"],
    ),
    (
        "antennas with a direction or a gain; give `transmit_power`, or powers by `signals`",
        &[
            "antennagain",
            "txgain",
            "rxgain",
            "gaintx",
            "gainrx",
            "antennapattern",
            "directional",
            "sectors",
            "azimuth",
            "beamwidth",
        ],
    ),
    (
        "echo requests; a flow of small datagrams each way has delays (traffic = \"cbr\", `evenair run --times`)",
        &["ping", "icmp", "icmpecho", "echo", "icmp6"],
    ),
    (
        "this model of a conversation; a call is traffic = \"cbr\", G.711 with size = \"200 bytes\", interval = \"20 ms\" each way",
        &["voip", "voice", "call", "g711", "g729", "sip", "telephony", "talkspurt"],
    ),
    (
        "this model of video; traffic = \"on-off\", \"poisson\" or tcp with `application_rate` come near",
        &["video", "streaming", "dash", "hls", "mpeg", "h264", "youtube", "vbr"],
    ),
    (
        "this model of games; small datagrams are traffic = \"cbr\" or \"poisson\"",
        &["gaming", "game", "games"],
    ),
    (
        "self-similar traffic; traffic = \"on-off\" has stretches of exponential length",
        &["pareto", "selfsimilar", "weibull", "fractal", "mmpp"],
    ),
    (
        "A-MSDU, as each packet of an aggregate is an MPDU of its own; the table aggregation has A-MPDUs, in which packets share a frame",
        &["amsdu", "amsdusize", "maxamsdusize"],
    ),
    (
        "bursts of frames; the table aggregation has A-MPDUs, in which packets share a frame",
        &["ampdu", "blockack", "blockacks", "framebursting", "frameaggregation", "ampdusize", "maxampdusize"],
    ),
    (
        "this model of fading or path loss; see `propagation`, `shadowing` and `fading` of [radio]",
        &["rice", "okumurahata", "cost231", "buildings", "obstacles", "jakes"],
    ),
    (
        "routing protocols; routes have the fewest hops, or are given by `via`",
        &[
            "routing",
            "aodv",
            "olsr",
            "dsr",
            "dsdv",
            "batman",
            "babel",
            "hwmp",
            "rpl",
            "ospf",
            "etx",
            "routingprotocol",
        ],
    ),
    (
        "this rate control; `mac.rate_control` has fixed, ideal, arf, aarf and minstrel-ht",
        &["onoe", "cara", "rraa", "samplerate", "iwlmvm", "amrr"],
    ),
    (
        "this transport; evenair has TCP, of several connections and window laws, and TFRC",
        &["mptcp", "multipathtcp", "quic", "sctp", "dccp", "rtp", "webrtc", "http2", "http3"],
    ),
    (
        "this window law",
        &[
            "bbr2",
            "bbr3",
            "bbrv1",
            "bbrv2",
            "bbrv3",
            "dctcp",
            "ledbat",
            "lp",
            "htcp",
            "hybla",
            "westwood",
            "westwoodplus",
            "veno",
            "yeah",
            "illinois",
            "bic",
            "scalable",
            "highspeed",
            "hstcp",
            "compound",
            "ctcp",
            "copa",
            "pcc",
            "vivace",
            "prague",
            "nv",
            "cdg",
            "tahoe",
        ],
    ),
    (
        "this discipline of queues",
        &["blue", "sfb", "choke", "hfsc", "htb", "sfq", "fqpie", "dualpi2", "prio"],
    ),
    ("power saving", &["powersave", "powersaving", "psm", "energy", "battery", "sleep", "twt"]),
    (
        "scheduled access to the air",
        &[
            "tdma",
            "pcf",
            "hcca",
            "polling",
            "aloha",
            "slottedaloha",
            "zigbee",
            "802154",
            "lorawan",
            "lte",
            "5g",
        ],
    ),
];

/// The keys of 802.11n, ac and ax.
const MODULATION: &str = "802.11n, ac and ax are `mac.kind`, with `mcs`, `streams`, `width` and `guard_interval`, per link in `rates`";

/// Words of other programs, in small letters without signs between, for things that have another name here.
const OTHERWISE: &[(&str, &[&str])] = &[
    (
        "a flow is TCP by default; datagrams are traffic = \"saturated\", \"cbr\", \"poisson\" or \"on-off\"",
        &["protocol", "transport", "transportprotocol", "socket"],
    ),
    (
        "datagrams are traffic = \"saturated\", \"cbr\", \"poisson\" or \"on-off\"",
        &["udp", "datagram", "datagrams", "iperf", "iperf3"],
    ),
    ("constant bit rate is traffic = \"cbr\"", &["constant", "constantrate", "periodic", "deterministic"]),
    (
        "exponential times between packets are traffic = \"poisson\"",
        &["exponential", "exp", "random", "markov"],
    ),
    (
        "a transfer is traffic = \"tcp\" with transfer = \"5 MB\"",
        &["ftp", "bulk", "file", "download", "upload", "filetransfer"],
    ),
    ("browsing is traffic = \"web\"", &["http", "https", "browsing", "www", "html"]),
    (
        "always something to send is traffic = \"saturated\"",
        &["full", "backlogged", "fullbuffer", "greedy", "infinite"],
    ),
    (
        "EDCA is backoff.law = \"edca\", with a `category` for each flow",
        &["edca", "qos", "wmm", "wme", "80211e", "priority", "accesscategory"],
    ),
    (
        "rate control is `mac.rate_control`, of single links `rate_control` in `rates`: fixed, ideal, arf, aarf or minstrel-ht",
        &[
            "minstrel",
            "minstrelht",
            "aarf",
            "arf",
            "ratecontrol",
            "rateadaptation",
            "ratemanager",
            "autorate",
        ],
    ),
    ("a channel is `mac.channel`, or `channel` of a node", &["channel", "channels", "channelnumber"]),
    (
        MODULATION,
        &[
            "80211n",
            "80211ac",
            "80211ax",
            "n",
            "ac",
            "ax",
            "ht",
            "vht",
            "he",
            "wifi4",
            "wifi5",
            "wifi6",
            "wifi6e",
            "mcsindex",
            "channelwidth",
            "guardinterval",
            "shortgi",
            "sgi",
            "gi",
            "spatialstreams",
            "spatialstream",
            "nss",
            "htmode",
        ],
    ),
    ("a flow's source is `from`", &["src", "source", "sender"]),
    ("a flow's destination is `to`", &["dst", "dest", "destination", "receiver", "sink"]),
    ("how many seeds is no key of a scenario; run it with `--seeds 5`", &["seeds", "runs", "repetitions"]),
    (
        "ranges are `radio.transmission_range` and `radio.carrier_sense_range`",
        &["range", "radius", "txrange", "transmissionradius", "communicationrange"],
    ),
    (
        "RTS and CTS are `mac.rts_threshold`, for all frames \"0 bytes\"",
        &["rts", "rtscts", "usertscts", "cts"],
    ),
    ("a transmit power is `transmit_power`", &["txpower", "power", "txpowerdbm", "transmitpowerdbm"]),
    (
        "a position is `at = [east, north]`, in metres",
        &["position", "pos", "location", "coordinates", "xy", "x", "y", "z", "lat", "lon"],
    ),
    (
        "the rate of a wire is `rate`, that of the air `mac.data_rate`",
        &["bandwidth", "capacity", "speedmbps", "datarate", "phyrate", "bitrate"],
    ),
    (
        "nodes move by `tracks` and `walks`",
        &["velocity", "speed", "waypoints", "waypoint", "randomwaypoint", "track", "walk", "movement"],
    ),
    ("fading is `radio.fading`", &["fading", "rayleigh", "rician", "nakagami", "doppler"]),
    ("the time that a wire takes is `delay`", &["latency", "propagationdelay", "rtt"]),
    (
        "the size of a packet is tcp.payload, and the flow's `size` for datagrams",
        &["mtu", "mss", "packetsize", "framesize", "pktsize"],
    ),
    (
        "the size of a queue is `queue` or `queue.limit`",
        &["buffer", "buffersize", "queuesize", "queuelength", "queuelen", "txqueuelen", "ifqlen"],
    ),
];

/// The feature that a word asks for, if evenair lacks it.
pub(super) fn not_built(asked: &str) -> Option<&'static str> {
    let of_list = NOT_BUILT.iter().find(|(_, words)| words.contains(&asked)).map(|(what, _)| *what);
    of_list.or_else(|| is_of_later_wifi(asked).then_some(NOT_BUILT[0].0))
}

/// The name here for a word of other programs.
pub(super) fn called_otherwise(asked: &str) -> Option<&'static str> {
    let of_list = OTHERWISE.iter().find(|(_, words)| words.contains(&asked)).map(|(name, _)| *name);
    of_list.or_else(|| is_of_modulation(asked).then_some(MODULATION))
}

/// Words with numbers in them: MCS7, VHT-MCS 9, HT40, HE80.
fn is_of_modulation(asked: &str) -> bool {
    let is_number = |rest: &str| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit());
    let of_format = ["vht", "ht", "he"].iter().find_map(|format| asked.strip_prefix(format));
    let index = of_format.unwrap_or(asked).strip_prefix("mcs");
    index.is_some_and(is_number) || of_format.is_some_and(is_number)
}

/// Words with numbers in them: EHT320, EHT-MCS 13, 802.11bn.
fn is_of_later_wifi(asked: &str) -> bool {
    let of_format = asked.strip_prefix("eht").map(|rest| rest.strip_prefix("mcs").unwrap_or(rest));
    let amendment = asked.strip_prefix("80211").unwrap_or_default();
    of_format.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
        || (!amendment.is_empty()
            && !["a", "b", "g", "e", "n", "ac", "ax"].contains(&amendment)
            && amendment.chars().all(char::is_alphabetic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_todays_wifi_are_not_built() {
        for word in ["eht320", "ehtmcs13", "80211be", "80211bn", "ofdma", "mumimo", "bsscolor", "mlo"] {
            assert_eq!(not_built(word), Some(NOT_BUILT[0].0), "{word}");
        }
        for word in ["mcs7", "mcs0", "vhtmcs9", "hemcs11", "ht40", "vht80", "he160", "80211n", "wifi6", "nss"]
        {
            assert_eq!((not_built(word), called_otherwise(word)), (None, Some(MODULATION)), "{word}");
        }
        for word in
            ["fragmentationthreshold", "voip", "ping", "beaconinterval", "wpa3", "80211s", "antennagain"]
        {
            assert!(not_built(word).is_some_and(|what| what != NOT_BUILT[0].0), "{word}");
        }
        for word in [
            "80211a", "80211b", "80211g", "80211e", "height", "held", "11mbps", "cbr", "poisson", "hello",
            "tcp", "hidden",
        ] {
            assert_eq!(not_built(word), None, "{word}");
            assert_ne!(called_otherwise(word), Some(MODULATION), "{word}");
        }
    }

    #[test]
    fn a_word_is_in_one_list_once() {
        let words: Vec<&str> =
            NOT_BUILT.iter().chain(OTHERWISE).flat_map(|(_, words)| *words).copied().collect();
        for (i, word) in words.iter().enumerate() {
            assert!(!words[..i].contains(word), "{word} is there twice");
            assert!(
                word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()),
                "{word} could never be asked for"
            );
        }
    }
}
