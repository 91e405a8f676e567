"""Rules as functions of scalars: Python equals C++, no NaN, full precision, clear errors."""

import importlib.util
import math
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scwlearn import _native
from scwlearn.rules import HOLD, Rule, Step, all_rules, all_variants, find_rule, rule
from scwlearn.rules.declare import LOOKS

every_rule = pytest.mark.parametrize("rule", all_rules(), ids=lambda r: r.name)
every_parameter = pytest.mark.parametrize(
    ("rule", "parameter"), [pytest.param(r, p, id=f"{r.name}-{p.name}") for r in all_rules() for p in r.parameters]
)


def sane(parameter):
    """Values of a parameter from 1e-6 to 1e6, or as close to its bounds as that."""
    if math.isinf(parameter.high):
        return st.floats(1e-6, 1e6)
    return st.floats(parameter.low + 1e-6, parameter.high - 1e-6)


def anything(rule):
    """Anything finite that a loop could ask the rule: m, v, norm2, t, n, w and the values of its parameters."""
    sizes = st.floats(-300, 300).map(lambda power: 10.0**power)
    return st.tuples(
        st.one_of(st.floats(-2.0, 2.0), sizes, sizes.map(lambda size: -size)),
        sizes,
        st.one_of(st.just(0.0), sizes),
        st.integers(1, 10**9).map(float),
        st.sampled_from([1.0, 2.0]),
        st.one_of(st.just(1.0), st.floats(-100, 100).map(lambda power: 10.0**power)),
        st.fixed_dictionaries({p.name: sane(p) for p in rule.parameters}),
    )


def test_exactly_the_declared_rules_are_compiled():
    assert sorted(_native.rule_names()) == sorted(r.name for r in all_rules() + all_variants())


def same(a, b):
    """Equal but for the last digit or two; the smallest numbers have few."""
    return a == b or abs(a - b) <= 1e-14 * abs(a) + 1e-320


@every_rule
def test_the_compiled_rule_equals_the_python_function_and_returns_no_nan(rule):
    @settings(max_examples=250, derandomize=True, deadline=None, database=None)
    @given(anything(rule))
    def on(question):
        *looks, parameters = question
        constants = rule.constants(parameters)
        compiled = _native.Rule(rule.name, list(constants.values())).step(*looks)
        *looks, n, w = looks
        step = rule.step(*looks, constants, n, w)
        assert all(map(same, compiled, step))
        assert not any(map(math.isnan, [*step, *compiled]))
        assert step.precision >= 0
        assert step.grow > 0

    on()


def printed(name, m, v, phi, C):
    """alpha and the gain in precision by the formulas as the paper prints them; digits enough for their differences."""
    with localcontext() as context:
        context.prec = 700
        m, v, phi, C = map(Decimal, (m, v, phi, C))
        if name == "scw2":
            n = v + 1 / (2 * C)
            gamma = phi * (phi**2 * m**2 * v**2 + 4 * n * v * (n + v * phi**2)).sqrt()
            alpha = max(Decimal(0), (-(2 * m * n + phi**2 * m * v) + gamma) / (2 * (n**2 + n * v * phi**2)))
        else:
            psi, zeta = 1 + phi**2 / 2, 1 + phi**2
            root = (m**2 * phi**4 / 4 + v * phi**2 * zeta).sqrt()
            alpha = max(Decimal(0), (-m * psi + root) / (v * zeta))
            alpha = min(alpha, C) if name == "scw1" else alpha
        deviation = (-alpha * v * phi + (alpha**2 * v**2 * phi**2 + 4 * v).sqrt()) / 2
        return alpha, alpha * phi / deviation


@pytest.mark.parametrize("name", ["cw", "scw1", "scw2"])
@pytest.mark.parametrize("margin", ["far_wrong", "slightly_wrong", "right_but_unsure"])
def test_alpha_and_precision_have_thirteen_digits(name, margin):
    rng = np.random.default_rng(3)
    for _ in range(150):
        v, C = 10 ** rng.uniform(-60, 60), 10 ** rng.uniform(-6, 6)
        constants = find_rule(name).constants({"eta": rng.uniform(0.501, 0.9999)} | ({"C": C} if name != "cw" else {}))
        z = {
            "far_wrong": -(10 ** rng.uniform(1, 60)),
            "slightly_wrong": -(10 ** rng.uniform(-60, 1)),
            # Closer to phi than this, the rounding of m/sqrt(v) alone costs more digits.
            "right_but_unsure": constants["phi"] * rng.choice([rng.uniform(0, 0.9), 10 ** rng.uniform(-60, 0) * 0.9]),
        }[margin]
        m = float(z * math.sqrt(v))
        step = find_rule(name).step(m, v, 0.0, 1.0, constants)
        alpha, precision = printed(name, m, v, constants["phi"], C)
        assert abs(Decimal(float(step.alpha)) / alpha - 1) < Decimal("1e-13"), (m, v, constants)
        assert abs(Decimal(float(step.precision)) / precision - 1) < Decimal("1e-13"), (m, v, constants)


