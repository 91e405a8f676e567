"""Translate every rule of src/scwlearn/rules to C++: one source file per rule, and a header that lists them.

Also writes the type stub of the estimators, which are generated from the same declarations at run time.

Run by CMake as `python native/compile_rules.py SOURCE_DIRECTORY OUTPUT_DIRECTORY`; prints the paths of the C++ files.
A rule may use + - * / **, comparisons, and/or/not, if, min, max, sqrt, hypot, module-level numbers, and functions
built from these. Anything else is rejected with its file and line.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import sys
import textwrap
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

# Functions a rule may call: their C++ name and number of arguments.
CALLS: dict[object, tuple[str, int]] = {
    math.sqrt: ("std::sqrt", 1),
    math.hypot: ("hypotenuse", 2),
    min: ("std::min<double>", 2),
    max: ("std::max<double>", 2),
}
ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
LOGIC = {ast.And: " && ", ast.Or: " || "}
STEP = {"alpha": "0.0", "precision": "0.0", "shrink": "1.0", "grow": "1.0"}
# Names that are valid in Python but reserved in C++ or used by the generated code.
TAKEN = """
alignas alignof auto bool case catch char concept const consteval constexpr constinit co_await co_return co_yield
decltype default delete do double dynamic_cast enum explicit export extern false float friend goto inline int long
mutable namespace new noexcept nullptr operator private protected public register reinterpret_cast requires short
signed sizeof static static_assert static_cast struct switch template this thread_local throw true typedef typeid
typename union unsigned using virtual void volatile wchar_t and_eq bitand bitor compl not_eq or_eq xor xor_eq
std scwlearn Step HOLD hypotenuse
"""


class Helpers:
    """C++ text of the functions that a rule calls; callees come before their callers."""

    def __init__(self) -> None:
        self.found: dict[str, Callable[..., Any]] = {}
        self.in_progress: list[Callable[..., Any]] = []
        self.texts: list[str] = []


class FunctionCompiler:
    """Translator of one Python function that returns a Step or a number, and of the functions it calls."""

    def __init__(self, function: Callable[..., Any], helpers: Helpers, reserved: tuple[str, ...] = ()) -> None:
        self.function = function
        self.helpers = helpers
        self.reserved = reserved
        lines, self.first_line = inspect.getsourcelines(function)
        self.file = inspect.getsourcefile(function)
        node = ast.parse(textwrap.dedent("".join(lines))).body[0]
        assert isinstance(node, ast.FunctionDef)
        self.node = node
        self.arguments = [a.arg for a in node.args.args]
        self.locals: list[str] = []
        # Variables that are certain to have a value at the current statement.
        self.assigned = set(self.arguments)
        self.returns_step = str(function.__annotations__.get("return", "Step")).endswith("Step")

    def error(self, node: ast.AST, what: str) -> SystemExit:
        line = self.first_line + getattr(node, "lineno", 1) - 1
        return SystemExit(f"{self.file}:{line}: a rule may not use {what} (allowed: see native/compile_rules.py)")

    def body(self) -> str:
        """Return the C++ statements of the function, with its variables declared first."""
        for argument in self.arguments:
            self.check_name(self.node, argument)
        text, ends = self.block([s for s in self.node.body if not self.is_docstring(s)])
        if not ends:
            raise self.error(self.node, "a path that returns nothing")
        return "".join(f"    double {name} = 0.0;\n" for name in self.locals) + text

    @staticmethod
    def is_docstring(node: ast.stmt) -> bool:
        return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)

    def check_name(self, node: ast.AST, name: str) -> None:
        if name in TAKEN.split():
            raise self.error(node, f"the name {name!r}, which is reserved in C++")

    def block(self, statements: list[ast.stmt]) -> tuple[str, bool]:
        """Translate statements; also return whether every path through them returns."""
        text, ends = "", False
        for statement in statements:
            part, ends = self.statement(statement)
            text += part
        return text, ends

    def statement(self, node: ast.stmt) -> tuple[str, bool]:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if name in self.arguments or name in self.reserved:
                    raise self.error(node, f"an assignment to its argument {name}")
                self.check_name(node, name)
                text = f"    {name} = {self.value(value)};\n"
                if name not in self.locals:
                    self.locals.append(name)
                self.assigned.add(name)
                return text, False
            case ast.If(test=test, body=body, orelse=orelse):
                return self.branches(test, body, orelse)
            case ast.Return(value=value) if value is not None:
                return f"    return {self.step(value) if self.returns_step else self.value(value)};\n", True
        raise self.error(node, f"the statement {ast.unparse(node).splitlines()[0]!r}")

    def branches(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> tuple[str, bool]:
        text = f"    if ({self.condition(test)}) {{\n"
        before = set(self.assigned)
        yes, yes_ends = self.block(body)
        after_yes, self.assigned = self.assigned, set(before)
        no, no_ends = self.block(orelse)
        # After the branches, only variables assigned on every path that gets there are certain.
        if yes_ends != no_ends:
            self.assigned = self.assigned if yes_ends else after_yes
        else:
            self.assigned &= after_yes
        text += f"{yes}    }}"
        return text + (f" else {{\n{no}    }}\n" if orelse else "\n"), yes_ends and no_ends

    def value(self, node: ast.expr) -> str:
        """Translate an expression whose value is a number."""
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool) and math.isfinite(
                number
            ):
                return repr(float(number))
            case ast.Name(id=name):
                return self.name(node, name)
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return f"std::pow({self.value(left)}, {self.value(right)})"
            case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
                return f"({self.value(left)} {ARITHMETIC[type(op)]} {self.value(right)})"
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"(-{self.value(operand)})"
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return f"({self.condition(test)} ? {self.value(body)} : {self.value(orelse)})"
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return f"{self.callee(node, name, len(args), 'double')}({', '.join(map(self.value, args))})"
        raise self.error(node, f"{ast.unparse(node)!r}")

    def condition(self, node: ast.expr) -> str:
        """Translate a condition. Separate from `value`: `a or b` is a number in Python but a bool in C++."""
        match node:
            case ast.Compare(left=left, ops=ops, comparators=rest) if {*map(type, ops)} <= COMPARISONS.keys():
                sides = [*map(self.value, (left, *rest))]
                pairs = [f"({a} {COMPARISONS[type(op)]} {b})" for (a, b), op in zip(pairwise(sides), ops, strict=True)]
                return pairs[0] if len(pairs) == 1 else f"({' && '.join(pairs)})"
            case ast.BoolOp(op=op, values=values):
                return f"({LOGIC[type(op)].join(map(self.condition, values))})"
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"(!{self.condition(operand)})"
        raise self.error(node, f"the condition {ast.unparse(node)!r}")

    def step(self, node: ast.expr) -> str:
        """Translate an expression whose value is a Step: HOLD, a constructor call, or another function's result."""
        match node:
            case ast.Name(id="HOLD"):
                return "HOLD"
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return f"({self.condition(test)} ? {self.step(body)} : {self.step(orelse)})"
            case ast.Call(func=ast.Name(id="Step"), args=args, keywords=keywords):
                given = dict(zip(STEP, map(self.value, args), strict=False))
                given |= {k.arg: self.value(k.value) for k in keywords if k.arg}
                if given.keys() <= STEP.keys() and len(args) + len(keywords) == len(given):
                    return f"Step{{{', '.join((STEP | given).values())}}}"
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return f"{self.callee(node, name, len(args), 'Step')}({', '.join(map(self.value, args))})"
        raise self.error(node, f"the result {ast.unparse(node)!r}")

    def name(self, node: ast.AST, name: str) -> str:
        if name in self.assigned:
            return name
        if name in self.locals:
            raise self.error(node, f"the name {name!r} where it may be unassigned")
        value = self.function.__globals__.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return repr(float(value))
        raise self.error(node, f"the name {name!r}")

    def callee(self, node: ast.AST, name: str, given: int, kind: str) -> str:
        function: Any = self.function.__globals__.get(name, getattr(builtins, name, None))
        known = inspect.isbuiltin(function) and function in CALLS
        if not known and not inspect.isfunction(function):
            raise self.error(node, f"a call of {name!r}")
        taken = CALLS[function][1] if known else len(inspect.signature(function).parameters)
        if given != taken:
            raise self.error(node, f"a call of {name!r} with {given} argument(s) instead of {taken}")
        if known and kind == "double":
            return CALLS[function][0]
        returns = {"Step": "Step", "float": "double"}.get(str(getattr(function, "__annotations__", {}).get("return")))
        if returns != kind:
            raise self.error(node, f"a call of {name!r} here; its annotated return type does not fit")
        self.compile_helper(node, name, function, kind)
        return name

    def compile_helper(self, node: ast.AST, name: str, function: Callable[..., Any], kind: str) -> None:
        self.check_name(node, name)
        if self.helpers.found.setdefault(name, function) is not function:
            raise self.error(node, f"two functions named {name!r}")
        heading = f"inline {kind} {name}("
        if any(text.startswith(heading) for text in self.helpers.texts):
            return
        if function in self.helpers.in_progress:
            raise self.error(node, f"a recursive call of {name!r}")
        self.helpers.in_progress.append(function)
        compiler = FunctionCompiler(function, self.helpers)
        signature = ", ".join(f"double {a}" for a in compiler.arguments)
        body = compiler.body()
        self.helpers.in_progress.pop()
        self.helpers.texts.append(f"{heading}{signature}) noexcept {{\n{body}}}\n")


