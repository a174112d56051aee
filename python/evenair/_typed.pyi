"""Tables and documents: their types for type checkers. Made by python/tests/test_types.py."""

from typing import Any, Literal, TypedDict, overload

from typing_extensions import NotRequired

from ._table import Column, Table

class RunFlows(Table):
    @overload
    def __getitem__(self, column: Literal["variant", "flow", "from", "to"]) -> list[str]: ...
    @overload
    def __getitem__(self, column: Literal["seed", "sent", "retransmitted", "timeouts", "lost", "acks_lost", "acks"]) -> list[int]: ...
    @overload
    def __getitem__(self, column: Literal["goodput_bps", "goodput_pps", "connections", "congestion_window", "silence_s", "measured_s"]) -> list[float]: ...
    @overload
    def __getitem__(self, column: Literal["x", "offered_pps", "loss", "delay_s", "delay_s_50", "delay_s_95", "delay_s_99", "jitter_s", "round_trip_s", "queueing_delay_s", "ack_queueing_delay_s", "loss_event_rate", "probes_sent", "probe_share", "probe_round_trip_s", "resequencing_delay_s", "resequencing_delay_s_max", "resequencing_buffer", "resequencing_buffer_max", "requests", "completed", "completion_s", "completion_s_50", "completion_s_95", "completion_s_99"]) -> list[float | None]: ...
    @overload
    def __getitem__(self, column: str) -> Column: ...

class RunLinks(Table):
    @overload
    def __getitem__(self, column: Literal["variant", "queue"]) -> list[str]: ...
    @overload
    def __getitem__(self, column: Literal["seed", "served_packets", "served_bytes", "dropped_queue_full", "dropped_by_law", "marked", "dropped_retries", "received_despite", "lost_on_wire", "dropped_no_route", "attempts", "collided", "receiver_busy", "ack_lost", "ack_late", "requests", "requests_failed"]) -> list[int]: ...
    @overload
    def __getitem__(self, column: Literal["backlog"]) -> list[float]: ...
    @overload
    def __getitem__(self, column: Literal["x", "aggressiveness", "waiting_s", "waiting_s_50", "waiting_s_95", "waiting_s_99", "sojourn_s", "mpdus", "mpdus_lost", "aggregates", "mean_aggregate", "block_acks_missing", "bars", "given_up", "mean_rate_bps", "airtime_own", "airtime_partly", "airtime_collided", "airtime_backoff", "airtime_interframe", "airtime_empty", "airtime_blocked"]) -> list[float | None]: ...
    @overload
    def __getitem__(self, column: str) -> Column: ...

class RunSeeds(Table):
    @overload
    def __getitem__(self, column: Literal["variant", "fingerprint"]) -> list[str]: ...
    @overload
    def __getitem__(self, column: Literal["seed"]) -> list[int]: ...
    @overload
    def __getitem__(self, column: Literal["goodput_pps", "goodput_bps", "jain", "measured_s"]) -> list[float]: ...
    @overload
    def __getitem__(self, column: Literal["x"]) -> list[float | None]: ...
    @overload
    def __getitem__(self, column: str) -> Column: ...

class RunSeries(Table):
    @overload
    def __getitem__(self, column: Literal["variant", "object", "metric"]) -> list[str]: ...
    @overload
    def __getitem__(self, column: Literal["seed"]) -> list[int]: ...
    @overload
    def __getitem__(self, column: Literal["time_s", "value"]) -> list[float]: ...
    @overload
    def __getitem__(self, column: str) -> Column: ...

class RunFrames(Table):
    @overload
    def __getitem__(self, column: Literal["variant", "node", "to", "kind", "decoded", "retry", "flow", "mode", "queue"]) -> list[str]: ...
    @overload
    def __getitem__(self, column: Literal["seed"]) -> list[int]: ...
    @overload
    def __getitem__(self, column: Literal["start_ms", "end_ms"]) -> list[float]: ...
    @overload
    def __getitem__(self, column: Literal["x", "size_bytes", "rate_mbps"]) -> list[float | None]: ...
    @overload
    def __getitem__(self, column: str) -> Column: ...

