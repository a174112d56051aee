"""Laws of one's own: a class of ten lines, put into a scenario where a built-in law stands.

A law decides and nothing else. It receives facts (times in seconds, rates in bit/s: each name ends in its unit) and
answers; it has no clock, no randomness, and no view of other nodes. evenair copies its object (`copy.deepcopy`) for
each queue, flow or sender that runs it, so that the state in ``self`` is of that one alone.

>>> class Patient(evenair.laws.BackoffLaw):
...     "A short queue waits long."
...     interval = "100 ms"
...     def __init__(self, airtimes=2.0):
...         self.airtimes, self.waiting = airtimes, 0
...     def on_update(self, link):
...         self.waiting = link.backlog_packets
...     def access(self):
...         return evenair.Access.exponential(self.airtimes / (1 + self.waiting), "frame")
>>> evenair.testing.check_law(Patient())
>>> runs = evenair.run("chen10/a", backoff=Patient(), duration="2 s", warmup="0 s")
>>> len(runs.flows)
4

`python/README.md` has the cost of a call beside the law's own computation. Runs of laws in Python take turns in one
process; seeds over all cores need processes: ``evenair.sweep(…, executor=ProcessPoolExecutor())``.
"""

from __future__ import annotations

import hashlib
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, ClassVar

from ._evenair import (
    Access,
    Acked,
    ClassRole,
    ClassView,
    Delivery,
    FlowRole,
    FlowView,
    FrameStatus,
    FrameView,
    GatewayRole,
    GatewayView,
    LinkRole,
    LinkView,
    Loss,
    QueueRole,
    QueueView,
    RateRole,
    WindowStart,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Access",
    "Acked",
    "BackoffLaw",
    "ClassRole",
    "ClassView",
    "ConnectionLaw",
    "Delivery",
    "FlowRole",
    "FlowView",
    "FrameStatus",
    "FrameView",
    "GatewayLaw",
    "GatewayRole",
    "GatewayView",
    "Law",
    "LinkRole",
    "LinkView",
    "Loss",
    "MarkingLaw",
    "QueueRole",
    "QueueView",
    "RateControl",
    "RateLaw",
    "RateRole",
    "WindowLaw",
    "WindowStart",
]


class Law:
    """The common part of laws of all families."""

    family: ClassVar[str] = ""
    """Its family, set by each family's class."""
    _base: ClassVar[type[Law]]

    def __init_subclass__(cls, **more: object) -> None:
        """Keep the family's own class: methods that a law leaves unchanged are never called."""
        super().__init_subclass__(**more)
        if Law in cls.__bases__:
            cls._base = cls

    def identity(self) -> str:
        """Identify this law: its name, its code, its parameters. Runs are stored under it.

        The code is that of the class and of those between it and its family; code that it calls elsewhere is not part
        of it. Change the class's name, or a number ``version`` in it, where that changes.
        """
        code = hashlib.sha256()
        for cls in type(self).__mro__:
            if cls is self._base:
                break
            for name, value in sorted(vars(cls).items()):
                if name not in _OF_CLASSES:
                    code.update(f"{name}={_words(value)};".encode())
        return f"{type(self).__qualname__} {code.hexdigest()[:16]} {self._state()}"

    def _state(self) -> str:
        """Give its whole state, in words: the same for the same state."""
        return ", ".join(f"{name}={value!r}" for name, value in sorted(vars(self).items()))

    def _undefined(self, method: str) -> NotImplementedError:
        """Give the error of a law that lacks a method that its family needs."""
        return NotImplementedError(f"{type(self).__name__} has no {method}: define it")


_OF_CLASSES = {"__dict__", "__weakref__", "__doc__", "__module__", "__firstlineno__", "__static_attributes__"}


def _words(value: object) -> str:
    """Give an entry of a class in words: of functions, their computation, not their place."""
    if isinstance(value, (staticmethod, classmethod)):
        return _words(value.__func__)
    if isinstance(value, property):
        return " ".join(_words(part) for part in (value.fget, value.fset))
    if isinstance(value, FunctionType):
        return f"{_words(value.__code__)} {value.__defaults__!r} {value.__kwdefaults__!r}"
    if isinstance(value, CodeType):
        constants = " ".join(_words(constant) for constant in value.co_consts)
        return f"{value.co_code.hex()} {value.co_names} {value.co_varnames} {constants}"
    return repr(value)


