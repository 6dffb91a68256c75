"""What a profile's table counts for each type of op."""

import pytest
from tensorflow.tsl.profiler.protobuf import xplane_pb2

from benchmarks.training_profile import own_seconds

_MILLISECOND = 10**9  # in picoseconds


def _trace(*threads):
  """A trace; each thread is a list of name, begin and end in milliseconds."""
  trace = xplane_pb2.XSpace()
  plane = trace.planes.add()
  for events in threads:
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


def test_an_op_counts_without_those_inside_it():
  inside = [
    ("call/inner/mul:Mul", 12, 15),
    ("call:PartitionedCall", 10, 20),
    ("call/inner/add:AddV2", 15, 19),
    ("after:Mul", 20, 21),
  ]
  seconds = own_seconds(_trace(inside))
  assert seconds == pytest.approx(
    {"PartitionedCall": 0.003, "Mul": 0.004, "AddV2": 0.004}
  )


def test_threads_add_up_and_the_runtime_is_not_an_op():
  seconds = own_seconds(
    _trace(
      [("ExecutorState::Process", 0, 50), ("dense/MatMul:_MklMatMul", 1, 11)],
      [("TrainStep", 0, 50), ("dense_1/MatMul:_MklMatMul", 5, 15)],
    )
  )
  assert seconds == pytest.approx({"_MklMatMul": 0.020})
