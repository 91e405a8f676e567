"""Spells every rule of src/scwlearn/rules in C++: one source file each, and a header that lists them.

Beside them it writes the type stub of the estimators, which are made from the same declarations at run time.

Run by CMake: python native/spell.py SOURCE_DIRECTORY OUTPUT_DIRECTORY. Prints the C++ files.
A rule may use + - * / **, comparisons, and/or/not, if, min, max, sqrt, hypot, module-level numbers and
functions made of these. Anything else is refused with its line.
"""

from __future__ import annotations

import ast
import inspect
import math
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

# The functions that may be called, in C++, and how many arguments they take.
CALLS = {
    "sqrt": ("std::sqrt", 1),
    "hypot": ("std::hypot", 2),
    "min": ("std::min<double>", 2),
    "max": ("std::max<double>", 2),
}
ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
LOGIC = {ast.And: " && ", ast.Or: " || "}


class Speller:
    """Spells one Python function, and before it the functions that it calls."""

    def __init__(self, function: Callable[..., Any], done: dict[str, str], reserved: tuple[str, ...] = ()) -> None:
        self.function = function
        self.done = done
        self.reserved = reserved
        lines, self.first_line = inspect.getsourcelines(function)
        self.file = inspect.getsourcefile(function)
        node = ast.parse(textwrap.dedent("".join(lines))).body[0]
        assert isinstance(node, ast.FunctionDef)
        self.node = node
        self.arguments = [a.arg for a in node.args.args]
        self.locals: list[str] = []

    def refusal(self, node: ast.AST, what: str) -> SystemExit:
        line = self.first_line + getattr(node, "lineno", 1) - 1
        return SystemExit(f"{self.file}:{line}: a rule cannot be spelled with {what}; see native/spell.py for what may")

    def body(self) -> str:
        """The statements of the function, its variables declared first."""
        statements = [s for s in self.node.body if not self.is_docstring(s)]
        text = "".join(self.statement(s) for s in statements)
        return "".join(f"    double {name} = 0.0;\n" for name in self.locals) + text

    @staticmethod
    def is_docstring(node: ast.stmt) -> bool:
        return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)

    def statement(self, node: ast.stmt) -> str:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if name in self.arguments or name in self.reserved:
                    raise self.refusal(node, f"an assignment to its argument {name}")
                if name not in self.locals:
                    self.locals.append(name)
                return f"    {name} = {self.value(value)};\n"
            case ast.If(test=test, body=body, orelse=orelse):
                text = f"    if ({self.condition(test)}) {{\n{''.join(map(self.statement, body))}    }}"
                if orelse:
                    text += f" else {{\n{''.join(map(self.statement, orelse))}    }}"
                return text + "\n"
            case ast.Return(value=value) if value is not None:
                return f"    return {self.value(value)};\n"
        raise self.refusal(node, f"the statement {ast.unparse(node).splitlines()[0]!r}")

    def value(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=bool()):
                pass
            case ast.Constant(value=int() | float() as number):
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
            case ast.Call(func=ast.Name(id="Step"), args=args, keywords=keywords):
                return self.step(node, args, keywords)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return f"{self.callee(node, name, len(args))}({', '.join(map(self.value, args))})"
        raise self.refusal(node, f"{ast.unparse(node)!r}")

    def condition(self, node: ast.expr) -> str:
        """What is true or false; apart from values, because `a or b` is a number in Python and a truth in C++."""
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
                return f"({self.value(left)} {COMPARISONS[type(op)]} {self.value(right)})"
            case ast.BoolOp(op=op, values=values):
                return f"({LOGIC[type(op)].join(map(self.condition, values))})"
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"(!{self.condition(operand)})"
        raise self.refusal(node, f"the condition {ast.unparse(node)!r}")

    def name(self, node: ast.AST, name: str) -> str:
        if name in self.arguments or name in self.locals or name == "HOLD":
            return name
        value = self.function.__globals__.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return repr(float(value))
        raise self.refusal(node, f"the name {name!r}")

    def step(self, node: ast.AST, args: list[ast.expr], keywords: list[ast.keyword]) -> str:
        fields = {"alpha": "0.0", "precision": "0.0", "shrink": "1.0", "grow": "1.0"}
        given = dict(zip(fields, map(self.value, args), strict=False))
        given |= {k.arg: self.value(k.value) for k in keywords if k.arg}
        if not given.keys() <= fields.keys() or len(args) + len(keywords) != len(given):
            raise self.refusal(node, f"{ast.unparse(node)!r}")
        return f"Step{{{', '.join((fields | given).values())}}}"

    def callee(self, node: ast.AST, name: str, given: int) -> str:
        function = self.function.__globals__.get(name)
        if name not in CALLS and not inspect.isfunction(function):
            raise self.refusal(node, f"a call of {name!r}")
        taken = CALLS[name][1] if name in CALLS else len(inspect.signature(function).parameters)
        if given != taken:
            raise self.refusal(node, f"a call of {name!r} with {given} argument(s) in place of {taken}")
        if name in CALLS:
            return CALLS[name][0]
        if name not in self.done:
            self.done[name] = ""  # reserves the place of what it calls in turn, and stops a recursion
            speller = Speller(function, self.done)
            signature = ", ".join(f"double {a}" for a in speller.arguments)
            kind = {"Step": "Step", "float": "double"}.get(str(function.__annotations__.get("return")))
            if kind is None:
                raise self.refusal(node, f"a call of {name!r}, which is not annotated to return float or Step")
            body = speller.body()
            self.done[name] = f"inline {kind} {name}({signature}) noexcept {{\n{body}}}\n"
            self.done[name] = self.done.pop(name)  # after what it calls
        return name


