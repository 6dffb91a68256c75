"""The time that TensorFlow's profiler counts for each op."""

import collections
import os
import re

from benchmarks.tables import print_head, print_row

_LEAST_SHARE = 0.01
# Matches ops, not methods of the runtime (Class::Method).
_OP = re.compile(r"(?P<name>[^:]+):(?P<type>\w+)")


def read_trace(trace_dir):
  """Returns the newest trace in the profiler's directory, an `XSpace`."""
  import tensorflow as tf
  from tensorflow.tsl.profiler.protobuf import xplane_pb2

  pattern = os.path.join(trace_dir, "plugins", "profile", "*", "*.xplane.pb")
  with tf.io.gfile.GFile(max(tf.io.gfile.glob(pattern)), "rb") as file:
    return xplane_pb2.XSpace.FromString(file.read())


class OpTimes:
  """Seconds in ops and how often they ran, over all threads, by group.

  trace: `XSpace`. Ops are events with the name "name:type". The time of ops
    inside an op, such as those of a function that it calls, counts only for
    them.
  group_of: a function from an op's name and type to its group.
  """

  def __init__(self, trace, group_of):
    self.seconds = collections.Counter()
    self.runs = collections.Counter()
    for plane in trace.planes:
      for line in plane.lines:
        ops = []
        for event in line.events:
          op = _OP.fullmatch(plane.event_metadata[event.metadata_id].name)
          if op:
            group = group_of(op["name"], op["type"])
            ops.append((event.offset_ps, event.duration_ps, group))
        self._add(ops)

  def _add(self, ops):
    """Adds the ops of a thread; an op inside another begins after it."""
    around = []  # End and group of the ops around the next one.
    for begin, duration, group in sorted(ops, key=lambda op: (op[0], -op[1])):
      while around and around[-1][0] <= begin:
        around.pop()
      self.runs[group] += 1
      self.seconds[group] += duration * 1e-12
      if around:
        self.seconds[around[-1][1]] -= duration * 1e-12
      around.append((begin + duration, group))

  def print_table(self, times, *columns, part=()):
    """Prints the groups that have at least 1 % of the seconds.

    Args:
      times: how often was profiled what the table is for, such as steps.
      *columns: names of the parts of a group, which is a tuple.
      part: only groups that begin with this tuple, and their seconds.
    """
    seconds = {
      group: value
      for group, value in self.seconds.most_common()
      if group[: len(part)] == part
    }
    total = sum(seconds.values())
    print_head(*columns, "runs", "ms", "share", text=columns)
    for group, value in seconds.items():
      if value >= _LEAST_SHARE * total:
        runs, milliseconds = self.runs[group] / times, 1e3 * value / times
        share = f"{100 * value / total:.0f} %"
        print_row(*group, f"{runs:.3g}", f"{milliseconds:.2f}", share)
