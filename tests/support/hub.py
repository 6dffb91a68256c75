"""A hub of models on loopback, and files as published models have them."""

import base64
import contextlib
import copy
import dataclasses
import hashlib
import http.server
import itertools
import json
import math
import re
import struct
import threading
import urllib.parse
import zipfile

import ml_dtypes
import numpy as np
from huggingface_hub import constants, hf_api
from safetensors.numpy import load_file

from bert_span.presets.huggingface_writer import save_huggingface
from tests.support.models import shared_extractor

_PATH = re.compile(
  r"(?P<api>/api/models)?/(?P<name>[\w.-]+/[\w.-]+?)"
  r"(/(?P<verb>revision|tree|resolve|preupload|commit)/(?P<revision>[^/]+)"
  r"(/(?P<file>.+))?)?"
)
_ERRORS = {
  "RepoNotFound": 401,
  "GatedRepo": 403,
  "RevisionNotFound": 404,
  "EntryNotFound": 404,
}


class Hub:
  """Repositories of files, and the requests that were made."""

  def __init__(self):
    self.endpoint = ""
    self.requests = []  # "GET /path", and " bytes=9-" if a range is asked for
    self.tokens = set()
    self.gated = set()  # names whose files need a token
    self.is_down = False
    self.budget = None  # bytes of files, after which connections break off
    self._revisions = {}  # name -> revision or commit -> path -> bytes

  def push(self, name, files, revision="main"):
    """Makes files, a dict or a directory, a new commit; returns its hash."""
    if not isinstance(files, dict):
      paths = [path for path in files.rglob("*") if path.is_file()]
      files = {str(p.relative_to(files)): p.read_bytes() for p in paths}
    content = repr((name, sorted(files.items()))).encode()
    commit = hashlib.sha1(content).hexdigest()
    revisions = self._revisions.setdefault(name, {})
    revisions[commit] = revisions[revision] = {**files, "": commit}
    return commit

  def files(self, name, revision="main"):
    """The files of a revision by their paths."""
    return {p: x for p, x in self._revisions[name][revision].items() if p}

  def taken(self):
    """The files that were sent since the last call of this."""
    sent = [x for x in self.requests if x.startswith("GET") and "resolve" in x]
    self.requests.clear()
    return sorted(re.sub(r".*/resolve/[^/]+/", "", each) for each in sent)

  def reply(self, method, target, headers, body):
    """The status, headers and body of a reply."""
    path = urllib.parse.unquote(target.partition("?")[0])
    asked = headers.get("Range", "")
    self.requests.append(f"{method} {path} {asked}".strip())
    if self.is_down:
      return 503, {}, {}
    token = headers.get("Authorization", "").removeprefix("Bearer ")
    if path == "/api/repos/create":
      values = json.loads(body)
      name = f"{values.get('organization') or 'me'}/{values['name']}"
      self._revisions.setdefault(name, {})
      return 200, {}, {"url": f"{self.endpoint}/{name}"}
    if path == "/api/validate-yaml":
      return 200, {}, {"errors": [], "warnings": []}
    parts = _PATH.fullmatch(path.replace("refs/pr/", "refs-pr-"))
    revisions = parts and self._revisions.get(parts["name"])
    if revisions is None:
      return _error("RepoNotFound")
    if parts["verb"] in ("preupload", "commit"):
      return self._upload(parts, body)
    revision = (parts["revision"] or "main").replace("refs-pr-", "refs/pr/")
    files = revisions.get(revision)
    if files is None:
      return _error("RevisionNotFound")
    paths = [path for path in files if path]
    if parts["verb"] == "tree":
      rows = [
        {
          "type": "file",
          "path": p,
          "size": len(files[p]),
          "oid": _oid(files[p]),
        }
        for p in paths
      ]
      return 200, {}, rows
    if parts["verb"] != "resolve":
      siblings = [{"rfilename": path} for path in paths]
      names = {"id": parts["name"], "siblings": siblings}
      return 200, {}, {**names, "sha": files[""]}
    if parts["name"] in self.gated and token not in self.tokens:
      return _error("GatedRepo")
    content = files.get(parts["file"])
    if content is None:
      return _error("EntryNotFound", {"X-Repo-Commit": files[""]})
    return _part(content, headers, {"X-Repo-Commit": files[""]})

  def _upload(self, parts, body):
    if parts["verb"] == "preupload":
      paths = [file["path"] for file in json.loads(body)["files"]]
      modes = [{"path": p, "uploadMode": "regular"} for p in paths]
      return 200, {}, {"files": [{**m, "shouldIgnore": False} for m in modes]}
    rows = [json.loads(line) for line in body.decode().splitlines()]
    files = {
      row["value"]["path"]: base64.b64decode(row["value"]["content"])
      for row in rows
      if row["key"] == "file"
    }
    old = self._revisions[parts["name"]].get("main", {"": ""})
    commit = self.push(parts["name"], {**old, **files})
    url = f"{self.endpoint}/{parts['name']}/commit/{commit}"
    return 200, {}, {"commitUrl": url, "commitOid": commit, "success": True}