@pytest.mark.parametrize("name", ["cw", "scw1", "scw2"])
@pytest.mark.parametrize(("m", "v"), [(-1e300, 1.0), (-1e250, 1e20)])
def test_a_margin_that_is_wrong_beyond_all_bounds_gives_a_finite_step(name, m, v):
    rule = find_rule(name)
    step = rule.step(m, v, 0.0, 1.0, rule.constants({}))
    assert 0 < step.alpha < math.inf
    assert 0 < step.precision < math.inf


#: The margin from which on a rule holds, and whether it holds there, too; norm2 = 9, v = 4, b = 1.
HOLDS = {
    **dict.fromkeys(("perceptron", "romma", "second_order_perceptron", "iellip"), (0.0, False)),
    **dict.fromkeys(("pa", "pa1", "pa2", "aggressive_romma", "arow", "nherd"), (1.0, True)),
    # The new variance is 1/b: 1 + k v = 4.
    "narow": (4.0, True),
}


@pytest.mark.parametrize("name", HOLDS)
def test_a_rule_holds_from_its_margin_on(name):
    limit, holds_there = HOLDS[name]
    rule = find_rule(name)

    def holds(m):
        return rule.step(m, 4.0, 9.0, 1.0, rule.constants({})) == HOLD

    assert holds(limit) == holds_there
    assert holds(np.nextafter(limit, 9.0))
    assert not holds(np.nextafter(limit, -9.0))


@pytest.mark.parametrize("name", ["cw", "scw1", "scw2"])
def test_a_confidence_weighted_rule_holds_from_its_confidence_on(name):
    rule = find_rule(name)
    constants = rule.constants({})
    for v in (0.25, 1.0, 16.0):
        assert rule.step(constants["phi"] * math.sqrt(v), v, 0.0, 1.0, constants) == HOLD
        assert rule.step(np.nextafter(constants["phi"], 0.0) * math.sqrt(v), v, 0.0, 1.0, constants) != HOLD


@pytest.mark.parametrize("t", [1.0, 2.0, 5.0])
@pytest.mark.parametrize("n", [1.0, 2.0])
def test_iellip_cuts_less_in_every_round(t, n):
    step = find_rule("iellip").step(-0.5, 2.0, 0.0, t, {"b": 0.3, "c": 0.1}, n)
    cut = 0.1 * 0.3 ** (t - 1)
    assert step == pytest.approx((0.75, n * cut / (1 - cut) / 2.0, 1.0, 1 / (1 - cut)), rel=1e-15)


@pytest.mark.parametrize(("m", "v", "b"), [(0.5, 4.0, 1.0), (-2.0, 3.0, 0.5), (-2.0, 0.5, 1.0), (0.0, 2.0, 0.5)])
def test_the_narow_of_libol_takes_arows_step_with_its_own_r(m, v, b):
    step = find_rule("narow_libol").step(m, v, 0.0, 1.0, {"b": b})
    assert _native.Rule("narow_libol", [b]).step(m, v, 0.0, 1.0, 1.0, 1.0) == step
    if b * v > 1:
        r = v / (b * v - 1)
        assert step == pytest.approx(((1 - m) / (v + r), 1 / r, 1.0, 1.0), rel=1e-14)
    else:
        # Nothing moves, but the round counts as an update.
        assert step.alpha == 0
        assert 1e-12 < step.precision * v < 1e-11


@pytest.mark.parametrize(("m", "v", "w"), [(-1.0, 2.0, 1.0), (-0.1, 0.3, 0.5), (0.2, 5.0, 2.0), (-30.0, 0.01, 1.0)])
def test_the_scw2_of_libol_has_two_typos(m, v, w):
    C, phi = 0.7, 1.2
    step = find_rule("scw2_libol").step(m, v, 0.0, 1.0, {"C": C, "phi": phi}, 1.0, w)
    assert _native.Rule("scw2_libol", [C, phi]).step(m, v, 0.0, 1.0, 1.0, w) == pytest.approx(step, rel=1e-14)
    n = v + 1 / (2 * w * C)
    root = math.sqrt(phi**4 * m**2 * (v * 2) + 4 * n * v * phi**2 * (n + v * (phi * 2)))
    alpha = (-(2 * m * n + phi**2 * m * v) + root) / (2 * (n**2 + n * v * phi**2))
    deviation = (-alpha * v * phi + math.sqrt((alpha * v * phi) ** 2 + 4 * v)) / 2
    assert step[:2] == pytest.approx((alpha, alpha * phi / deviation), rel=1e-9)


