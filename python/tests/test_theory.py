"""The best allocation by utilities of one's own, against closed forms and the built-in objectives."""

from __future__ import annotations

import math

import evenair
import pytest

CLIQUE = [1.0, 3.0, 0.2]


def clique() -> evenair.Scenario:
    """Give three links that all conflict, a flow over each, datagrams of one size."""
    build = evenair.Builder(mac={"kind": "ideal"})
    for i in range(3):
        build.link(f"{i}", f"s{i}", f"r{i}").flow(f"{i}", f"s{i}", f"r{i}", traffic="saturated")
    return build.conflict("0", "1").conflict("1", "2").conflict("0", "2").scenario()


def rates(solution: evenair.Solution) -> list[float]:
    assert solution.residual < 1e-6
    return solution.flows["rate_pps"]


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("derivative", [False, True])
def test_alpha_fairness_by_a_function_is_that_by_its_name(alpha: float, derivative: bool) -> None:
    def utility(flow: str, rate: float) -> float:
        assert flow in "1234"
        return math.log(rate) if alpha == 1 else rate ** (1 - alpha) / (1 - alpha)

    def marginal(flow: str, rate: float) -> float:
        return rate**-alpha

    ours = evenair.solve("chen10/a", utility=utility, marginal=marginal if derivative else None)
    named = evenair.solve("chen10/a", "alpha-fair", alpha=alpha)
    assert rates(ours) == pytest.approx(rates(named), rel=1e-5)
    assert ours.objective == pytest.approx(named.objective, rel=1e-9)
    assert (ours.solver, ours.bound) == ("own", pytest.approx(ours.objective, rel=1e-6))


def test_weighted_logarithms_share_a_clique_by_weight() -> None:
    solution = evenair.solve(clique(), utility=lambda flow, rate: CLIQUE[int(flow)] * math.log(rate))
    shares = [weight / sum(CLIQUE) for weight in CLIQUE]
    assert solution.links["load"] == pytest.approx(shares, rel=1e-6)


def test_a_utility_that_is_finite_at_zero_leaves_flows_without() -> None:
    # log(1 + x/a): x fills up to one level over a.
    capacity = evenair.solve(clique()).flows["capacity_pps"][0]
    floors = {"0": 0.1, "1": 0.3, "2": 0.9}
    solution = evenair.solve(clique(), utility=lambda flow, rate: math.log1p(rate / (floors[flow] * capacity)))
    assert solution.links["load"] == pytest.approx([0.6, 0.4, 0.0], abs=1e-5)


def test_rates_are_counted_in_the_unit_of_the_scenario() -> None:
    seen = []
    scenario = clique().with_({"utility.unit": "Mbps"})
    evenair.solve(scenario, utility=lambda _, rate: seen.append(rate) or math.log(rate))
    capacity = evenair.solve(scenario, "proportional").flows
    assert max(seen) == pytest.approx(capacity["capacity_pps"][0] * 8e-3, rel=0.01)


def test_the_utilities_of_a_scenario_are_asked_for_where_it_has_any() -> None:
    steps = clique().with_({"utility.points": [[0, 0], [100, 10], [200, 12], [10_000, 13]]})
    solution = evenair.solve(steps)
    assert solution.solver == "clarabel"
    assert rates(solution) == rates(evenair.solve(steps, "utility"))
    assert min(rates(solution)) > 99.9
    fair = clique().with_({"utility.alpha": 1.0, "flows.0.weight": 3.0})
    assert evenair.solve(fair).links["load"] == pytest.approx([0.6, 0.2, 0.2], rel=1e-6)
    assert evenair.solve(fair, "fair").links["load"] != pytest.approx([0.6, 0.2, 0.2], rel=1e-2)


@pytest.mark.parametrize(
    ("utility", "message"),
    [
        (lambda _, rate: rate**2, "flow 0: between rates of .* must fall"),
        (lambda _, rate: rate, "a table of points"),
        (lambda _, rate: -rate, "it must rise"),
        (lambda _, rate: math.log(max(rate, 1.0)), "it must rise"),
        (lambda _, rate: float("nan"), "both must be finite"),
    ],
)
def test_invalid_utility_is_an_error(utility: object, message: str) -> None:
    with pytest.raises(evenair.TheoryError, match=message):
        evenair.solve(clique(), utility=utility)


def test_an_exception_in_a_utility_is_its_users() -> None:
    with pytest.raises(ZeroDivisionError):
        evenair.solve(clique(), utility=lambda _, rate: 1 / 0)
    with pytest.raises(TypeError):
        evenair.solve(clique(), utility=lambda _, rate: "much")


def test_conflicting_arguments_are_an_error() -> None:
    with pytest.raises(ValueError, match="takes the place of an objective"):
        evenair.solve("chen10/a", "fair", utility=lambda _, rate: math.log(rate))
    with pytest.raises(ValueError, match="marginal is the derivative of utility"):
        evenair.solve("chen10/a", marginal=lambda _, rate: 1 / rate)
    with pytest.raises(ValueError, match="alpha is for objective"):
        evenair.solve("chen10/a", alpha=1.0)
    with pytest.raises(evenair.TheoryError, match="Clarabel knows"):
        evenair.solve(clique(), solver="clarabel", utility=lambda _, rate: math.log(rate))
