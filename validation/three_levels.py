"""Search for trees of [Jam10] Fig 7.6a whose max-min rates are R/3, R/6 twice and R/12 four times.

The figure is lost. A tree has a gateway, a branch of relays with two leaves, one with four, and node 1 at one or two
hops or on a branch. Leaves stand in a star, in lines or behind two more branches. Links have R or 2R. Collision domains
are those of section 7.2.2: links contend if an end of one reaches an end of the other.

    python3 validation/three_levels.py [--most-nodes 16]
"""

import argparse
from collections.abc import Iterator
from typing import NamedTuple

WANTED = [1 / 3, 1 / 6, 1 / 6, 1 / 12, 1 / 12, 1 / 12, 1 / 12]
LEAVES = "234567"


class Tree(NamedTuple):
    """Parents of nodes, and the node at which each flow begins."""

    name: str
    parents: dict[str, str]
    sources: dict[str, str]

    def path(self, flow: str) -> list[str]:
        """Links of a flow; a link is named by its lower node."""
        node, links = self.sources[flow], []
        while node != "GW":
            links.append(node)
            node = self.parents[node]
        return links


def chain(parents: dict[str, str], start: str, name: str, length: int) -> str:
    """Adds relays in a row, and returns the last one."""
    for i in range(1, length + 1):
        parents[f"{name}{i}"] = start
        start = f"{name}{i}"
    return start


def leaves(parents: dict[str, str], names: str, last: str, shape: str) -> None:
    """Adds leaves behind a relay."""
    if shape == "line":
        for name in names:
            parents[name], last = last, name
    elif shape == "pairs":
        parents.update({"4": last, "5": last, "6": "4", "7": "5"})
    elif shape.startswith("branches"):
        ends = [chain(parents, last, branch, int(shape[-1])) for branch in "cd"]
        parents.update({"4": ends[0], "5": ends[0], "6": ends[1], "7": ends[1]})
    else:
        parents.update(dict.fromkeys(names, last))


def trees() -> Iterator[Tree]:
    """All trees of the family."""
    ones = ["one hop", "two hops", *(f"{branch}{i}" for branch in "ab" for i in (1, 2, 3))]
    shapes = ["star", "line", "pairs", "branches1", "branches2", "branches3"]
    for one in ones:
        for a in range(7):
            for b in range(7):
                for fork in ["GW", *(f"b{i}" for i in range(1, b))]:
                    for two in ("star", "line"):
                        for four in shapes:
                            parents: dict[str, str] = {}
                            last_b = chain(parents, "GW", "b", b)
                            last_a = chain(parents, fork, "a", a)
                            if one.endswith(("hop", "hops")):
                                parents["1"] = chain(parents, "GW", "r", int(one == "two hops"))
                            elif one not in parents:
                                continue
                            leaves(parents, "23", last_a, two)
                            leaves(parents, "4567", last_b, four)
                            sources = {"1": "1" if "1" in parents else one, **{leaf: leaf for leaf in LEAVES}}
                            name = f"node 1 {one}, {a} relays and a {two}, {b} relays from the gateway and {four}"
                            yield Tree(f"{name}, fork at {fork}", parents, sources)


def slow_links(tree: Tree) -> dict[str, set[str]]:
    """Sets of links that may have R; all others have 2R."""
    paths = {flow: tree.path(flow) for flow in tree.sources}
    others = {link for flow in "123" for link in paths[flow]}
    own = {link for flow in "4567" for link in paths[flow]} - others
    own_two = {link for flow in "23" for link in paths[flow]} - {link for flow in "14567" for link in paths[flow]}
    four, two = set("4567"), set("23")
    last = {paths[flow][1] for flow in "4567" if len(paths[flow]) > 1} & own
    return {
        "links to nodes 4 to 7": four,
        "links to nodes 4 to 7, and those before": four | last,
        "all links of nodes 4 to 7 alone": four | own,
        "links to nodes 2 to 7": four | two,
        "all links of nodes 4 to 7 alone, links to 2 and 3": four | own | two,
        "all links of nodes 2 to 7 alone": four | own | own_two,
        "none": set(),
    }


def max_min(tree: Tree, slow: set[str]) -> list[float]:
    """Water-filling over collision domains, in units of R (section 7.2.2)."""
    flows = sorted(tree.sources)
    paths = [tree.path(flow) for flow in flows]
    reach: dict[str, set[str]] = {}
    for node, parent in tree.parents.items():
        reach.setdefault(node, {node}).add(parent)
        reach.setdefault(parent, {parent}).add(node)
    domains = set()
    for link in {link for path in paths for link in path}:
        near = reach[link] | reach[tree.parents[link]]
        heard = [[m for m in path if m in near or tree.parents[m] in near] for path in paths]
        domains.add(tuple(sum(2 if m in slow else 1 for m in path) for path in heard))
    rates, free = [0.0] * len(flows), set(range(len(flows)))
    while free:
        room = [
            ((2 - sum(w * x for w, x in zip(domain, rates, strict=True))) / sum(domain[k] for k in free))
            for domain in domains
            if any(domain[k] for k in free)
        ]
        for k in free:
            rates[k] += min(room)
        full = [d for d in domains if sum(w * x for w, x in zip(d, rates, strict=True)) > 2 - 1e-9]
        free -= {k for domain in full for k in free if domain[k]}
    return rates


def main() -> None:
    """Prints how many trees there are, and those that fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most-nodes", type=int, default=16, help="print fitting trees of up to so many nodes")
    most = parser.parse_args().most_nodes
    tried, fitting, printed = 0, 0, []
    for tree in trees():
        nodes = len(tree.parents) + 1
        if nodes > 20:
            continue
        for name, slow in slow_links(tree).items():
            tried += 1
            if all(abs(x - y) < 1e-6 for x, y in zip(max_min(tree, slow), WANTED, strict=True)):
                fitting += 1
                if nodes <= most:
                    printed.append(f"{nodes} nodes: {tree.name}; {name} have R")
    print(f"{fitting} of {tried} trees of up to 20 nodes fit; of up to {most} nodes {len(printed)}:")
    print("\n".join(printed))


if __name__ == "__main__":
    main()