def spell_rule(rule: Any, looks: tuple[str, ...]) -> str:
    """The C++ source of one rule: its helpers, its class and its entry in the list."""
    helpers: dict[str, str] = {}
    speller = Speller(rule.function, helpers, reserved=looks)
    body = speller.body()
    letters = [p.argument for p in rule.parameters]
    members = "".join(f"    double {a};\n" for a in letters)
    setters = "".join(f", {a}(constants[{i}])" for i, a in enumerate(letters)).removeprefix(", ")
    constructor = f" : {setters}" if setters else ""
    signature = ", ".join(f"[[maybe_unused]] double {a}" for a in looks)
    return f"""// Spelled from {Path(str(speller.file)).name} by native/spell.py.
#include "spelled_rules.hpp"

namespace scwlearn {{
namespace {{

{"".join(helpers.values())}
struct Spelled {{
    static constexpr bool kUsesNorm = {str(rule.uses_norm).lower()};
    static constexpr std::size_t kConstants = {len(letters)};
{members}
    explicit Spelled([[maybe_unused]] const double* constants) noexcept{constructor} {{}}

    Step operator()({signature}) const noexcept {{
{textwrap.indent(body, "    ")}    }}
}};

}}  // namespace

SpelledRule spelled_{rule.name}() {{ return spelled<Spelled>("{rule.name}"); }}

}}  // namespace scwlearn
"""


def spell_list(names: list[str]) -> str:
    """The header that bind.cpp reads."""
    declared = "".join(f"SpelledRule spelled_{name}();\n" for name in names)
    listed = ", ".join(f"spelled_{name}()" for name in names)
    return f"""// Written by native/spell.py.
#pragma once

#include <vector>

#include "loop.hpp"

namespace scwlearn {{

{declared}
inline const std::vector<SpelledRule>& spelled_rules() {{
    static const std::vector<SpelledRule> rules{{{listed}}};
    return rules;
}}

}}  // namespace scwlearn
"""


def write(path: Path, text: str) -> None:
    """Write only what changed, so that only that is compiled again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main(source: Path, output: Path) -> None:
    """Spell all rules."""
    sys.path.insert(0, str(source / "src"))
    from scwlearn.rules import LOOKS, all_rules
    from scwlearn.signatures import stub

    output.mkdir(parents=True, exist_ok=True)
    rules = all_rules()
    write(output / "spelled_rules.hpp", spell_list([r.name for r in rules]))
    write(output / "estimators.pyi", stub())
    for rule in rules:
        path = output / f"{rule.name}.cpp"
        write(path, spell_rule(rule, LOOKS))
        print(path.as_posix())


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
