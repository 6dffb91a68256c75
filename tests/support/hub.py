"""A hub of models on this machine, for the real client of Hugging Face's."""

import base64
import contextlib
import hashlib
import http.server
import json
import re
import threading
import urllib.parse

from huggingface_hub import constants, hf_api

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
  thread = threading.Thread(target=server.serve_forever)
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
