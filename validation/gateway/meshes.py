#!/usr/bin/env python3
"""Random meshes that nobody chose, behind a gateway of each kind: the tables of docs/notes/gateway-simulated.md.

    validation/gateway/meshes.py [FIRST [COUNT]]

Draws COUNT meshes (10) from the seeds FIRST (101) on, as scenarios/gateway/mixed-*.toml were drawn: 22 nodes on a
square of 900 m around the gateway, five downloads, three uploads, six who browse, two calls, one who leaves, one who
comes, one link that loses 15 %. Needs evenair built by `cargo build --release`, or the variable EVENAIR; a mesh takes
some 20 s on one core.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
from collections import deque
from math import hypot
from pathlib import Path
from statistics import fmean

ROOT = Path(__file__).parent.parent.parent
EVENAIR = os.environ.get("EVENAIR", str(ROOT / "target/release/evenair"))
RANGE_M, SIDE_M, NODES = 250, 900, 22

GATEWAYS = {
    "FIFO": [],
    "fq_codel": ["queues=[{ nodes = ['0'], queue = { discipline = 'fq-codel' } }]"],
    "PFRC, the thesis's form": ["gateway={ node = '0', law = { law = 'pfrc', form = 'thesis' } }"],
    "PFRC": ["gateway={ node = '0', law = 'pfrc' }"],
    "ARC": ["gateway={ node = '0', law = 'arc' }"],
    "a cap by delay": ["gateway={ node = '0', law = 'delay-cap' }"],
}


def ways(at: list[tuple[int, int]]) -> list[list[int]]:
    """The nodes between the gateway and each other one, by fewest hops; the lower number where several are as near."""
    before = {0: 0}
    queue = deque([0])
    while queue:
        here = queue.popleft()
        for there in range(len(at)):
            if there not in before and hypot(*(a - b for a, b in zip(at[here], at[there], strict=True))) <= RANGE_M:
                before[there] = here
                queue.append(there)
    between = []
    for node in range(len(at)):
        way, here = [], node
        while here in before and before[here] != 0:
            here = before[here]
            way.insert(0, here)
        between.append(way if node in before else None)
    return between


def mesh(seed: int) -> str:
    """A scenario; meshes that do not hang together are drawn again."""
    draw = random.Random(seed)
    while True:
        at = [(SIDE_M // 2, SIDE_M // 2)]
        at += [(draw.randrange(SIDE_M), draw.randrange(SIDE_M)) for _ in range(NODES - 1)]
        between = ways(at)
        if None not in between:
            break
    who = draw.sample(range(1, NODES), 18)
    web = 'traffic = "web", web = { interval = "10 s", arrivals = "poisson" }'
    call = 'traffic = "cbr", rate = "64 kbps", size = "200 bytes", jitter = 0.5'
    kinds = [("down", "")] * 5 + [("up", "")] * 3 + [("web", web)] * 6 + [("udp", call)] * 2
    kinds += [("leaves", 'active = [["0 s", "250 s"]]'), ("comes", 'active = [["300 s", "500 s"]]')]
    flows = []
    for node, (kind, more) in zip(who, kinds, strict=True):
        from_user = kind in ("up", "web")
        ends = (node, 0) if from_user else (0, node)
        via = between[node][::-1] if from_user else between[node]
        hops = ", ".join(f'"{hop}"' for hop in via)
        extra = f", {more}" if more else ""
        flows.append(f'  {{ id = "{kind}-{node}", from = "{ends[0]}", to = "{ends[1]}", via = [{hops}]{extra} }},')
    lossy = who[0]
    last = (between[lossy] or [0])[-1]
    nodes = "\n".join(f'  {{ id = "{n}", at = [{x}, {y}] }},' for n, (x, y) in enumerate(at))
    return f"""name = "Drawn mesh {seed}"
duration = "300 s"
warmup = "200 s"
start_jitter = "5 s"
radio = {{ transmission_range = "250 m", carrier_sense_range = "550 m" }}
mac = {{ kind = "802.11a", data_rate = "12 Mbps", queue = "50 packets" }}
tcp = {{ window = "cubic", receiver_window = "256 packets", payload = "1448 bytes", headers = "52 bytes" }}
losses = [ {{ from = "{lossy}", to = "{last}", loss = "15%" }} ]
nodes = [
{nodes}
]
flows = [
{chr(10).join(flows)}
]
"""


def look(scenario: Path, changes: list[str]) -> dict[str, float]:
    """One run: the worst bulk transfer and all together [kb/s], pages and how long they took, the worst call."""
    command = [EVENAIR, "run", str(scenario), "--json"]
    for change in changes:
        command += ["--set", change]
    flows = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)["flows"]
    of = {kind: [f for f in flows if f["flow"].startswith(kind)] for kind in ("down", "up", "web", "udp")}
    pages = [f["transfers"] for f in of["web"]]
    asked = sum(page["requests"] for page in pages)
    return {
        "worst": min(f["goodput_bps"] for f in of["down"] + of["up"]) / 1e3,
        "total": sum(f["goodput_bps"] for f in flows) / 1e3,
        "pages": sum(page["completed"] for page in pages) / asked,
        "p95": max(page.get("took", {"p95_s": 300.0})["p95_s"] for page in pages),
        "call": min(f["goodput_bps"] for f in of["udp"]) / 64e3,
    }


def main() -> None:
    first, count = (int(word) for word in (sys.argv[1:] + ["101", "10"][len(sys.argv) - 1 :])[:2])
    seen: dict[str, list[dict[str, float]]] = {name: [] for name in GATEWAYS}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            scenario = Path(folder) / f"{seed}.toml"
            scenario.write_text(mesh(seed))
            for name, changes in GATEWAYS.items():
                seen[name].append(look(scenario, changes))
                print(seed, name, {key: round(value, 2) for key, value in seen[name][-1].items()}, file=sys.stderr)
    print(
        "| gateway | worst bulk [kb/s]: mean, least | total [kb/s] | pages | slowest browser's p95 [s] | worst call |"
    )
    print("|---|---|---|---|---|---|")
    for name, runs in seen.items():
        mean = {key: fmean(run[key] for run in runs) for key in runs[0]}
        least = min(run["worst"] for run in runs)
        print(
            f"| {name} | {mean['worst']:.0f}, {least:.0f} | {mean['total']:.0f} "
            f"| {mean['pages']:.2f} | {mean['p95']:.1f} | {mean['call']:.2f} |"
        )


if __name__ == "__main__":
    main()
