"""Durations of HT, VHT and HE frames by ns-3 3.44: its WifiPhy::CalculateTxDuration over modulations and sizes.

With the PyPI package ns3 (3.44):
    python3 validation/ns3/durations.py > validation/ns3/durations.txt

The first line has the sizes of the frames [bytes]. Each other line has the standard's letter, MCS, streams, width
[MHz], guard interval [ns], and the duration of each size [ns]; HT has none of the last size, which is above its
longest frame. Of what ns-3 does not allow, VHT MCS 9 with three streams at 160 MHz is there all the same, for the
arithmetic.
"""

from ns import ns

SIZES = [1, 40, 328, 1_542, 12_000, 65_535, 1_048_575]
STANDARDS = {
    "n": (8, (20, 40), (400, 800), ns.WIFI_PREAMBLE_HT_MF, 6),
    "ac": (10, (20, 40, 80, 160), (400, 800), ns.WIFI_PREAMBLE_VHT_SU, 7),
    "ax": (12, (20, 40, 80, 160), (800, 1_600, 3_200), ns.WIFI_PREAMBLE_HE_SU, 7),
}


def mode(standard: str, mcs: int, streams: int) -> ns.WifiMode:
    """The mode of ns-3: HT's number counts the streams too."""
    if standard == "n":
        return ns.HtPhy.GetHtMcs(mcs + 8 * (streams - 1))
    return (ns.VhtPhy.GetVhtMcs if standard == "ac" else ns.HePhy.GetHeMcs)(mcs)


def durations(standard: str, mcs: int, streams: int, width: int, guard: int) -> list[int]:
    """Of each size [ns]; none, where ns-3 does not allow the modulation."""
    *_, preamble, sizes = STANDARDS[standard]
    vector = ns.WifiTxVector()
    vector.SetMode(mode(standard, mcs, streams))
    vector.SetPreambleType(preamble)
    vector.SetNss(streams)
    vector.SetChannelWidth(width)
    vector.SetGuardInterval(ns.NanoSeconds(guard))
    if not vector.IsValid() and (standard, mcs, streams, width) != ("ac", 9, 3, 160):
        return []
    calculate, band = ns.WifiPhy.CalculateTxDuration, ns.WIFI_PHY_BAND_5GHZ
    return [calculate(size, vector, band).GetNanoSeconds() for size in SIZES[:sizes]]


print("bytes", *SIZES)
for standard, (indices, widths, guards, _, _) in STANDARDS.items():
    for mcs in range(indices):
        for streams in range(1, 5):
            for width in widths:
                for guard in guards:
                    if found := durations(standard, mcs, streams, width, guard):
                        print(standard, mcs, streams, width, guard, *found)
