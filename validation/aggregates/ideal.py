#!/usr/bin/env python3
"""The law `ideal` beside ns-3's Ideal, by the strength of one station's signal.

    python3 validation/aggregates/ideal.py

Prints a table in Markdown. ns-3's figures are those of validation/ns3/strengths.txt; ours are of one run of 5 s of
wifi/signal, by the preset of ns-3, and by our own rules: the mode that delivers most. Needs evenair built by
`cargo build --release`.
"""

from __future__ import annotations

from pathlib import Path

from program import results

THEIRS = Path(__file__).parent.parent / "ns3/strengths.txt"
PAYLOAD_BITS = 1_472 * 8
SHOWN = {"n": range(-81, -70, 2), "ac": range(-81, -60, 2)}


def ours(letters: str, mhz: str, dbm: str, preset: str) -> float:
    """Payload that arrives [Mb/s]."""
    fastest = {"n": 7, "ac": 9}[letters]
    mac = f"mac={{ kind = '802.11{letters}', width = '{mhz} MHz', mcs = {fastest}, rate_control = 'ideal' }}"
    powers = [f"signals.0.power='{dbm} dBm'", "radio.receive_threshold='-82 dBm'"]
    changes = [mac, *powers, f"preset={preset}", "duration=5 s"]
    return results("wifi/signal", changes, 1, "--no-ledger")[0]["flows"][0]["goodput_pps"] * PAYLOAD_BITS / 1e6


def main() -> None:
    print("| standard | signal [dBm] | ns-3 [Mb/s] | ours, its rule [Mb/s] | difference [%] | ours [Mb/s] |")
    print("|---|---|---|---|---|---|")
    for line in THEIRS.read_text(encoding="utf-8").splitlines():
        letters, mhz, control, dbm, mbps = line.split()
        if control != "ideal" or int(dbm) not in SHOWN[letters]:
            continue
        alike, own = (ours(letters, mhz, dbm, preset) for preset in ("ns3", "standard"))
        difference = 100 * (alike / float(mbps) - 1)
        name = f"802.11{letters}, {mhz} MHz"
        print(f"| {name} | {dbm} | {float(mbps):.1f} | {alike:.1f} | {difference:+.1f} | {own:.1f} |")


if __name__ == "__main__":
    main()