class GatewayClasses(Table):
    @overload
    def __getitem__(self, column: Literal["variant", "class"]) -> list[str]: ...
    @overload
    def __getitem__(self, column: Literal["seed", "arrived_packets", "served_packets", "dropped_packets", "held_packets"]) -> list[int]: ...
    @overload
    def __getitem__(self, column: Literal["weight", "allowed_bps", "served_bps"]) -> list[float]: ...
    @overload
    def __getitem__(self, column: Literal["x", "busy"]) -> list[float | None]: ...
    @overload
    def __getitem__(self, column: str) -> Column: ...

class GatewayLooks(Table):
    @overload
    def __getitem__(self, column: Literal["variant", "decision", "class"]) -> list[str]: ...
    @overload
    def __getitem__(self, column: Literal["seed", "arrived_packets", "served_packets", "served_bytes", "dropped_packets", "held_packets", "backlog_packets"]) -> list[int]: ...
    @overload
    def __getitem__(self, column: Literal["time_s", "total_bps", "allowed_bps"]) -> list[float]: ...
    @overload
    def __getitem__(self, column: Literal["busy_s"]) -> list[float | None]: ...
    @overload
    def __getitem__(self, column: str) -> Column: ...

class SolvedFlows(Table):
    @overload
    def __getitem__(self, column: Literal["flow"]) -> list[str]: ...
    @overload
    def __getitem__(self, column: Literal["weight", "rate_pps", "rate_bps", "capacity_pps"]) -> list[float]: ...
    @overload
    def __getitem__(self, column: Literal["alpha"]) -> list[float | None]: ...
    @overload
    def __getitem__(self, column: str) -> Column: ...

class SolvedLinks(Table):
    @overload
    def __getitem__(self, column: Literal["link"]) -> list[str]: ...
    @overload
    def __getitem__(self, column: Literal["load"]) -> list[float]: ...
    @overload
    def __getitem__(self, column: Literal["price", "airtime"]) -> list[float | None]: ...
    @overload
    def __getitem__(self, column: str) -> Column: ...

class SolvedConflicts(Table):
    @overload
    def __getitem__(self, column: Literal["link_a", "link_b"]) -> list[str]: ...
    @overload
    def __getitem__(self, column: str) -> Column: ...

class SolvedSets(Table):
    @overload
    def __getitem__(self, column: Literal["links"]) -> list[str]: ...
    @overload
    def __getitem__(self, column: Literal["set"]) -> list[int]: ...
    @overload
    def __getitem__(self, column: Literal["share"]) -> list[float]: ...
    @overload
    def __getitem__(self, column: str) -> Column: ...

class SolvedSetLinks(Table):
    @overload
    def __getitem__(self, column: Literal["link"]) -> list[str]: ...
    @overload
    def __getitem__(self, column: Literal["set"]) -> list[int]: ...
    @overload
    def __getitem__(self, column: str) -> Column: ...

class FluidFlows(Table):
    @overload
    def __getitem__(self, column: Literal["flow"]) -> list[str]: ...
    @overload
    def __getitem__(self, column: Literal["rate_pps", "connections", "window", "round_trip_s"]) -> list[float]: ...
    @overload
    def __getitem__(self, column: Literal["rest_pps"]) -> list[float | None]: ...
    @overload
    def __getitem__(self, column: str) -> Column: ...

class FluidLinks(Table):
    @overload
    def __getitem__(self, column: Literal["link"]) -> list[str]: ...
    @overload
    def __getitem__(self, column: Literal["price", "airtime"]) -> list[float | None]: ...
    @overload
    def __getitem__(self, column: str) -> Column: ...

class ComparedStages(Table):
    @overload
    def __getitem__(self, column: Literal["stage", "gap", "flow"]) -> list[str]: ...
    @overload
    def __getitem__(self, column: Literal["rate_pps", "share"]) -> list[float]: ...
    @overload
    def __getitem__(self, column: Literal["counted_pps"]) -> list[float | None]: ...
    @overload
    def __getitem__(self, column: str) -> Column: ...