def _oid(content):
  """What git calls a file."""
  return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _error(code, headers=None):
  return _ERRORS[code], {"X-Error-Code": code, **(headers or {})}, {}


def _part(content, headers, more):
  """The whole file, or the range that is asked for."""
  more = {**more, "ETag": f'"{_oid(content)}"', "Accept-Ranges": "bytes"}
  asked = re.fullmatch(r"bytes=(\d+)-(\d*)", headers.get("Range", ""))
  if not asked:
    return 200, more, content
  first = int(asked[1])
  last = min(int(asked[2] or len(content)), len(content) - 1)
  more["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
  return 206, more, content[first : last + 1]


class _Handler(http.server.BaseHTTPRequestHandler):
  protocol_version = "HTTP/1.1"
  hub = None

  def _answer(self):
    size = int(self.headers.get("Content-Length") or 0)
    body = self.rfile.read(size)
    status, headers, content = self.hub.reply(
      self.command, self.path, self.headers, body
    )
    if not isinstance(content, bytes):
      content = json.dumps(content).encode()
      headers = {**headers, "Content-Type": "application/json"}
    self.send_response(status)
    for name, value in {**headers, "Content-Length": len(content)}.items():
      self.send_header(name, str(value))
    self.end_headers()
    if self.command == "HEAD":
      return
    sent = content
    if self.hub.budget is not None and "resolve" in self.path:
      sent = content[: self.hub.budget]
      self.hub.budget -= len(sent)
    self.wfile.write(sent)
    self.close_connection = len(sent) < len(content)

  do_GET = do_HEAD = do_POST = _answer

  def log_message(self, *_):
    """Logs nothing."""


@contextlib.contextmanager
def running_hub():
  """Yields a `Hub` that answers at its `endpoint`."""
  hub = Hub()
  handler = type("Handler", (_Handler,), {"hub": hub})
  server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
  hub.endpoint = f"http://127.0.0.1:{server.server_port}"
  thread = threading.Thread(target=server.serve_forever, args=(0.02,))
  thread.start()
  try:
    yield hub
  finally:
    server.shutdown()
    server.server_close()
    thread.join()


def use_endpoint(monkeypatch, endpoint, cache):
  """Makes the client, which reads the environment once, ask another hub."""
  template = endpoint + "/{repo_id}/resolve/{revision}/{filename}"
  for name, value in {
    "ENDPOINT": endpoint,
    "HUGGINGFACE_CO_URL_TEMPLATE": template,
    "HF_HUB_CACHE": str(cache),
    "HF_TOKEN_PATH": str(cache / "token"),
    "HF_HUB_OFFLINE": False,
  }.items():
    monkeypatch.setattr(constants, name, value)
  monkeypatch.setattr(hf_api.api, "endpoint", endpoint)
  monkeypatch.delenv("HF_TOKEN", raising=False)


def _items(*parts):
  """The pair of a TemplateProcessing."""
  return [
    {"Sequence" if name in "AB" else "SpecialToken": {"id": name, "type_id": n}}
    for name, n in parts
  ]


_JSON = {
  "WordPiece": {
    "added_tokens": [{"id": 0, "content": "[PAD]"}],
    "normalizer": {
      "type": "BertNormalizer",
      "clean_text": True,
      "handle_chinese_chars": True,
      "strip_accents": None,
      "lowercase": True,
    },
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {
      "type": "TemplateProcessing",
      "pair": _items(
        *(("[CLS]", 0), ("A", 0), ("[SEP]", 0), ("B", 1), ("[SEP]", 1))
      ),
    },
    "model": {
      "type": "WordPiece",
      "unk_token": "[UNK]",
      "continuing_subword_prefix": "##",
      "max_input_chars_per_word": 100,
    },
  },
  "BPE": {
    "added_tokens": [],
    "normalizer": None,
    "pre_tokenizer": {
      "type": "ByteLevel",
      "add_prefix_space": False,
      "trim_offsets": True,
      "use_regex": True,
    },
    "post_processor": {
      "type": "RobertaProcessing",
      "cls": ["<s>", 0],
      "sep": ["</s>", 2],
      "add_prefix_space": False,
      "trim_offsets": True,
    },
    "model": {"type": "BPE", "dropout": None, "ignore_merges": False},
  },
  # As XLM-R's.
  "Unigram": {
    "added_tokens": [],
    "normalizer": {"type": "Precompiled", "precompiled_charsmap": ""},
    "pre_tokenizer": {
      "type": "Sequence",
      "pretokenizers": [
        {"type": "WhitespaceSplit"},
        {
          "type": "Metaspace",
          "replacement": "\u2581",
          "prepend_scheme": "always",
          "split": True,
        },
      ],
    },
    "post_processor": {
      "type": "TemplateProcessing",
      "pair": _items(
        *(("<s>", 0), ("A", 0), ("</s>", 0)),
        *(("</s>", 0), ("B", 0), ("</s>", 0)),
      ),
    },
    "model": {"type": "Unigram", "unk_id": 3, "byte_fallback": False},
  },
}
# As ModernBERT's.
_JSON["BPE after NFC"] = _JSON["BPE"] | {
  "normalizer": {"type": "NFC"},
  "post_processor": {
    "type": "TemplateProcessing",
    "pair": _items(
      *(("[CLS]", 0), ("A", 0), ("[SEP]", 0), ("B", 0), ("[SEP]", 0))
    ),
  },
}


def tokenizer_json(kind, **model):
  """A tokenizer.json of a type of model, with fields of that."""
  values = copy.deepcopy(_JSON[kind])
  values["model"] |= model
  return values


def complete_json(values, ids, special):
  """Adds the other keys that the tokenizers library wants.

  Args:
    values: a `tokenizer_json`.
    ids: dict from tokens to ids.
    special: special tokens of the model.
  """
  flags = ("single_word", "lstrip", "rstrip", "normalized")
  values["added_tokens"] = [
    {
      "id": ids[token],
      "content": token,
      "special": True,
      **dict.fromkeys(flags, False),
    }
    for token in sorted(special, key=ids.get)
  ]
  processor = values["post_processor"]
  if processor["type"] == "TemplateProcessing":
    processor["special_tokens"] = {
      token: {"id": token, "ids": [ids[token]], "tokens": [token]}
      for token in ("[CLS]", "[SEP]", "<s>", "</s>")
      if token in special
    }
    processor["single"] = processor["pair"][:3]
  return {"version": "1.0", "truncation": None, "padding": None, **values}


_TYPES = {
  np.dtype(numpy_type): name
  for numpy_type, name in (
    (np.float32, "FloatStorage"),
    (np.float64, "DoubleStorage"),
    (np.float16, "HalfStorage"),
    (ml_dtypes.bfloat16, "BFloat16Storage"),
    (np.int64, "LongStorage"),
  )
}
# Pickles are written step by step: a test writes what PyTorch never would.
_OLD_START = (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})