@every_rule
def test_a_parameter_that_the_rule_does_not_have_is_refused_by_name(rule):
    has = ", ".join(p.name for p in rule.parameters)
    with pytest.raises(TypeError) as error:
        rule.check({"gamma": 1.0})
    assert str(error.value) == f"{rule.name} has no parameter 'gamma'; it has {has or 'none'}"


def test_the_error_for_an_unknown_parameter_names_the_known_ones():
    with pytest.raises(TypeError, match=r"^scw1 has no parameter 'r'; it has C, eta$"):
        find_rule("scw1").check({"r": 1.0})


@every_parameter
def test_a_value_out_of_bounds_is_refused_with_what_is_allowed(rule, parameter):
    for value in (parameter.low, parameter.low - 1.0, parameter.high, math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match=f"^{parameter.name} must be .* between") as error:
            rule.check({parameter.name: value})
        assert f"between {parameter.low:g} and {parameter.high:g}, got {value!r}" in str(error.value)


@every_parameter
def test_a_value_that_is_no_number_is_refused_with_what_is_allowed(rule, parameter):
    for value in (True, "0.7", None, 1j, [0.7]):
        with pytest.raises(TypeError, match=f"^{parameter.name} must be .* between") as error:
            rule.check({parameter.name: value})
        assert repr(value) in str(error.value)


@every_parameter
def test_defaults_and_grids_are_allowed_and_numpy_numbers_are_numbers(rule, parameter):
    for value in (parameter.default, *parameter.grid, np.float64(0.75), np.float32(0.75)):
        assert rule.check({parameter.name: value})[parameter.name] == value


@pytest.mark.parametrize("eta", [0.5, 0.3, 1.0])
def test_eta_outside_one_half_to_one_is_refused(eta):
    with pytest.raises(ValueError, match=r"eta must be a number strictly between 0\.5 and 1, got"):
        find_rule("cw").check({"eta": eta})


def test_an_unknown_algorithm_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown algorithm 'scw3'; choose from .*scw1, scw2"):
        find_rule("scw3")


def test_a_name_that_is_taken_cannot_be_declared_again():
    with pytest.raises(ValueError, match="already declared in"):

        @rule(title="", estimator="Other", order=2, large_margin=True, non_separable=True, cite="2020")
        def scw1(m, v):
            return HOLD

    assert find_rule("scw1").estimator == "SCW1"


def test_a_rule_may_only_take_what_the_loops_pass():
    with pytest.raises(TypeError, match="odd: unknown arguments x; allowed: m, v, norm2, t"):
        Rule(lambda m, x: HOLD, "odd", "", "Odd", 2, (), True, True, False, "")


# The build step that translates the rules to C++.

COMPILER = Path(__file__).parents[2] / "native" / "compile_rules.py"
HEADER = """from __future__ import annotations
from math import exp, hypot, sqrt
from scwlearn.rules import HOLD, Step
FAR = 3
BEYOND = float("inf")
def half(a: float) -> float:
    return a / 2
def onward(a: float) -> Step:
    return Step(half(a), grow=2.0)
def scaled(a: float, by: float = 2.0) -> float:
    return a * by
def vague(a):
    return a
def endless(a: float) -> float:
    return endless(a)
def own_abs(a: float) -> float:
    return a if a > 0 else -a
def drawn(m: float, v: float, t: float) -> Step:
"""


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def compiled(tmp_path):
    """Return the C++ of a rule with the given statements as its body."""
    if not COMPILER.exists():
        pytest.skip("the C++ sources are not installed")
    compiler = load(COMPILER, "compile_rules")

    def compile_rule(*lines):
        path = tmp_path / "drawn.py"
        path.write_text(HEADER + "".join(f"    {line}\n" for line in lines))
        function = load(path, "drawn").drawn
        return compiler.compile_rule(Rule(function, "drawn", "", "Drawn", 2, (), True, True, False, ""), LOOKS)

    return compile_rule


@pytest.mark.parametrize(
    ("python", "cpp"),
    [
        ("1 / 2 + m * -v", "((1.0 / 2.0) + (m * (-v)))"),
        ("m ** (t - 1)", "std::pow(m, (t - 1.0))"),
        ("m if v > FAR else 2 - m", "((v > 3.0) ? m : (2.0 - m))"),
        ("min(m, sqrt(v))", "std::min<double>(m, std::sqrt(v))"),
        ("max(m, hypot(v, 1))", "std::max<double>(m, hypotenuse(v, 1.0))"),
        ("half(m)", "half(m)"),
    ],
)
def test_an_expression_is_translated_literally(compiled, python, cpp):
    text = compiled(f"a = {python}", "return Step(alpha=a, precision=v)")
    assert f"    a = {cpp};\n" in text
    assert "return Step{a, v, 1.0, 1.0};" in text