class Claims(Table):
    @overload
    def __getitem__(self, column: Literal["claim", "where", "required", "reference_origin", "verdict", "why"]) -> list[str]: ...
    @overload
    def __getitem__(self, column: Literal["seeds"]) -> list[int]: ...
    @overload
    def __getitem__(self, column: Literal["measured", "half_width_95", "paper", "reference"]) -> list[float | None]: ...
    @overload
    def __getitem__(self, column: str) -> Column: ...

class StudyTable(Table):
    @overload
    def __getitem__(self, column: Literal["study", "variant", "flow", "metric", "reference_origin"]) -> list[str]: ...
    @overload
    def __getitem__(self, column: Literal["seeds"]) -> list[int]: ...
    @overload
    def __getitem__(self, column: Literal["mean"]) -> list[float]: ...
    @overload
    def __getitem__(self, column: Literal["x", "half_width_95", "difference", "difference_half_width_95", "paper", "reference"]) -> list[float | None]: ...
    @overload
    def __getitem__(self, column: str) -> Column: ...

class Run(TypedDict):
    scenario: str
    """The scenario's name."""
    seed: int
    """The seed."""
    measured_s: float
    """Measured time [s]."""
    fingerprint: str
    """Hash of the trajectory."""
    events: int
    """Events handled."""
    verdict: NotRequired[RunVerdict | None]
    """Which flows starve, why, and which settings to try; a study's kept runs have none."""
    flows: list[FlowResult]
    """Per flow."""
    links: list[LinkResult]
    """Per transmit queue."""
    outside: NotRequired[list[OutsideResult]]
    """Packets from outside that belonged to no flow."""
    gateway: NotRequired[GatewayRecord | None]
    """The gateway's record."""
    live: NotRequired[LiveRecord | None]
    """Of a run in real time: its accuracy, and the machine that made it."""
    series: NotRequired[Series | None]
    """Time series."""
    frames: NotRequired[list[FrameRow]]
    """Frames of the window."""
    theory: NotRequired[TheoryRecord | None]
    """The theory's findings beside rates, in its worlds."""
    findings: NotRequired[list[list[ModelError | float]]]
    """An experiment's result."""

class StudyDocument(TypedDict):
    study: str
    """Its id, or a file's name."""
    claims: list[ClaimRow]
    """Its claims: rows of claims.csv."""
    table: list[TableRow]
    """Its table: rows of table.csv."""
    tally: TallyDocument
    """How many claims hold, fail and are undecided."""
    seeds: int
    """Seeds of a variant, at least."""
    version: str
    """Evenair's version."""
    commit: str | None
    """The commit that it was built from, with `-dirty` behind it where files were changed since; null if it was not built from a clone."""
    scenarios: dict[str, Any]
    """Every scenario, overrides applied and all defaults written out, by the name of its variant; `evenair schema` tells their keys."""

class RunVerdict(TypedDict):
    headline: str
    """The verdict in one or two sentences."""
    starving: int
    """How many flows starve: they get less than a twentieth of their fair optimum, or less than half of it and less than a twentieth of
the best-served flow's rate."""
    without_fair: str | None
    """Why the fair optimum is missing; null where it is solved. Without it, flows are then compared with the best-served one."""
    flows: list[FlowVerdict]
    """Each flow, in the scenario's order."""
    remedies: list[Remedy]
    """Settings to try, the most promising first."""

FlowResult = TypedDict("FlowResult", {
    "flow": str,
    "from": str,
    "to": str,
    "queue": str,
    "ack_queue": NotRequired[str | None],
    "goodput_bps": float,
    "goodput_pps": float,
    "unit_bytes": int,
    "round_trip_s": float | None,
    "connections": float,
    "congestion_window": float,
    "offered_pps": NotRequired[float | None],
    "delay": NotRequired[Times | None],
    "jitter_s": NotRequired[float | None],
    "sent": int,
    "retransmitted": int,
    "timeouts": int,
    "lost": int,
    "arrived": int,
    "acks_lost": int,
    "acks": int,
    "queueing_delay_s": NotRequired[float | None],
    "ack_queueing_delay_s": NotRequired[float | None],
    "silence_s": float,
    "loss_event_rate": NotRequired[float | None],
    "probes": NotRequired[ProbeResult | None],
    "resequencing": NotRequired[ResequencingResult | None],
    "transfers": NotRequired[TransferResult | None],
})

