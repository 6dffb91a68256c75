"""How the arithmetic of a step is carried out; the update is the same."""

import dataclasses

PRECISIONS = ("float32", "bfloat16", "float16")
JIT_COMPILE = ("auto", "on", "off")
ALL_REDUCE = ("auto", "ring", "nccl")


@dataclasses.dataclass(frozen=True)
class ExecutionOptions:
  """What a step costs in memory and time.

  Attributes:
    precision: of the encoder's matrix products: "float32", "bfloat16" or
      "float16". Weights, heads, softmax, loss and optimizer stay float32.
    accumulate_steps: parts that every device makes of its share of a batch;
      their gradients are summed before the one update.
    recompute: keep only the layers' inputs for the backward pass and compute
      the rest again, layer by layer.
    jit_compile: whether XLA compiles loss and gradients: "on", "off", or
      "auto", which is on for a GPU with batches of one length.
    all_reduce: how devices sum gradients: "auto", "ring" or "nccl".

  Raises:
    ValueError: a value is not allowed.
  """

  precision: str = "float32"
  accumulate_steps: int = 1
  recompute: bool = False
  jit_compile: str = "auto"
  all_reduce: str = "auto"

  def __post_init__(self):
    for name, allowed in (
      ("precision", PRECISIONS),
      ("jit_compile", JIT_COMPILE),
      ("all_reduce", ALL_REDUCE),
    ):
      if getattr(self, name) not in allowed:
        raise ValueError(
          f"{name} must be one of {', '.join(allowed)}. Received: "
          f"{getattr(self, name)!r}"
        )
    if self.accumulate_steps < 1:
      raise ValueError(
        "accumulate_steps must be at least 1. Received: "
        f"{self.accumulate_steps}"
      )