@dataclasses.dataclass
class View:
  """A tensor of a part of an array's elements, which others may share."""

  base: np.ndarray
  first: int
  shape: tuple
  strides: tuple  # in elements
  # What the file says of the array instead of the truth.
  size: int | None = None
  storage: str = ""


@dataclasses.dataclass
class Name:
  """A name of Python: what a pickle imports."""

  module: str
  name: str


@dataclasses.dataclass
class Call:
  """A call of a name of Python, and items and attributes of its result."""

  name: Name
  arguments: tuple = ()
  items: dict = dataclasses.field(default_factory=dict)
  attributes: dict | None = None


_ORDERED_DICT = Name("collections", "OrderedDict")


class Identifier(tuple):
  """The tuple that a persistent identifier is."""


def pickled(value):
  """The pickle of protocol 2 of a value."""
  return b"\x80\x02" + _steps(value) + b"."


def _steps(value):
  if value is None or isinstance(value, bool):
    return {None: b"N", True: b"\x88", False: b"\x89"}[value]
  if isinstance(value, int):
    if -(2**31) <= value < 2**31:
      return b"J" + struct.pack("<i", value)
    content = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(content)]) + content
  if isinstance(value, float):
    return b"G" + struct.pack(">d", value)
  if isinstance(value, str):
    content = value.encode()
    # Put among what can be repeated, as each string is.
    return b"X" + struct.pack("<I", len(content)) + content + b"q\x00"
  if isinstance(value, Name):
    return f"c{value.module}\n{value.name}\n".encode()
  if isinstance(value, Call):
    steps = _steps(value.name) + _steps(tuple(value.arguments)) + b"R"
    if value.items:
      steps += _steps(value.items).removeprefix(b"}")
    if value.attributes is not None:
      steps += _steps(value.attributes) + b"b"
    return steps
  if isinstance(value, Identifier):
    return _steps(tuple(value)) + b"Q"
  if isinstance(value, dict):
    items = itertools.chain.from_iterable(value.items())
    return b"}(" + b"".join(map(_steps, items)) + b"u"
  items = b"".join(map(_steps, value))
  return (
    b"](" + items + b"e" if isinstance(value, list) else b"(" + items + b"t"
  )