class LinkResult(TypedDict):
    queue: str
    """Its name: the node, and the next hop where queues are per next hop."""
    backlog: float
    """Mean backlog at the sampling instants [packets]."""
    aggressiveness: NotRequired[float | None]
    """Mean transmission aggressiveness, where the law has one."""
    served_packets: int
    """Packets that ended their service, well or not."""
    served_bytes: int
    """Their bytes, network-layer sizes."""
    waiting: NotRequired[Times | None]
    """Times from a packet's coming into the queue to the beginning of its service."""
    sojourn_s: NotRequired[float | None]
    """Mean time from a packet's coming into the queue to the end of its service [s]."""
    dropped_queue_full: int
    """Packets dropped for want of room: overflows."""
    dropped_by_law: int
    """Packets dropped by a law, the queue's marking, its discipline or its back-off law, though there was room: early drops."""
    marked: NotRequired[int]
    """Packets that a law would have dropped and that left with a mark instead (RFC 3168)."""
    dropped_retries: int
    """Packets given up after the last retry, whether or not the receiver has them."""
    received_despite: NotRequired[int]
    """Of `dropped_retries`, the packets that the receiver has: they are not lost, and only their acknowledgements failed."""
    attempts: int
    """DATA frames sent; ideal CSMA and wires have none."""
    collided: int
    """DATA frames lost to a frame that overlapped them at the receiver, or to the link's error model."""
    receiver_busy: int
    """DATA frames that reached a receiver while it was transmitting."""
    ack_lost: int
    """DATA frames that were decoded while the acknowledgement was lost or not sent."""
    ack_late: NotRequired[int]
    """DATA frames that were decoded while the acknowledgement came too late for its sender."""
    requests: int
    """RTS frames sent."""
    requests_failed: int
    """RTS frames that brought no CTS."""
    lost_on_wire: int
    """Packets lost on the wire."""
    dropped_no_route: NotRequired[int]
    """Packets dropped where they entered, as nodes had moved and no route led to their destination."""
    mpdus: NotRequired[int]
    """Packets in all DATA frames sent; repetitions count."""
    mpdus_lost: NotRequired[int]
    """Of these, those that their receiver did not decode."""
    aggregates: NotRequired[int]
    """DATA frames of more than one packet."""
    mean_aggregate: NotRequired[float]
    """Packets of a DATA frame, in the mean."""
    block_acks_missing: NotRequired[int]
    """Aggregates and block ack requests that brought no block acknowledgement."""
    bars: NotRequired[int]
    """Block ack requests sent."""
    given_up: NotRequired[int]
    """Packets given up by `aggregation.retries` or `aggregation.lifetime`."""
    modes: NotRequired[list[ModeResult]]
    """The modes of its DATA frames under rate control, those that were sent, slowest first for each next hop."""
    airtime: NotRequired[AirtimeShares | None]
    """Where its time went, as shares of it, if the ledger was kept."""

OutsideResult = TypedDict("OutsideResult", {
    "from": str,
    "to": str,
    "entered_packets": int,
    "entered_bytes": int,
    "arrived_packets": int,
    "arrived_bytes": int,
    "lost_packets": int,
    "lost_bytes": int,
    "delay": NotRequired[Times | None],
})

class GatewayRecord(TypedDict):
    node: str
    """Its node's name."""
    classes: list[ClassResult]
    """Its classes, in the measured time."""
    steps: Steps
    """How often it allowed more, less, and as much as before, in the measured time."""
    series: NotRequired[GatewayColumns | None]
    """Each of its looks."""

