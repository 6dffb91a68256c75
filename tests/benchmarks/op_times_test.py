"""What a profile's table counts for each group of ops."""

import pytest
from tensorflow.tsl.profiler.protobuf import xplane_pb2

from benchmarks.answering_profile import part_of
from benchmarks.op_times import OpTimes

_MILLISECOND = 10**9  # in picoseconds
# Name, begin and end in milliseconds of each event of a thread.
_NESTED = [
  ("call/inner/mul:Mul", 12, 15),
  ("call:PartitionedCall", 10, 20),
  ("call/inner/add:AddV2", 15, 19),
  ("after:Mul", 20, 21),
]
_OTHERS = [
  [("ExecutorState::Process", 0, 50), ("dense/MatMul:_MklMatMul", 1, 11)],
  [("TrainStep", 0, 50), ("dense_1/MatMul:_MklMatMul", 5, 15)],
]


@pytest.fixture
def trace():
  """A trace of the events above, on three threads."""
  trace = xplane_pb2.XSpace()
  plane = trace.planes.add()
  for events in (_NESTED, *_OTHERS):
    line = plane.lines.add()
    for name, begin, end in events:
      number = len(plane.event_metadata) + 1
      plane.event_metadata[number].name = name
      line.events.add(
        metadata_id=number,
        offset_ps=begin * _MILLISECOND,
        duration_ps=(end - begin) * _MILLISECOND,
      )
  return trace


def test_an_op_counts_without_those_inside_it_on_all_threads(trace):
  times = OpTimes(trace, lambda name, kind: kind)
  # The runtime is not an op.
  assert times.seconds == pytest.approx(
    {"PartitionedCall": 0.003, "Mul": 0.004, "AddV2": 0.004, "_MklMatMul": 0.02}
  )
  assert times.runs == {
    "PartitionedCall": 1,
    "Mul": 2,
    "AddV2": 1,
    "_MklMatMul": 2,
  }


def test_a_table_has_the_groups_of_a_part(trace, capsys):
  times = OpTimes(trace, lambda name, kind: (name.split("/")[0], kind))
  times.print_table(2, "part", "op", part=("call",))
  assert set(capsys.readouterr().out.splitlines()[2:]) == {
    "| call | AddV2 | 0.5 | 2.00 | 40 % |",
    "| call | Mul | 0.5 | 1.50 | 30 % |",
    "| call | PartitionedCall | 0.5 | 1.50 | 30 % |",
  }


@pytest.mark.parametrize(
  ("name", "part"),
  [
    ("StatefulPartitionedCall/text/Cumsum", "text"),
    ("StatefulPartitionedCall/windows/body/_17/windows/GatherV2", "windows"),
    (
      "StatefulPartitionedCall/windows/body/_17/windows/"
      "StatefulPartitionedCall/Softmax",
      "encoder",
    ),
    ("StatefulPartitionedCall/answers/UnicodeEncode", "answers"),
    ("StatefulPartitionedCall/Identity", "other"),
  ],
)
def test_the_part_of_an_op(name, part):
  assert part_of(name) == part
