"""What the points of live.py say together: the table of docs/notes/transport.md.

    python3 validation/multiconn/summary.py validation/multiconn/points.csv

For each rate, over all points, those that lose by chance or in bursts, and the others: the geometric mean of what a
contender carries over one CUBIC of the same run, and the factor of its 95 % interval. Then each point.
"""

import csv
import math
import statistics
import sys

import matrix

LOSSY = ("loss-1", "loss-2", "loss-4", "loss-8", "bursts", "asymmetric")
STUDENT = {9: 2.31, 12: 2.20, 18: 2.11, 27: 2.06}
Row = dict[str, str]


def mean(rows: list[Row]) -> str:
    """A geometric mean, and its interval as a factor."""
    logs = [math.log(float(row["over_cubic"])) for row in rows]
    student = STUDENT.get(len(logs), 2.0)
    factor = math.exp(student * statistics.stdev(logs) / len(logs) ** 0.5)
    return f"{math.exp(statistics.mean(logs)):.3f} x/÷ {factor:.3f}"


def summary(file: str) -> None:
    """Prints both tables."""
    with open(file, newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["contender"] != matrix.BASELINE]
    contenders = list(dict.fromkeys(row["contender"] for row in rows))
    for rate in dict.fromkeys(row["rate_mbps"] for row in rows):
        there = [row for row in rows if row["rate_mbps"] == rate]
        kinds = {
            "all": there,
            "lossy": [row for row in there if row["path"] in LOSSY],
            "others": [row for row in there if row["path"] not in LOSSY],
        }
        for kind, some in kinds.items():
            own = {name: [row for row in some if row["contender"] == name] for name in contenders}
            said = "; ".join(f"{name} {mean(own[name])}" for name in contenders if len(own[name]) > 1)
            print(f"{rate} Mb/s, {kind} ({len(own[contenders[0]])} points): {said}")
        for path in dict.fromkeys(row["path"] for row in there):
            for rtt in dict.fromkeys(row["rtt_ms"] for row in there if row["path"] == path):
                point = [row for row in there if (row["path"], row["rtt_ms"]) == (path, rtt)]
                print(f"  {path} {rtt} ms:", ", ".join(f"{row['contender']} {row['over_cubic']}" for row in point))
        print(f"  late at most: {max(float(row['late']) for row in there)}")


if __name__ == "__main__":
    summary(sys.argv[1])