def test_a_chain_of_comparisons_is_translated(compiled):
    text = compiled("if -v < m <= 1:", "    return HOLD", "return Step(m)")
    assert "if ((((-v) < m) && (m <= 1.0)))" in text


def test_variables_are_declared_before_branches(compiled):
    text = compiled("'''Docstring.'''", "if m > 0 and not v > 1:", "    k = 1", "else:", "    k = 2", "return Step(k)")
    body = " ".join(text[text.index("Step step(") :].split())
    assert "{ double k = 0.0; if (((m > 0.0) && (!(v > 1.0)))) { k = 1.0; } else { k = 2.0; } return Step{k" in body
    assert "Docstring" not in text


def test_helpers_come_before_their_callers(compiled):
    text = compiled("if m > 0:", "    return HOLD", "return onward(m)")
    places = [text.index(part) for part in ("double half(double a)", "Step onward(double a)", "Step ask(")]
    assert places == sorted(places)
    assert "return HOLD;" in text


@pytest.mark.parametrize(
    ("lines", "row", "what"),
    [
        (["return Step(exp(m))"], 1, "'exp'"),
        (["a = m", "return Step(a if m in (0, 1) else 0.0)"], 2, "m in"),
        (["a = m", "a += 1", "return Step(a)"], 2, "a \\+= 1"),
        (["for i in range(3):", "    pass", "return HOLD"], 1, "for i in range"),
        (["m = 1", "return HOLD"], 1, "argument m"),
        (["if m > 0:", "    a = vague(m)", "return HOLD"], 2, "'vague'"),
        (["return Step(alpha=m, beta=v)"], 1, "beta"),
        (["return Step(m.real)"], 1, "m.real"),
        (["return Step(True)"], 1, "True"),
        (["return Step(m // 2)"], 1, "m // 2"),
        (["a, b = m, v", "return Step(a)"], 1, "a, b"),
        # Each of these four would only fail in the C++ compiler, without the line of the rule.
        (["return Step(min(m, v, t))"], 1, "min"),
        (["return Step(scaled(m))"], 1, "scaled"),
        (["return Step(BEYOND)"], 1, "BEYOND"),
        (["a = m", "norm2 = v", "return Step(norm2)"], 2, "norm2"),
        (["a = Step(m)", "return a"], 1, "a call of 'Step'"),
        (["return m"], 1, "the result 'm'"),
        (["new = m", "return Step(new)"], 1, "'new', which is reserved in C"),
        (["return Step(1e999)"], 1, "1e309"),
        (["return Step(endless(m))"], -3, "a recursive call of 'endless'"),
        # These would compile, but behave differently from Python.
        (["if m > 0:", "    return HOLD"], 0, "a path that returns nothing"),
        (["if m > 0:", "    a = m", "return Step(a)"], 3, "'a' where it may be unassigned"),
        (["return Step(abs(m))"], 1, "a call of 'abs'"),
        # Python's `or` returns m or v itself, not a bool.
        (["return Step(m or v)"], 1, "m or v"),
    ],
)
def test_unsupported_python_is_rejected_with_file_and_line(compiled, lines, row, what):
    line = HEADER.count("\n") + row
    with pytest.raises(SystemExit, match=rf"drawn\.py:{line}: a rule may not use .*{what}"):
        compiled(*lines)


def test_beta_is_the_papers_form_of_the_precision():
    assert Step(1.0, 3.0).beta(2.0) == 3.0 / 7.0
    assert HOLD.beta(2.0) == 0.0


@pytest.mark.native
@pytest.mark.parametrize("rule", all_rules(), ids=lambda r: r.name)
def test_a_rule_that_holds_holds_for_every_smaller_variance(rule):
    # The loops rely on this to skip rows that certainly change nothing.
    native = _native.Rule(rule.name, list(rule.constants({p.name: p.default for p in rule.parameters}).values()))
    rng = np.random.default_rng(3)
    held = 0
    for m, v, norm2, t in zip(
        rng.normal(size=4000) * 10 ** rng.uniform(-3, 3, 4000),
        10 ** rng.uniform(-6, 6, 4000),
        10 ** rng.uniform(-3, 3, 4000),
        rng.integers(1, 1000, 4000),
        strict=True,
    ):
        if native.step(m, v, norm2, float(t)) != (0.0, 0.0, 1.0, 1.0):
            continue
        held += 1
        for part in (0.999, 0.5, 1e-3, 1e-9):
            assert native.step(m, v * part, norm2, float(t)) == (0.0, 0.0, 1.0, 1.0)
    assert held > 100
