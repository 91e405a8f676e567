"""Print how much memory each reader takes, as the table of docs/testing.md: `python -m stress.memory_table`."""

from __future__ import annotations

from multiprocessing import get_context
from random import Random

from stress.reader_memory import KINDS, PACKERS, expands, measure, warm

# Bytes of data, and of text whose features options may multiply.
_BYTES, _BYTES_TO_EXPAND = 4_000_000, 50_000
# Data are drawn this often, and the largest figure counts.
_DRAWS = 6
_PACKED = ("csv text", "jsonl text")
_MEBIBYTE = 2**20


def _measured(kind: str, size: int, draw: int, packing: str = "") -> tuple[int, int, int, bool]:
    """Return how many bytes reading takes, those of the data, unpacked and packed, and whether options expand them."""
    data, options = KINDS[kind](Random(f"{kind}/{draw}"), size)
    packed = PACKERS[packing](data) if packing else data
    return measure(kind, packed, options), len(data), len(packed), expands(options)


def main() -> None:
    """Measure each kind of data, each time in a process of its own, and print the table."""
    warm()
    cases = [(kind, size, draw) for kind in KINDS for size in (_BYTES, _BYTES_TO_EXPAND) for draw in range(_DRAWS)]
    packed = [(kind, _BYTES, draw, packing) for packing in PACKERS for kind in _PACKED for draw in range(_DRAWS)]
    with get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        found = dict(zip(cases, pool.starmap(_measured, cases, chunksize=1), strict=True))
        unpacked = dict(zip(packed, pool.starmap(_measured, packed, chunksize=1), strict=True))
    print("| data | MiB for 4 MB | per byte | MiB for 50 kB | the same with options that multiply features |")
    print("|---|--:|--:|--:|--:|")
    for kind in KINDS:
        large = [found[kind, _BYTES, draw] for draw in range(_DRAWS)]
        small = [found[kind, _BYTES_TO_EXPAND, draw] for draw in range(_DRAWS)]
        plain = [taken for taken, _, _, expanded in small if not expanded]
        multiplied = [taken for taken, _, _, expanded in small if expanded]
        print(f"| {kind} | {_largest([taken for taken, *_ in large])} | {_per_byte(large)} |", end="")
        print(f" {_largest(plain)} | {_largest(multiplied)} |")
    print("\n| packed | kB for 4 MB of text | MiB | per unpacked byte |\n|---|--:|--:|--:|")
    for packing in PACKERS:
        each = [result for (_, _, _, name), result in unpacked.items() if name == packing]
        least = min(size for _, _, size, _ in each) / 1000
        print(f"| {packing} | {least:,.0f} | {_largest([taken for taken, *_ in each])} | {_per_byte(each)} |")


def _largest(taken: list[int]) -> str:
    return f"{max(taken) / _MEBIBYTE:,.0f}" if taken else ""


def _per_byte(results: list[tuple[int, int, int, bool]]) -> str:
    return f"{max(taken / size for taken, size, _, _ in results):.0f}"


if __name__ == "__main__":
    main()
