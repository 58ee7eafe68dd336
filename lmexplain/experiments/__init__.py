"""A claim measured: each module has `run(length, seed)`, which returns its numbers and the rule that judges them.

| experiment | measures | claim |
|---|---|---|
| `window_cost` | pairs of a sliding window against length and width | C123 |
| `dilated_field` | the receptive field of stacked windows, with and without dilation | C124 |
| `global_symmetry` | who sees the global tokens, whom they see, what their projections weigh | C125 |
| `random_keys` | how many keys each query draws, how evenly, and in blocks | C126 |
| `graph_distance` | diameter and mean path of the attention graph | C127 |
| `mask_matrix` | one set of weights under UniLM's four matrices | C058 |
| `factorized_embedding` | ALBERT's token table in two factors, and the rank of their product | C102, C140 |
| `shared_layers` | ALBERT's sizes with one set of layer weights | C103 |
| `module_replacing` | what BERT-of-Theseus leaves, and what it trains | C128, C129, C143 |
"""

from importlib import import_module

from lmexplain.experiments.measure import JUDGEMENTS, LENGTHS, Experiment, Measured, Verdict, choose
from lmexplain.experiments.record import from_json, numbers, to_json

__all__ = [
    "EXPERIMENTS",
    "JUDGEMENTS",
    "LENGTHS",
    "Experiment",
    "Measured",
    "Verdict",
    "choose",
    "from_json",
    "numbers",
    "result_type",
    "run",
    "to_json",
]

EXPERIMENTS = {
    "window_cost": "WindowCost",
    "dilated_field": "DilatedField",
    "global_symmetry": "GlobalSymmetry",
    "random_keys": "RandomKeys",
    "graph_distance": "GraphDistance",
    "mask_matrix": "MaskMatrix",
    "factorized_embedding": "FactorizedEmbedding",
    "shared_layers": "SharedLayers",
    "module_replacing": "ModuleReplacing",
}
"""Every experiment (a module of this folder) and the class of its result. Modules are imported when they are run."""


def run(name: str, length: str = "reduced", seed: int = 0) -> Experiment:
    """Measure: `length` is "reduced" (at most 6 s), "quick" (at most 60 s) or "thorough". Same seed, same numbers."""
    return _module(name).run(length, seed)


def result_type(name: str) -> type:
    """The frozen dataclass that `run(name)` returns."""
    return getattr(_module(name), EXPERIMENTS[name])


def _module(name: str):
    if name not in EXPERIMENTS:
        raise ValueError(f"there is no experiment {name!r}; there are {', '.join(EXPERIMENTS)}")
    return import_module(f"lmexplain.experiments.{name}")