def write_torch_file(path, tensors, is_old=False):
  """Writes arrays, `View`s and `Call`s of them by their names."""
  arrays = {}  # by their id: the key, and the array

  def stored(value):
    if isinstance(value, Call):
      arguments = tuple(map(stored, value.arguments))
      return dataclasses.replace(value, arguments=arguments)
    if isinstance(value, np.ndarray):
      strides = [math.prod(value.shape[i + 1 :]) for i in range(value.ndim)]
      value = View(value, 0, value.shape, tuple(strides))
    if not isinstance(value, View):
      return value
    key, base = arrays.setdefault(
      id(value.base), (str(len(arrays)), value.base)
    )
    kind = Name("torch", value.storage or _TYPES[base.dtype])
    size = base.size if value.size is None else value.size
    identifier = ["storage", kind, key, "cpu", size, *[None] * is_old]
    view = value.first, value.shape, value.strides
    return Call(
      Name("torch._utils", "_rebuild_tensor_v2"),
      (Identifier(identifier), *view, False, Call(_ORDERED_DICT)),
    )

  state = Call(
    _ORDERED_DICT,
    items={name: stored(value) for name, value in tensors.items()},
    attributes={"_metadata": Call(_ORDERED_DICT, items={"": {"version": 1}})},
  )
  write_pickle(path, state, list(arrays.values()), is_old)


def write_pickle(path, value, storages=(), is_old=False):
  """Writes a pickle of a value and pairs of a key and an array."""
  if is_old:
    content = b"".join(map(pickled, (*_OLD_START, value)))
    content += pickled([key for key, _ in storages])
    for _, array in storages:
      content += struct.pack("<q", array.size) + array.tobytes()
    path.write_bytes(content)
    return
  files = {"data.pkl": pickled(value), "byteorder": b"little"}
  files |= {f"data/{key}": array.tobytes() for key, array in storages}
  with zipfile.ZipFile(path, "w") as archive:
    for name, content in {**files, "version": b"3\n"}.items():
      archive.writestr(f"archive/{name}", content)


def write_pickled_model(directory):
  """Writes a small BERT for transformers, with pickled weights."""
  save_huggingface(shared_extractor(), directory)
  path = directory / "model.safetensors"
  write_torch_file(directory / "pytorch_model.bin", load_file(path))
  path.unlink()
