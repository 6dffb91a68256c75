"""The machines that train together, as TF_CONFIG names them."""

import json
from typing import NamedTuple

VARIABLE = "TF_CONFIG"
_EXAMPLE = (
  '{"cluster": {"worker": ["10.0.0.1:12345", "10.0.0.2:12345"]}, '
  '"task": {"type": "worker", "index": 0}}'
)
_TASK_TYPES = ("chief", "worker")


class Cluster(NamedTuple):
  """The workers of a training, and which of them this process is.

  Attributes:
    addresses: tuple of "host:port", the chief's first.
    index: of this process in it.
  """

  addresses: tuple[str, ...]
  index: int

  @property
  def is_chief(self):
    """Whether this process writes the model and what belongs to it."""
    return self.index == 0


def read_cluster(environ):
  """Reads TF_CONFIG.

  Example: {"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker",
  "index": 1}} is the second of two workers.

  Args:
    environ: mapping such as os.environ.

  Returns:
    A Cluster; None where TF_CONFIG is not set, empty or names no cluster.

  Raises:
    ValueError: TF_CONFIG is damaged, or of a kind that does not train here.
  """
  text = environ.get(VARIABLE, "")
  if not text.strip():
    return None
  try:
    config = json.loads(text)
  except ValueError as error:
    raise _error(f"is not JSON ({error})", text) from error
  if not isinstance(config, dict):
    raise _error("must be a JSON object", text)
  tasks = config.get("cluster") or {}
  if not tasks:
    return None
  return _cluster(tasks, config.get("task"), text)


def _cluster(tasks, task, text):
  """The Cluster of a TF_CONFIG with the key "cluster"."""
  if not isinstance(tasks, dict) or set(tasks) - set(_TASK_TYPES):
    raise _error("must name nothing but chief and worker as cluster", text)
  addresses = {kind: tasks.get(kind) or [] for kind in _TASK_TYPES}
  for listed in addresses.values():
    if not isinstance(listed, list) or not all(map(_is_address, listed)):
      raise _error("must list its workers as host:port", text)
  if len(addresses["chief"]) > 1:
    raise _error("must have one chief at most", text)
  kind = task.get("type") if isinstance(task, dict) else None
  index = task.get("index") if isinstance(task, dict) else None
  if kind not in _TASK_TYPES or type(index) is not int:
    raise _error("must say as task which worker this process is", text)
  if not 0 <= index < len(addresses[kind]):
    raise _error(f"has no {kind} of index {index}", text)
  before = len(addresses["chief"]) if kind == "worker" else 0
  return Cluster((*addresses["chief"], *addresses["worker"]), before + index)


def _is_address(value):
  return isinstance(value, str) and value.rpartition(":")[2].isdecimal()


def _error(problem, text):
  return ValueError(
    f"{VARIABLE} {problem}. It looks like {_EXAMPLE}, with an index of its own "
    f"for every worker; unset it to train on one machine. Received: {text}"
  )