def compile_rule(rule: Any, looks: tuple[str, ...]) -> str:
    """Return the C++ source of one rule: its helpers, its function and its registry entry."""
    helpers = Helpers()
    compiler = FunctionCompiler(rule.function, helpers, reserved=looks)
    body = compiler.body()
    letters = [p.argument for p in rule.parameters]
    constants = "".join(
        f"    [[maybe_unused]] const double {a} = static_cast<const double*>(constants)[{i}];\n"
        for i, a in enumerate(letters)
    )
    signature = ", ".join(f"[[maybe_unused]] double {a}" for a in looks)
    # A rule without a weight argument takes a fraction of its step.
    asked = ", ".join(looks)
    answer = f"step(constants, {asked})" if "w" in rule.arguments else f"part_of(step(constants, {asked}), w)"
    return f"""// Generated from {Path(str(compiler.file)).name} by native/compile_rules.py.
#include <algorithm>
#include <cmath>

#include "compiled_rules.hpp"

namespace scwlearn {{
namespace {{

{"".join(helpers.texts)}
inline Step step([[maybe_unused]] const void* constants, {signature}) {{
{constants}{body}}}

Step ask(const void* constants, {", ".join(f"double {a}" for a in looks)}) {{
    // Only classes that share one Sigma have another n; a constant saves the divisions by it.
    if (n == 1.0) return {answer.replace(" n,", " 1.0,")};
    return {answer};
}}

}}  // namespace

CompiledRule compiled_{rule.name}() {{ return {{"{rule.name}", {len(letters)}, {str(rule.uses_norm).lower()}, &ask}}; }}

}}  // namespace scwlearn
"""