class BackoffLaw(Law):
    """How long a transmitter waits before it takes the medium, and how long it keeps it.

    It stands under ``backoff``: ``scenario.with_(backoff=MyLaw())``; for some nodes alone under ``backoff`` of an entry
    of ``queues``, such as ``queues=[{"nodes": ["2"], "backoff": MyLaw(3)}]``.
    """

    family = "backoff"
    scope: str = "next-hop"
    """The owner of a queue with its own copy of the law: "node", "category" or "next-hop"."""
    interval: float | str | None = None
    """How often the law sees its link, in seconds or words such as "100 ms"; never, if it does not look."""

    def begin(self, role: LinkRole) -> None:
        """It is put at its queue."""

    def on_update(self, link: LinkView) -> None:
        """See the link, once per interval."""

    def access(self) -> Access:
        """Answer the MAC; called once at the beginning, and after each update."""
        raise self._undefined("access")

    def drop_probability(self) -> float:
        """Give the probability with which an arrival is dropped; left to the queue, if it is not defined."""
        raise self._undefined("drop_probability")

    def dummy_packet(self) -> int | None:
        """Give the size of the dummy packets of an empty queue [bytes], if it sends any."""
        raise self._undefined("dummy_packet")

    def aggressiveness(self) -> float:
        """Give the logarithm of the divisor of the mean back-off, for tables and series."""
        raise self._undefined("aggressiveness")


class WindowLaw(Law):
    """How many segments a TCP sender may have under way.

    It stands under ``tcp.window``, or under ``flows.ID.window`` for one flow. The endpoint finds losses and
    retransmits; the law keeps ``window`` and ``threshold``, which are read after each event.

    >>> class Aimd(evenair.laws.WindowLaw):
    ...     "One more segment each round trip, half of them at a loss."
    ...     def on_ack(self, acked):
    ...         if acked.grows:
    ...             self.window += 1.0 if self.window < self.threshold else 1.0 / self.window
    ...     def on_loss(self, loss):
    ...         if not loss.repeated:
    ...             self.threshold = max(loss.flight / 2, 2.0)
    ...         self.window = self.threshold
    ...     def on_timeout(self, loss):
    ...         self.on_loss(loss)
    ...         self.window = 1.0
    >>> evenair.testing.check_law(Aimd())
    """

    family = "window"
    steers_recovery: bool = False
    """The window is in force during recovery, too."""
    window: float = 1.0
    """The congestion window [segments]."""
    threshold: float = 1e6
    """The slow-start threshold [segments]."""
    pacing_gap: float | None = None
    """How far apart segments leave, at least [s]."""

    def begin(self, start: WindowStart) -> None:
        """Begin, or begin again because a SYN was lost; a class that defines it sets window and threshold."""
        self.window, self.threshold = start.initial_window, start.initial_threshold

    def on_ack(self, acked: Acked) -> None:
        """Learn of an acknowledgement of any kind."""
        raise self._undefined("on_ack")

    def on_loss(self, loss: Loss) -> None:
        """Learn of a loss: recovery begins."""
        raise self._undefined("on_loss")

    def on_timeout(self, loss: Loss) -> None:
        """Learn that the retransmission timer has expired."""
        raise self._undefined("on_timeout")

    def on_delivery(self, delivery: Delivery) -> None:
        """Learn of an acknowledgement's delivery, before `on_ack`; called if the class defines it."""

    def deflate(self, segments: float) -> None:
        """Recovery without SACK takes so many segments off the window; a law need not follow."""


class ConnectionLaw(Law):
    """How many TCP connections a flow keeps open.

    It stands under ``connections``, or under ``flows.ID.connections`` for one flow.

    >>> class Proportional(evenair.laws.ConnectionLaw):
    ...     "As many as the round trip is long."
    ...     interval = "2 s"
    ...     def __init__(self, k=10.0):
    ...         self.k = k
    ...     def on_interval(self, flow):
    ...         return max(1, int(self.k * (flow.round_trip_s or 0.0)))
    >>> evenair.testing.check_law(Proportional())
    """

    family = "connections"
    interval: float | str = 1.0
    """How often the law runs, in seconds or words."""
    at_start: int = 1
    """With how many connections a flow starts."""
    needs: Sequence[str] = ("round_trip",)
    """The signals it needs, by the names in `FlowView` without units: a host that lacks one refuses the law before
    it runs. Probes are sent for "round_trip_of_probes" alone; "path_backlog" is added up only where it is needed."""

    def begin(self, flow: FlowRole) -> None:
        """It is put at its flow."""

    def on_interval(self, flow: FlowView) -> int:
        """Give how many connections there should be, one at least."""
        raise self._undefined("on_interval")


class RateLaw(Law):
    """How fast a source sends.

    It stands under ``rate_law``, or under ``flows.ID.rate_law``, of flows with ``traffic = "rated"``.
    """

    family = "rate"
    interval: float | str = 0.1
    """How often the law runs, in seconds or words."""
    needs: Sequence[str] = ()
    """The signals it needs, as of `ConnectionLaw`: "first_backlog", "path_backlog", "lost" or "route_changed"."""

    def begin(self, flow: FlowRole) -> None:
        """It is put at its flow."""

    def on_interval(self, flow: FlowView) -> float:
        """Give the rate of the payload [bit/s]; the first time for an interval of no length."""
        raise self._undefined("on_interval")


