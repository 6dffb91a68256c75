"""What a profile's table counts for each type of op."""

import pytest
from tensorflow.tsl.profiler.protobuf import xplane_pb2

from benchmarks.training_profile import own_seconds

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


def test_an_op_counts_without_those_inside_it_on_all_threads():
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
  # The runtime is not an op.
  assert own_seconds(trace) == pytest.approx(
    {"PartitionedCall": 0.003, "Mul": 0.004, "AddV2": 0.004, "_MklMatMul": 0.02}
  )
