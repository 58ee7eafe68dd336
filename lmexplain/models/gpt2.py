"""GPT-2 (Radford, Wu, Child, Luan, Amodei & Sutskever 2019, OpenAI report). Differs from GPT in: the norm stands before
each sublayer and once more after the last, residual projections start smaller, longer texts, bytes for tokens (2.3).

The paper's table 2 counts 117M to 1542M parameters; the released files hold 124M to 1558M.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from ..layers import (
    ACTIVATIONS,
    FeedForward,
    Head,
    MultiHeadAttention,
    PreNormBlock,
    QuestionAnswering,
    Run,
    TokenClassification,
)
from ..patterns import Grid
from .gpt import Gpt, GptConfig, GptLayer

__all__ = ["Gpt2", "Gpt2Config", "Gpt2Layer"]


@dataclass(frozen=True, kw_only=True)
class Gpt2Config(GptConfig):
    """GPT-2's sizes (table 2); the defaults are gpt2's."""

    PUBLISHED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "gpt2": {},
        "gpt2-medium": {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16},
        "gpt2-large": {"hidden_size": 1280, "num_hidden_layers": 36, "num_attention_heads": 20},
        "gpt2-xl": {"hidden_size": 1600, "num_hidden_layers": 48, "num_attention_heads": 25},
    }
    ACTIVATIONS: ClassVar[Mapping[str, str]] = {name: name for name in ACTIVATIONS}

    vocab_size: int = 50257
    hidden_act: str = "gelu_new"
    max_position_embeddings: int = 1024


class Gpt2Layer(GptLayer):
    """h ← h + attention(LN(h)), h ← h + FFN(LN(h))."""

    Block = PreNormBlock


class Gpt2(Gpt):
    """The pre-norm decoder. Its last hidden state is the one after the last norm, as the heads see it."""

    config: Gpt2Config  # pyright: ignore[reportIncompatibleVariableOverride]  # its own class
    Layer = Gpt2Layer
    heads: ClassVar[Mapping[str, Callable[[Any], Head]]] = {
        **Gpt.heads,
        "TokenClassification": lambda gpt2: TokenClassification(*gpt2.classifier()),
        "QuestionAnswering": lambda gpt2: QuestionAnswering(gpt2.config.hidden_size),
    }

    def finish(self, head: str | None, pooler: bool | None = None) -> None:
        self.norm = nn.LayerNorm(self.config.hidden_size, self.config.layer_norm_eps)
        super().finish(head, pooler)

    def init_weights(self, module: nn.Module) -> None:
        """What leads back into the residual stream starts at 1/√N of the rest, N = 2 L sublayers (2.3)."""
        super().init_weights(module)
        if isinstance(module, MultiHeadAttention | FeedForward):
            last = module.output if isinstance(module, MultiHeadAttention) else module.outer
            nn.init.normal_(last.weight, std=self.config.initializer_range / math.sqrt(2 * len(self.layers)))

    def walk(self, x: Tensor, grids: Sequence[Grid], run: Run) -> list[Tensor]:
        *states, last = super().walk(x, grids, run)
        return [*states, self.norm(last)]