def list_rules(names: list[str]) -> str:
    """Return the header that lists the rules for native/python/module.cpp."""
    declared = "".join(f"CompiledRule compiled_{name}();\n" for name in names)
    listed = ", ".join(f"compiled_{name}()" for name in names)
    return f"""// Generated by native/compile_rules.py.
#pragma once

#include <vector>

#include "core/interface.hpp"

namespace scwlearn {{

{declared}
inline const std::vector<CompiledRule>& compiled_rules() {{
    static const std::vector<CompiledRule> rules{{{listed}}};
    return rules;
}}

}}  // namespace scwlearn
"""


def write(path: Path, text: str) -> None:
    """Write a file only if it changed, so that only changed rules are compiled again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main(source: Path, output: Path) -> None:
    """Translate all rules."""
    sys.path.insert(0, str(source / "src"))
    from scwlearn.learning.signatures import stub
    from scwlearn.rules import LOOKS, all_rules, all_variants

    output.mkdir(parents=True, exist_ok=True)
    rules = all_rules() + all_variants()
    write(output / "compiled_rules.hpp", list_rules([r.name for r in rules]))
    write(output / "estimators.pyi", stub())
    for rule in rules:
        path = output / f"{rule.name}.cpp"
        write(path, compile_rule(rule, LOOKS))
        print(path.as_posix())


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
