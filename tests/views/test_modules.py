"""Joining ES modules, and values that can stand inside a page."""

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmexplain.views.modules import JS, as_json, explorer, join, lean, safe_script


def write(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
    return folder / "a.js"


def test_modules_are_joined_once_each_imported_before_importing(tmp_path):
    entry = write(
        tmp_path,
        a='import { two } from "./b.js";\nimport {\n  three,\n} from "./c.js";\n'
          "export function one() { return two + three; }\n",
        b='import { three } from "./c.js";\nexport const two = three + 1;\n',
        c="export let three = 3;\nexport class Four {}\nexport async function five() {}\n",
    )
    assert join(entry) == (
        "let three = 3;\nclass Four {}\nasync function five() {}\n"
        "const two = three + 1;\n"
        "function one() { return two + three; }\n"
    )


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a": 'import { x } from "./b.js";\nlet y = 1;', "b": "export let x;\nfunction y() {}"}, "b.js and a.js.*y"),
        ({"a": 'import { x } from "./b.js";\nconst { y, x } = {};', "b": "export const x = 1;"}, "b.js and a.js.*x"),
        ({"a": 'import { x } from "./b.js";', "b": 'import { y } from "./a.js";'}, "circle: a.js → b.js → a.js"),
        ({"a": 'import { x } from "./gone.js";'}, "a.js wants gone.js"),
        ({"a": 'import { x as y } from "./b.js";', "b": "export const x = 1;"}, "a.js renames"),
        ({"a": 'import x from "./b.js";', "b": ""}, "a.js: 'import x from"),
        ({"a": "export default 1;"}, "a.js: 'export default 1"),
        ({"a": "const x = 1;\nexport { x };"}, "a.js: 'export { x }"),
        ({"a": 'const x = await import("./b.js");'}, "a.js: 'import"),
    ],
)
def test_what_cannot_be_joined_is_named(tmp_path, files, said):
    with pytest.raises(ValueError, match=said):
        join(write(tmp_path, **files))


def test_comments_and_indentation_are_left_out_and_code_is_kept():
    code = "/* one\n   two */\nlet a = 1; // three\n\n  // four\n  /** five */\n  let b = a /* six */ * 2;\n"
    assert lean(code) == "let a = 1; // three\nlet b = a /* six */ * 2;\n"


def test_the_explorer_is_one_scope():
    assert not re.search(r"(?m)^(import|export)\b", explorer())
    source = join(JS / "home.js")
    for path in JS.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r"(?m)^export (?:async )?(?:function|const|class) (\w+)", text):
            assert len(re.findall(rf"(?m)^(?:async )?(?:function|const|class) {name}\b", source)) == 1, name


LEAVES = st.text() | st.integers() | st.booleans() | st.none()


@given(st.recursive(LEAVES, lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
def test_json_comes_back_the_same_and_cannot_end_a_script(value):
    text = as_json(value)
    assert json.loads(text) == value
    assert not re.search("[<\u2028\u2029\ud800-\udfff]", text)


def test_json_knows_hostile_text():
    hostile = ["</script><img src=x onerror=alert(1)>", "<!--", "\u2028", "\ud83d", "]]>"]
    assert "<" not in as_json(hostile) and json.loads(as_json(hostile)) == hostile
    with pytest.raises(ValueError, match="JSON compliant"):
        as_json(math.nan)


def test_code_cannot_end_its_script_element():
    code = safe_script('let a = "</SCRIPT>", b = `<!-- ${1}`;')
    assert code == 'let a = "<\\/SCRIPT>", b = `<\\!-- ${1}`;'