class LiveRecord(TypedDict):
    lateness: Lateness
    """How late packets were."""
    strays: Strays
    """Packets that did not pass through the simulated network."""
    host: HostReport
    """The kernels of the hosts."""

class Series(TypedDict):
    time_s: list[float]
    """When [s]."""
    flows: list[FlowSeries]
    """The flows; a value is missing where there was nothing to measure since the point before."""
    links: list[LinkSeries]
    """The transmit queues."""

class FrameRow(TypedDict):
    start_ms: float
    """When it began [ms]."""
    end_ms: float
    """When it ended [ms]."""
    node: str
    """The node that sent it."""
    to: str
    """The node that it was sent to; "all" of a broadcast."""
    kind: str
    """DATA, ACK, RTS or CTS."""
    decoded: bool
    """Whether its addressee decoded it; of a broadcast, whether any node did."""
    retry: bool
    """Whether it repeats a DATA frame."""
    flow: NotRequired[str | None]
    """The flow of the packet that it carries or acknowledges; missing for dummies and for packets from outside."""
    size_bytes: NotRequired[int | None]
    """Of DATA, the packet with its network-layer headers; of control frames, the whole frame [bytes]. Missing for dummies."""
    rate_mbps: NotRequired[float | None]
    """The rate of its body [Mb/s]. Missing for dummies."""
    mode: NotRequired[str | None]
    """How its body is modulated, such as "VHT MCS 9, 80 MHz, 1 stream, 800 ns"; only of frames of 802.11n, ac and ax, as the rate says
it of others."""
    queue: str
    """The transmit queue of its exchange; DATA goes to the next hop of the packet that it carries."""

class TheoryRecord(TypedDict):
    residual: float | None
    """The worst residual of an optimum's conditions."""
    eigenvalue_per_s: float | None
    """The greatest real part of the eigenvalues at rest [1/s]."""
    lyapunov_growth: float | None
    """The greatest growth of a Lyapunov function between two samples, over its first value."""
    off_rest: float | None
    """How far rates are from rest at the end, relatively."""

ModelError = Literal['clique-error'] | Literal['domain-error']

class ClaimRow(TypedDict):
    claim: str
    """The sentence."""
    where: str | None
    """Where the paper says so."""
    measured: float | None
    """The measured value; null if there is nothing to measure, or no finite number."""
    half_width_95: float | None
    """Half of its 95 % interval; null where there is no chance, or a single seed."""
    seeds: int
    """How many values it is the mean of."""
    required: str
    """The condition under which the claim holds."""
    paper: float | None
    """The paper's number."""
    reference: float | None
    """A number of another origin."""
    reference_origin: str | None
    """The flow or node that it is of."""
    verdict: Verdict
    """The verdict of the runs."""
    why: str | None
    """Why it does not hold, where it does not and the study knows."""

class TableRow(TypedDict):
    study: str
    """The study."""
    variant: str
    """The variant."""
    x: float | None
    """The parameter's value, of a swept variant."""
    flow: str
    """The flow. For all flows together, the kind of number: total, mean, greatest, greatest/least, all (a percentile over all
flows), or network where the metric is not one of flows."""
    metric: str
    """The metric measured; `evenair list metrics` tells its meaning."""
    mean: float
    """The mean over seeds."""
    half_width_95: float | None
    """Half of its 95 % interval; null where there is no chance, or a single seed."""
    difference: float | None
    """Mean difference to the study's baseline, taken seed by seed."""
    difference_half_width_95: float | None
    """Half of its 95 % interval."""
    paper: float | None
    """The paper's number."""
    reference: float | None
    """A number of another origin."""
    reference_origin: str | None
    """The flow or node that it is of."""
    seeds: int
    """How many seeds the variant has."""

class TallyDocument(TypedDict):
    hold: int
    """They hold."""
    fail: int
    """They fail."""
    undecided: int
    """Their interval lies on both sides of a bound."""

