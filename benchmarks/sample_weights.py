"""What weights do: held-out errors in % with equal weights for all examples, and balanced errors with class weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from data_sets import argument_parser, load, orders

import scwlearn

SETS = ["svmguide3", "w7a", "a9a", "ijcnn1", "cod-rna-scaled", "covtype-scaled"]
MODELS: dict[str, dict[str, Any]] = {
    "Perceptron": {},
    "PA": {},
    "PA1": {},
    "PA2": {},
    "CW": {"covariance": "diagonal-drop"},
    "SCW1": {"covariance": "diagonal"},
    "AROW": {"covariance": "diagonal"},
}
WEIGHTS = (0.1, 0.5, 1.0, 2.0, 10.0)
ORDERS, ROWS = 3, 20_000


def errors(name: str, x: Any, y: Any, weight: float, class_weight: str | None) -> tuple[float, float]:
    """Return the error and the balanced error on the last third of the rows, after one pass over the others."""
    cut = 2 * len(y) // 3
    model = getattr(scwlearn, name)(class_weight=class_weight, shuffle=False, **MODELS[name])
    model.fit(x[:cut], y[:cut], sample_weight=np.full(cut, weight))
    wrong = model.predict(x[cut:]) != y[cut:]
    return wrong.mean(), np.mean([wrong[y[cut:] == label].mean() for label in np.unique(y)])


def main() -> None:
    """Print a row for each model, with geometric means over the sets."""
    given = argument_parser(__doc__, SETS).parse_args()
    found: dict[str, list[list[float]]] = {name: [] for name in MODELS}
    for name in given.sets:
        data = load(name, given.data_dir)
        for order in orders(data, ORDERS)[1:]:
            x, y = data.x[order[:ROWS]], data.y[order[:ROWS]]
            for model, lines in found.items():
                equal = [errors(model, x, y, weight, None) for weight in WEIGHTS]
                balanced = errors(model, x, y, 1.0, "balanced")
                lines.append([error for error, _ in equal] + [equal[WEIGHTS.index(1.0)][1], balanced[1]])
    heads = [*(f"weight {weight:g}" for weight in WEIGHTS), "balanced error", "with class weights"]
    print(f"| | {' | '.join(heads)} |\n|---|{'--:|' * len(heads)}")
    for model, lines in found.items():
        means = 100 * np.exp(np.log(np.maximum(lines, 1e-4)).mean(axis=0))
        print(f"| {model} | {' | '.join(f'{mean:.1f}' for mean in means)} |", flush=True)


if __name__ == "__main__":
    main()