class RateControl(Law):
    """In which modes a frame is sent, one after another, until it is acknowledged.

    It stands under ``mac.rate_control``, or under ``rate_control`` of an entry of ``rates``. A law names modes by their
    place in ``link.modes``, slowest first. It gets a driver's information, without power and noise.

    >>> class Cautious(evenair.laws.RateControl):
    ...     "One mode up after twenty good frames, one down after a bad one."
    ...     def begin(self, link):
    ...         self.last, self.mode, self.good = len(link.modes) - 1, 0, 0
    ...     def on_frame(self, frame):
    ...         return [(self.mode, 1), (0, 2)]
    ...     def on_status(self, status):
    ...         self.good = self.good + 1 if status.acknowledged == status.packets else 0
    ...         step = 1 if self.good % 20 == 19 else -1 if self.good == 0 else 0
    ...         self.mode = min(max(self.mode + step, 0), self.last)
    >>> evenair.testing.check_law(Cautious())
    """

    family = "rates"
    asks_medium: bool = False
    """Whether `FrameView.best` comes from the medium, which no driver can read."""

    def begin(self, link: RateRole) -> None:
        """It is put at its link."""

    def on_frame(self, frame: FrameView) -> int | Sequence[tuple[int, int]] | Sequence[tuple[int, int, bool]]:
        """Give the next frame's modes.

        One mode, for one try; or up to four steps: a mode, its tries from 1 to 31, and True where an RTS precedes.
        """
        raise self._undefined("on_frame")

    def on_status(self, status: FrameStatus) -> None:
        """Learn how a frame ended: acknowledged, or with no step left, or given up."""


class GatewayLaw(Law):
    """How much of the network's capacity a gateway lets its subscribers use, set once an epoch.

    It stands under ``gateway.law``. A class is the traffic that one subscriber sends (up) or receives (down). Rates
    are bit/s of network-layer packets: one number for all classes together, a list with one for each, or None for no
    limit.

    >>> class Halving(evenair.laws.GatewayLaw):
    ...     "Less for all where a queue drops, a little more where none does."
    ...     interval = "2 s"
    ...     def __init__(self, most=1e6):
    ...         self.most = self.rate = most
    ...     def at_start(self):
    ...         return self.rate
    ...     def on_epoch(self, view):
    ...         drops = any(seen.dropped_packets for seen in view.classes if seen)
    ...         self.rate = max(self.rate / 2, 1e4) if drops else min(self.rate + 2e4, self.most)
    ...         return self.rate
    >>> evenair.testing.check_law(Halving())
    >>> mesh = evenair.Scenario("jam10/chain").with_(gateway={"node": "0", "law": Halving()}, duration="20 s")
    >>> sorted(evenair.run(mesh, warmup="0 s").mean())
    ['1', '2', '3']
    """

    family = "gateway"
    interval: float | str = 5.0
    """An epoch: how often the law runs, in seconds or words."""

    def begin(self, gateway: GatewayRole) -> None:
        """It is put at its gateway, which has one class at least."""

    def at_start(self) -> float | Sequence[float] | None:
        """Give the rates of the first epoch."""
        raise self._undefined("at_start")

    def on_epoch(self, view: GatewayView) -> float | Sequence[float] | None:
        """See the counts of the classes in an epoch and give the rates of the next."""
        raise self._undefined("on_epoch")


class MarkingLaw(Law):
    """Which packets a queue refuses or gives up.

    It stands under ``drop``; for the queues of some nodes, or of a wire, under ``drop`` of an entry of ``queues`` or
    ``wires``. Methods that a class does not define are never called.

    >>> class Linear(evenair.laws.MarkingLaw):
    ...     "Refuse the more, the more waits."
    ...     def on_arrival(self, now_s, queue):
    ...         return min(1.0, queue.waiting_packets / 50)
    >>> evenair.testing.check_law(Linear())
    """

    family = "marking"

    def begin(self, queue: QueueRole) -> None:
        """It is put at its queue."""

    def on_arrival(self, now_s: float, queue: QueueView) -> float:
        """Give the probability with which the packet that comes is refused."""
        raise self._undefined("on_arrival")

    def after_arrival(self, now_s: float, queue: QueueView, accepted: bool) -> None:
        """Learn of the outcome of an arrival."""

    def on_departure(self, now_s: float, sojourn_s: float, queue: QueueView) -> bool:
        """Tell whether the packet that is about to leave is dropped."""
        raise self._undefined("on_departure")

    def on_removal(self, now_s: float, queue: QueueView) -> None:
        """Learn that a waiting packet was dropped without a call of the law."""