class FlowVerdict(TypedDict):
    flow: str
    """Its name."""
    standing: Standing
    """How it fares."""
    rate_pps: float
    """Its goodput while it is active, the mean over seeds [packets/s]; of a finished transfer, its size over the time that it took."""
    fair_pps: float | None
    """Its rate in the fair optimum, which maximises Σ −1/rate [packets/s]; null where that is not solved."""
    share: float | None
    """`rate_pps` over `fair_pps`; null where that is not known."""
    cause: Cause | None
    """The main reason of a flow that starves or is short."""
    evidence: Evidence | None
    """The figures behind the reason."""
    sentence: str | None
    """The reason in a sentence; null where nothing is to be told."""

class Remedy(TypedDict):
    set: list[str]
    """The changes, as `--set` takes them."""
    why: str
    """The reason, a phrase."""

class Times(TypedDict):
    count: int
    """How often it happened."""
    mean_s: float
    """The mean [s]."""
    p50_s: NotRequired[float | None]
    """The median [s], where each time was kept; as all percentiles within 1 %, and never outside the times."""
    p95_s: NotRequired[float | None]
    """The time that 95 % did not exceed [s]."""
    p99_s: NotRequired[float | None]
    """The time that 99 % did not exceed [s]."""

class ProbeResult(TypedDict):
    sent: int
    """Probes sent."""
    share: float
    """Their share of the bytes that the flow's source sent, network-layer sizes."""
    round_trip_s: float | None
    """Mean round trip [s]."""

class ResequencingResult(TypedDict):
    delay_s: float
    """Mean time from a segment's coming, in the order of its connection, to its being handed over [s]."""
    delay_s_max: float
    """The longest [s]."""
    buffer: float
    """Mean number of segments that wait."""
    buffer_max: int
    """The most."""

class TransferResult(TypedDict):
    requests: int
    """Requests made; of a transfer, whether it began: 1, or 0."""
    completed: int
    """The number of them that were whole when the run ended."""
    took: NotRequired[Times | None]
    """Times from a request, or from the transfer's beginning, to the handing over of the last byte, of those that are complete."""

class ModeResult(TypedDict):
    to: str
    """The next hop."""
    mode: str
    """The mode."""
    rate_bps: int
    """Its rate [bit/s]."""
    frames: int
    """DATA frames."""
    packets: int
    """Packets in them; repetitions count."""
    acknowledged: int
    """Packets of them that were acknowledged."""

class AirtimeShares(TypedDict):
    own: float
    """Own exchanges that succeeded."""
    partly: NotRequired[float]
    """Of these, the part of aggregates' packets that the receiver did not decode."""
    collided: float
    """Own exchanges that failed."""
    backoff: float
    """Counting down."""
    interframe: float
    """Inter-frame spaces."""
    empty: float
    """Nothing to send."""
    blocked_by: list[list[str | float]]
    """The medium was busy with each queue that ever blocked this one."""

ClassResult = TypedDict("ClassResult", {
    "class": str,
    "direction": str,
    "weight": float,
    "allowed_bps": float,
    "served_bps": float,
    "arrived_packets": int,
    "served_packets": int,
    "dropped_packets": int,
    "held_packets": int,
    "busy": NotRequired[float | None],
})

class Steps(TypedDict):
    increase: int
    """More."""
    decrease: int
    """Less."""
    hold: int
    """As much as before."""

class GatewayColumns(TypedDict):
    time_s: list[float]
    """When [s]."""
    decision: list[str]
    """The decision, and its reason."""
    total_bps: list[float]
    """The grant of all classes together from then on [bit/s]."""
    classes: list[ClassColumns]
    """The classes."""

class Lateness(TypedDict):
    packets: int
    """Packets that were written."""
    p50_s: float
    """The median [s], within 1 % as the other percentiles."""
    p99_s: float
    """The time that 99 % did not exceed [s]."""
    p999_s: float
    """The time that 99.9 % did not exceed [s]."""
    most_s: float
    """The longest [s]."""
    beyond_1ms: float
    """Share of the packets that were more than a millisecond late."""

