"""A claim and what became of it: in a chapter (`claim`) and in the terminal (`lmexplain claims`)."""

import argparse

from lmexplain.experiments import LENGTHS, Experiment, Verdict, numbers
from lmexplain.study.data import Claim, claims, find_claim, sources
from lmexplain.study.ledger import SHIPPED, Record, judge, measured, remembered, write
from lmexplain.study.pages import MARKS, Shown, claim_page
from lmexplain.study.terminal import bold, columns, fill, pad, width
from lmexplain.words import LANGUAGES, language, word

__all__ = ["add_arguments", "claim", "run"]


def claim(id: str, result: Experiment | None = None, lang: str = "en") -> Shown:
    """The claim `id` for a chapter: verdict, correction, evidence.

    The verdict is the one that the numbers give: those of `result` (of `study.measure(id)`), else those in the ledger;
    where nothing was measured it is the papers'.
    """
    row = find_claim(id)
    if result is None and (record := remembered(row)) is not None:
        result = record.result
    verdict = judge(row, result) if result is not None else None
    figures = numbers(result) if result is not None else ()
    plain = [_heading(row, language(lang)), _verdict(row, verdict, lang), row.correction.of(lang)]
    return Shown(claim_page(row, verdict, figures, lang), "\n".join(plain))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `lmexplain claims`."""
    parser.add_argument("id", nargs="?", help="the claim, for instance C123; without one, all are listed")
    parser.add_argument("--run", action="store_true", help="measure it now (without an id: all of them)")
    parser.add_argument("--write", action="store_true", help="with --run: make these the results of the package")
    parser.add_argument("--length", choices=LENGTHS, default="quick", help="at most 6 s, at most 60 s, or thorough")
    parser.add_argument("--seed", type=int, default=0, help="seed of what is random (default: 0)")
    parser.add_argument("--chapter", help="list the claims of one chapter only")
    parser.add_argument("--lang", choices=LANGUAGES, default="en", help="language (default: en)")


def run(args: argparse.Namespace) -> int:
    """`lmexplain claims`: print the ledger, or one claim, measured first with `--run`; the exit status."""
    if args.write and (not args.run or args.id is not None or args.chapter is not None):
        raise ValueError("--write records all claims as measured; use it with --run, without an id or --chapter")
    if args.id is not None:
        row = find_claim(args.id)
        _print_claim(row, _record(row, args), args.lang)
        return 0
    chosen = [row for row in claims().values() if args.chapter in (None, row.chapter)]
    if not chosen:
        known = ", ".join(sorted({row.chapter for row in claims().values()}))
        raise ValueError(f"there is no claim in chapter {args.chapter!r}; there are some in {known}")
    records: dict[str, Record | None] = {}
    for row in chosen:
        if args.run and row.experiment:
            print(f"{row.id} …", flush=True)
        records[row.id] = _record(row, args)
    if args.write:
        write({row.experiment: record for row in chosen if (record := records[row.id])})
        print(word("study.wrote", args.lang, path=SHIPPED))
    _print_ledger(chosen, records, args.lang)
    return 0


def _record(row: Claim, args: argparse.Namespace) -> Record | None:
    """Measured now where that is asked for, else from memory; of this seed in both cases."""
    if args.run and (row.experiment or args.id):
        return measured(row, args.length, args.seed, again=True)
    return remembered(row, args.seed)


def _print_ledger(chosen: list[Claim], records: dict[str, Record | None], lang: str) -> None:
    """Claim, source, verdict, evidence and chapter as a table; the sentence of the claim under each row."""
    heads = ("claim", "source", "verdict", "evidence", "chapter")
    table = [tuple(word(f"study.column_{head}", lang) for head in heads)]
    table += [_row(row, records[row.id], lang) for row in chosen]
    cells = [max(width(line[i]) for line in table) for i in range(len(heads))]
    lines = ["  ".join(pad(text, size) for text, size in zip(line, cells, strict=True)).rstrip() for line in table]
    print(bold(lines[0]))
    for row, line in zip(chosen, lines[1:], strict=True):
        print(f"{line}\n{fill(row.claim.of(lang), ' ' * (cells[0] + 2))}")
    print("\n" + fill(word("study.ledger_hint", lang, id=chosen[0].id)))
    print(fill(sources(lang)))


def _row(row: Claim, record: Record | None, lang: str) -> tuple[str, ...]:
    verdict = judge(row, record.result) if record else Verdict(row.verdict, "-", "-")
    source = row.source.text(lang) + (f" ({row.badge.of(lang)})" if row.badge else "")
    said = f"{MARKS[verdict.judgement]} {verdict.word(lang)}"
    found = word("study.ledger_measured" if record else "study.ledger_papers", lang, verdict=said)
    rests = word(f"study.kind.{row.kind}", lang, ref=row.experiment or row.evidence[0].text(lang))
    return row.id, source, found, rests, row.chapter


def _print_claim(row: Claim, record: Record | None, lang: str) -> None:
    print(bold(_heading(row, lang)))
    print("\n" + fill(_verdict(row, judge(row, record.result) if record else None, lang)))
    print("\n" + fill(word("study.correction", lang, text=row.correction.of(lang))))
    rests = " · ".join(item.text(lang) for item in row.evidence)
    print("\n" + fill(word("study.evidence", lang, evidence=rests)))
    print("\n" + fill(sources(lang)))
    if record is None:
        print("\n" + fill(word("study.ledger_hint", lang, id=row.id)) if row.experiment else "")
        return
    measurements = numbers(record.result)
    print("\n" + bold(word("study.numbers", lang, count=len(measurements))))
    for each in measurements:
        label, number = each.label(lang), each.text(lang)
        gap = columns() - width(label) - width(number)
        print(f"{label} {'.' * (gap - 2)} {number}" if gap > 3 else f"{label}\n{' ' * 4}{number}")
    key = "study.took" if record.fresh else "study.shipped" if record.versions else "study.remembered"
    how = {"length": record.length, "seed": record.seed, "seconds": record.seconds, "versions": record.versions}
    print("\n" + fill(word(key, lang, **how)))


def _heading(row: Claim, lang: str) -> str:
    badge = row.badge.of(lang) if row.badge else ""
    chapter = word("study.chapter", lang, chapter=row.chapter)
    place = " · ".join(filter(None, (row.source.text(lang), row.source.title, badge, row.question, chapter)))
    return f"{fill(row.claim.of(lang), row.id + '  ')}\n{fill(place, '      ')}"


def _verdict(row: Claim, verdict: Verdict | None, lang: str) -> str:
    judged = verdict or Verdict(row.verdict, "-", "-")
    said = f"{MARKS[judged.judgement]} {judged.word(lang)}"
    if verdict is None:
        return word("study.by_papers", lang, verdict=said)
    line = word("study.measured", lang, verdict=said, reason=verdict.reason(lang))
    if verdict.judgement == row.verdict:
        return line
    return f"{line} {word('study.contradicts', lang, verdict=Verdict(row.verdict, '-', '-').word(lang))}"
