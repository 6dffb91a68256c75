"""Strategies that damage a JSON file the ways that files get damaged."""

import copy
import json

from hypothesis import strategies as st

# Values that stand where another type should. Lone surrogates and control
# characters come from JSON escapes.
_VALUES = (
  *(None, True, False, 0, -1, 7, 10**30, -(2**63), 1.5, 1e308),
  *(float("nan"), float("inf"), -float("inf")),
  *("", "x", "a\nb", "\x00", "\ud83d", "é" * 300),
  *([], [[]], [None], ["x"], [7], {}, {"text": "x"}, {"\ud83d\n": [1, {}]}),
)
ANY_JSON = st.recursive(
  st.none()
  | st.booleans()
  | st.integers()
  | st.floats()
  | st.text(st.characters(exclude_categories=())),
  lambda inner: (
    st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
  ),
  max_leaves=6,
)
_KEYS = ("id", "context", "qas", "data", "answers", "zz", "a\nb", "\ud83d", "")
_ENCODINGS = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp1252")


def _places(value, place=()):
  """Every place in a tree of lists and dicts, as a path of keys."""
  yield place
  children = value.items() if isinstance(value, dict) else ()
  if isinstance(value, list):
    children = enumerate(value)
  for key, child in children:
    yield from _places(child, (*place, key))


@st.composite
def damaged_trees(draw, tree, max_changes=3):
  """A copy of a JSON value with changed, removed, added or repeated parts."""
  tree = copy.deepcopy(tree)
  for _ in range(draw(st.integers(0, max_changes))):
    place = draw(st.sampled_from(list(_places(tree))))
    value = copy.deepcopy(draw(st.sampled_from(_VALUES) | ANY_JSON))
    if not place:
      if draw(st.booleans()):
        tree = value
      continue
    parent = tree
    for key in place[:-1]:
      parent = parent[key]
    change = draw(st.sampled_from(("replace", "replace", "remove", "add")))
    if change == "replace":
      parent[place[-1]] = value
    elif change == "remove":
      del parent[place[-1]]
    elif isinstance(parent, dict):
      parent[draw(st.sampled_from(_KEYS))] = value
    else:
      parent.append(copy.deepcopy(parent[place[-1]]))
  return tree


@st.composite
def damaged_files(draw, tree):
  """Bytes of a file that held `tree`, in one of many states of decay."""
  text = json.dumps(draw(damaged_trees(tree)), ensure_ascii=draw(st.booleans()))
  content = text.encode("utf-8", "surrogatepass")
  kind = draw(st.sampled_from(("none", "cut", "flip", "coding", "literal")))
  if kind == "cut":
    begin, end = sorted(draw(st.tuples(*[st.integers(0, len(content))] * 2)))
    return content[:end] if draw(st.booleans()) else content[begin:end]
  if kind == "flip":
    flipped = bytearray(content)
    for bit in draw(st.sets(st.integers(0, 8 * len(content) - 1), max_size=4)):
      flipped[bit // 8] ^= 1 << bit % 8
    return bytes(flipped)
  if kind == "coding":
    if draw(st.booleans()):
      return b"\xef\xbb\xbf" + content
    return text.encode(draw(st.sampled_from(_ENCODINGS)), "replace")
  if kind == "literal":
    return draw(_odd_literals(content))
  return content


@st.composite
def _odd_literals(draw, content):
  """A quoted word becomes what json.dumps never writes, or a key another."""
  words = [word for word in content.split(b'"')[1::2] if word]
  if not words:
    return content
  word = b'"' + draw(st.sampled_from(words)) + b'"'
  depth = draw(st.sampled_from((2, 300, 900, 990, 1000, 100_000)))
  literal = draw(
    st.sampled_from(
      (
        *(b"NaN", b"-Infinity", b"1e999", b"9" * 5000, b"-0", b"01", b"'x'"),
        *(b"[" * depth, b"[" * depth + b"]" * depth),
        b'{"a":' * depth + b"1" + b"}" * depth,
        *(b'"data"', b'"qas"', b'"id"', b'"q1"'),
      )
    )
  )
  return content.replace(word, literal, draw(st.sampled_from((1, -1))))