class Strays(TypedDict):
    no_route: int
    """Their destination is no node, or no route leads there."""
    no_packet: int
    """They are no IP packets."""
    hops_used_up: int
    """Their hops were used up on the way (TTL)."""
    refused: int
    """The kernel of their destination did not take them."""
    unread: int
    """Their node's device dropped them, since too many waited to be read: the drive was late, or a program sent too many. The
simulated queue would have had to decide."""

class HostReport(TypedDict):
    kernel: str
    """The kernel's release."""
    congestion_controls: list[str]
    """Its congestion controls."""
    unset: list[str]
    """Settings that it does not have, or did not take."""
    scheduling: Scheduling
    """How all this was scheduled."""
    real_flows: list[str]
    """Flows that real sockets carry."""
    failed_flows: NotRequired[list[str]]
    """Those of them of which not every connection could be opened, and why."""
    backpressure: NotRequired[bool]
    """Packets that found no room at their node stayed with their kernel, instead of being lost there."""

class FlowSeries(TypedDict):
    flow: str
    """The flow."""
    goodput_pps: list[float]
    """Goodput since the last point [segments or datagrams per second]."""
    congestion_window: list[float]
    """Congestion windows, added up [segments]."""
    round_trip_s: list[float]
    """Mean of the samples since the last point; the point before it, if there were none [s]."""
    connections: list[float]
    """Connections."""
    delay_s: NotRequired[list[float | None]]
    """Mean one-way delay of the data handed over since the last point, if any were [s]."""
    loss: NotRequired[list[float | None]]
    """Share of the packets with its data that were dropped, of those that were dropped or arrived since the last point, if any were."""
    queueing_delay_s: NotRequired[list[float | None]]
    """Mean time of its data in queues, all on the path together, over data served since the last point; none where there was no
data on one of them [s]."""

class LinkSeries(TypedDict):
    queue: str
    """The queue."""
    backlog: list[float]
    """Backlog [packets]."""
    aggressiveness: NotRequired[list[float]]
    """Transmission aggressiveness; empty where the law has none."""
    waiting_s: NotRequired[list[float | None]]
    """Mean wait of packets that began their service since the last point, if any did [s]."""

Verdict = Literal['holds'] | Literal['fails'] | Literal['undecided']

Standing = Literal['starves'] | Literal['short'] | Literal['served'] | Literal['finished'] | Literal['idle']

Cause = Literal['hidden-nodes'] | Literal['collisions'] | Literal['link-errors'] | Literal['late-acks'] | Literal['deference'] | Literal['drops'] | Literal['timeouts'] | Literal['nothing-to-send'] | Literal['queueing'] | Literal['unknown']

class Evidence(TypedDict):
    hops: list[Hop]
    """The hops of its data, from the source on."""
    timeouts_per_s: float
    """Retransmission time-outs [1/s]."""
    round_trip_s: float | None
    """Mean round trip [s]; null where there is none."""
    is_tcp: bool
    """Whether its data go over TCP."""

ClassColumns = TypedDict("ClassColumns", {
    "class": str,
    "allowed_bps": list[float],
    "arrived_packets": list[int],
    "served_packets": list[int],
    "served_bytes": list[int],
    "dropped_packets": list[int],
    "held_packets": list[int],
    "backlog_packets": list[int],
    "busy_s": list[float | None],
})

class Scheduling(TypedDict):
    real_time: int | None
    """The drive's real-time priority (`SCHED_FIFO`); none, if the kernel refuses it."""
    refused: NotRequired[str | None]
    """Why it does."""

Hop = TypedDict("Hop", {
    "from": str,
    "to": str,
    "blocked": float | None,
    "blocked_by": list[list[str | float]],
    "empty": float | None,
    "frames_lost": float | None,
    "lost_are_requests": bool,
    "acks_late": float,
    "hidden": list[str],
    "link_loss": float,
    "lost_on_wire": float,
    "dropped_full": float,
    "dropped_by_law": float,
    "dropped_retries": float,
    "waits_s": float | None,
})
