"""Build `NotoSansSC-lmexplain.ttf` from npm's `@fontsource/noto-sans-sc`: one file that matplotlib can open.

The package cuts Noto Sans SC into slices for the web. This script joins the regular weight again: the characters of
GB 2312 (the standard set of simplified Chinese), those of the slice named chinese-simplified, and the Latin, Cyrillic
and symbol slices; layout tables are left out, since neither matplotlib nor a canvas label needs them.

    npm pack @fontsource/noto-sans-sc && tar xzf fontsource-noto-sans-sc-*.tgz
    python build.py package                       # writes the font, its licence and font.json beside this script

Needs fontTools and brotli. The same package gives the same bytes: times in the file are fixed.
"""

import hashlib
import json
import shutil
import sys
from pathlib import Path

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.recordingPen import DecomposingRecordingPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont

__all__ = ["build"]

HERE = Path(__file__).parent
FAMILY = "Noto Sans SC lmexplain"           # a name of its own, so that no installed Noto Sans SC is taken for it
PRIVATE_USE = range(0xE000, 0xF900)
HAN = range(0x3400, 0xA000)


def gb2312() -> set[int]:
    """The code points of GB 2312, counted off its two-byte table."""
    points = set()
    for row in range(0xA1, 0xF8):
        for cell in range(0xA1, 0xFF):
            try:
                points.add(ord(bytes([row, cell]).decode("gb2312")))
            except UnicodeDecodeError:
                continue                    # an empty place of the table
    return points


def collect(folder: Path) -> dict[int, tuple[object, int]]:
    """Code point -> (outline, advance width), from the regular slices; a later slice does not replace an earlier."""
    slices = sorted(folder.glob("files/noto-sans-sc-*-400-normal.woff2"))
    if not slices:
        raise SystemExit(f"{folder} has no files/noto-sans-sc-*-400-normal.woff2; unpack the npm package there")
    common = set(TTFont(folder / "files" / "noto-sans-sc-chinese-simplified-400-normal.woff2").getBestCmap())
    wanted_han = gb2312() | common
    found: dict[int, tuple[object, int]] = {}
    for path in slices:
        font = TTFont(path)
        glyphs = font.getGlyphSet()
        for point, name in font.getBestCmap().items():
            if point in found or point in PRIVATE_USE or (point in HAN and point not in wanted_han) or point > 0xFFFF:
                continue
            record = DecomposingRecordingPen(glyphs)
            glyphs[name].draw(record)
            pen = TTGlyphPen(None)
            record.replay(pen)
            found[point] = pen.glyph(dropImpliedOnCurves=True), font["hmtx"][name][0]
    return found


def build(folder: Path, out: Path) -> None:
    """Write the joined font to `out`."""
    found = collect(folder)
    sample = TTFont(folder / "files" / "noto-sans-sc-latin-400-normal.woff2")
    names = {point: f"uni{point:04X}" for point in sorted(found)}
    box = sample["glyf"][".notdef"]
    builder = FontBuilder(sample["head"].unitsPerEm, isTTF=True)
    builder.setupGlyphOrder([".notdef", *names.values()])
    builder.setupCharacterMap(names)
    builder.setupGlyf({".notdef": box, **{names[point]: glyph for point, (glyph, _) in found.items()}})
    left = {name: getattr(builder.font["glyf"][name], "xMin", 0) for name in builder.font.getGlyphOrder()}
    width = {names[point]: advance for point, (_, advance) in found.items()} | {".notdef": sample["hmtx"][".notdef"][0]}
    builder.setupHorizontalMetrics({name: (width[name], left[name]) for name in left})
    builder.setupHorizontalHeader(ascent=sample["hhea"].ascent, descent=sample["hhea"].descent)
    builder.setupNameTable({
        "copyright": sample["name"].getDebugName(0), "familyName": FAMILY, "styleName": "Regular",
        "uniqueFontIdentifier": f"{FAMILY} Regular", "fullName": f"{FAMILY} Regular", "version": "Version 2.004",
        "psName": FAMILY.replace(" ", "") + "-Regular", "licenseInfoURL": sample["name"].getDebugName(14),
    }, mac=False)
    os2 = sample["OS/2"]
    builder.setupOS2(sTypoAscender=os2.sTypoAscender, sTypoDescender=os2.sTypoDescender, usWinAscent=os2.usWinAscent,
                     usWinDescent=os2.usWinDescent, usWeightClass=400)
    builder.setupPost(keepGlyphNames=False)
    builder.font["head"].created = builder.font["head"].modified = sample["head"].created
    builder.font.recalcTimestamp = False
    builder.save(out)


def main(folder: Path) -> None:
    out = HERE / "NotoSansSC-lmexplain.ttf"
    build(folder, out)
    shutil.copyfile(folder / "LICENSE", HERE / "OFL.txt")
    package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    facts = {
        "family": FAMILY, "file": out.name, "bytes": out.stat().st_size,
        "characters": len(TTFont(out).getBestCmap()), "sha256": hashlib.sha256(out.read_bytes()).hexdigest(),
        "source": f"npm {package['name']} {package['version']}",
        "upstream": "https://github.com/google/fonts (Noto Sans SC)",
        "licence": "OFL-1.1", "licence_file": "OFL.txt", "built_by": "build.py",
        "copyright": TTFont(out)["name"].getDebugName(0),
    }
    (HERE / "font.json").write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{out.name}: {facts['characters']} characters, {facts['bytes'] / 1e6:.2f} MB")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python build.py FOLDER   (the unpacked npm package @fontsource/noto-sans-sc)")
    main(Path(sys.argv[1]))
