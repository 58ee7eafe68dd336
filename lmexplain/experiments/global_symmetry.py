"""C125: chosen tokens see all and are seen by all (Longformer: Beltagy et al. 2020, section 3.1).

Read off the grid of a real document under a question: [CLS] is global for classification, the tokens of the question
for question answering. The tokens are words, since word pieces come with a later chapter; the pattern does not mind.
The weights that the global tokens cost (projections of their own) are counted from PyTorch's modules on the meta
device, which holds shapes and no numbers.
"""

from dataclasses import dataclass

import torch
from torch import nn

from lmexplain.experiments.measure import Measured, Verdict, choose
from lmexplain.experiments.window_cost import pairs
from lmexplain.patterns import Pattern, longformer, window
from lmexplain.text import corpus, read

__all__ = ["GlobalSymmetry", "longformer_base", "question_and_document", "run"]

QUESTION = "Who may vote on a general resolution in the Debian project?"
DOCUMENT = ("handbook-en", "The Debian Project")


@dataclass(frozen=True)
class GlobalSymmetry:
    """Shares of tokens, the least over the global tokens; pairs; parameters of the base model."""

    n: int
    question: int
    see_cls: Measured
    seen_by_cls: Measured
    see_question: Measured
    seen_by_question: Measured
    pairs_local: Measured
    pairs_cls: Measured
    pairs_question: Measured
    projections: Measured
    parameters: Measured

    def verdict(self) -> Verdict:
        """Correct where each global token sees all tokens and is seen by all; imprecise where only one holds."""
        sees = min(self.seen_by_cls.low, self.seen_by_question.low)
        seen = min(self.see_cls.low, self.see_question.low)
        ways = sum(share == 100 for share in (sees, seen))
        added = self.pairs_question.mean - self.pairs_local.mean
        sight = "all tokens" if sees == 100 else f"at least {sees:.1f}% of the tokens"
        sight_zh = "能看到全部 token" if sees == 100 else f"至少能看到 {sees:.1f}% 的 token"
        by = "all" if seen == 100 else f"at least {seen:.1f}%"
        by_zh = "被全部 token 看到" if seen == 100 else f"至少被 {seen:.1f}% 的 token 看到"
        return Verdict(
            ("wrong", "imprecise", "correct")[ways],
            f"in a text of {self.n:,} tokens every global token sees {sight} and is seen by {by};"
            f" {self.question} question tokens add {added:,.0f} pairs, and global tokens have"
            f" projections of their own, {self.projections.mean:,.0f} parameters",
            f"在 {self.n:,} 个 token 的文本里，每个全局 token {sight_zh}，并{by_zh}；"
            f"{self.question} 个问题 token 增加 {added:,.0f} 个配对，全局 token 还有自己的投影，"
            f"共 {self.projections.mean:,.0f} 个参数",
        )


def run(length: str = "reduced", seed: int = 0) -> GlobalSymmetry:
    """Exact; the seed changes nothing."""
    n = choose(length, reduced=1024, quick=4096, thorough=4096)
    tokens, places = question_and_document(n)
    width = 512
    n = len(tokens)
    cls, asked = longformer(width, tokens=(0,)), longformer(width, tokens=places)
    see_cls, seen_by_cls = symmetry(cls.at(n).dense(), (0,))
    see_question, seen_by_question = symmetry(asked.at(n).dense(), places)
    parameters, projections = longformer_base()

    def share(percent: float, what: str, what_zh: str) -> Measured:
        return Measured.of(percent, "%", what, what_zh=what_zh)

    def counted(pattern: Pattern, what: str, what_zh: str) -> Measured:
        return Measured.of(pairs(pattern, n), "pairs", what, unit_zh="个配对", what_zh=what_zh)

    return GlobalSymmetry(
        n=n,
        question=len(places),
        see_cls=share(see_cls, "tokens that see [CLS]", "能看到 [CLS] 的 token"),
        seen_by_cls=share(seen_by_cls, "tokens that [CLS] sees", "[CLS] 能看到的 token"),
        see_question=share(see_question, "tokens that see every question token", "能看到每个问题 token 的 token"),
        seen_by_question=share(
            seen_by_question, "tokens that every question token sees", "每个问题 token 都能看到的 token"
        ),
        pairs_local=counted(window(width), "window alone", "只有窗口"),
        pairs_cls=counted(cls, "window and [CLS] global", "窗口 + 全局 [CLS]"),
        pairs_question=counted(asked, "window and question global", "窗口 + 全局问题 token"),
        projections=Measured.of(
            projections, "parameters", "query, key and value projections of the global tokens, base",
            unit_zh="个参数", what_zh="全局 token 的 query、key、value 投影，base",
        ),
        parameters=Measured.of(
            parameters, "parameters", "the whole base model, with pooler",
            unit_zh="个参数", what_zh="整个 base 模型，含 pooler",
        ),
    )  # fmt: skip


def question_and_document(n: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The n tokens `[CLS] question [SEP] document [SEP]`, the document cut to fit, and the places of the question."""
    question = read(QUESTION).tokens
    name, title = DOCUMENT
    document = read(corpus(name).document(title).text, limit=n).tokens
    tokens = ("[CLS]", *question, "[SEP]", *document)[: n - 1] + ("[SEP]",)
    return tokens, tuple(range(1, 1 + len(question)))


def symmetry(allowed: torch.Tensor, places: tuple[int, ...]) -> tuple[float, float]:
    """Of (n, n) bool: the share of tokens that see a place, and that it sees, in %, each the least over the places."""
    chosen = list(places)
    seen, sees = allowed[:, chosen].double().mean(0), allowed[chosen].double().mean(1)
    return 100 * float(seen.min()), 100 * float(sees.min())


def longformer_base() -> tuple[int, int]:
    """Parameters of Longformer base with its pooler, and those of the global projections among them.

    Put together from PyTorch's own modules by the published sizes (RoBERTa's, with 4,096 positions and the two that
    RoBERTa leaves unused); the model itself has a chapter to come.
    """
    hidden, layers, inner, vocabulary, positions = 768, 12, 3072, 50265, 4096 + 2
    with torch.device("meta"):
        roberta = nn.ModuleList([
            nn.Embedding(vocabulary, hidden),
            nn.Embedding(positions, hidden),
            nn.Embedding(1, hidden),  # one segment type
            nn.LayerNorm(hidden),
            *(nn.TransformerEncoderLayer(hidden, 12, inner) for _ in range(layers)),
            nn.Linear(hidden, hidden),  # pooler
        ])  # fmt: skip
        projections = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(layers * 3))  # Q_g, K_g, V_g
    own = sum(weight.numel() for weight in projections.parameters())
    return own + sum(weight.numel() for weight in roberta.parameters()), own
