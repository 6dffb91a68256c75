"""Damages bytes and JSON the ways that files get damaged, by a seed."""

import copy
import json

# Values in the place of another type. Lone surrogates and control characters
# come from JSON escapes.
_VALUES = (
  *(None, True, False, 0, -1, 7, 2**31, 10**30, -(2**63), 1.5, 1e308),
  *(float("nan"), float("inf"), -float("inf")),
  *("", "x", "0", "no", "a\nb", "\x00", "\ud83d", "é" * 300, "../../x", "/dev"),
  *("\x1b[2J", "9" * 400),
  *([], [[]], [None], ["x"], [7], {}, {"text": "x"}, {"\ud83d\n": [1, {}]}),
)
_LITERALS = (
  *("NaN", "-Infinity", "1e999", "9" * 5000, "-0", "01", "'x'", "1.0", "null"),
  *("[" * 100_000, "[" * 900 + "]" * 900, '{"a":' * 990 + "1" + "}" * 990),
)
_ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-8-sig")


def damaged_bytes(rng, content):
  """Flips bits, cuts, repeats, swaps or inserts parts of some bytes."""
  content = bytearray(content)
  for _ in range(rng.choice((1, 1, 1, 2, 8))):
    if not content:
      break
    begin = rng.randrange(len(content))
    end = min(len(content), begin + rng.choice((1, 2, 4, 16, 256)))
    kind = rng.choice(("flip", "flip", "flip", "cut", "end", "repeat", "fill"))
    if kind == "flip":
      content[begin] ^= 1 << rng.randrange(8)
    elif kind == "cut":
      del content[begin:end]
    elif kind == "end":
      del content[begin:]
    elif kind == "repeat":
      content[begin:begin] = content[begin:end]
    else:
      content[begin:end] = bytes([rng.choice((0, 0x7F, 0xFF))]) * (end - begin)
  return bytes(content)


def damaged_json(rng, content):
  """Changes values, keys, literals or the encoding of a JSON text, or bytes."""
  kind = rng.choice(("tree", "tree", "tree", "literal", "encoding", "bytes"))
  if kind == "bytes":
    return damaged_bytes(rng, content)
  text = content.decode("utf-8")
  if kind == "encoding":
    return text.encode(rng.choice(_ENCODINGS), "replace")
  if kind == "literal":
    word = rng.choice([word for word in text.split('"')[1::2] if word])
    return text.replace(f'"{word}"', rng.choice(_LITERALS), 1).encode()
  tree = json.loads(text)
  for _ in range(rng.randint(1, 3)):
    tree = _changed(rng, tree)
  text = json.dumps(tree, ensure_ascii=rng.random() < 0.5)
  return text.encode("utf-8", "surrogatepass")


def _changed(rng, tree):
  """A JSON value with one part replaced, removed, added or repeated."""
  value = copy.deepcopy(rng.choice(_VALUES))
  place = rng.choice(list(_places(tree)))
  if not place:
    return value if rng.random() < 0.2 else tree
  parent = tree
  for key in place[:-1]:
    parent = parent[key]
  change = rng.choice(("replace", "replace", "remove", "add"))
  if change == "replace":
    parent[place[-1]] = value
  elif change == "remove":
    del parent[place[-1]]
  elif isinstance(parent, dict):
    parent[rng.choice((*parent, "id", "zz", "a\nb", ""))] = value
  else:
    parent.append(copy.deepcopy(parent[place[-1]]))
  return tree


def _places(value, place=()):
  """Every place in a tree of lists and dicts, as a tuple of keys."""
  yield place
  children = value.items() if isinstance(value, dict) else ()
  if isinstance(value, list):
    children = enumerate(value)
  for key, child in children:
    yield from _places(child, (*place, key))
