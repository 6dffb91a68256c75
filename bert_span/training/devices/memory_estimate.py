"""How much memory a training step takes, from the sizes of model and batch.

Between the forward and the backward pass a layer of hidden size H, feed-forward
size I and A heads keeps, for a window of L WordPieces and a compute type of w
bytes (4 of float32, 2 of the halves),

    L (H (6 w + 18) + 5 I w) + A L^2 (w + 5)   bytes.

H: inputs of the two LayerNorms and their scaled values, always float32 (16);
outputs of both, query, key, value and context (6 w); two dropout masks (2).
I: the five factors of GELU in the tanh form. A L^2: the attention probabilities
in float32 (4), after dropout (w), and its mask (1).

Counted in the graph of a training step; what the passes compute on the way and
what surrounds a clipped gradient was measured, with benchmarks/training_step.
"""

import dataclasses

_FLOAT_BYTES = 4
_COMPUTE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
# Measured. Gradients before and after clipping, and half of them once more.
_GRADIENT_SETS = 2.5
# Measured. What a layer computes on the way, as a share of what it keeps.
_LAYER_WORKSPACE = 0.55
# The logits over the vocabulary, their gradient, and that times a weight.
_LOGIT_COPIES = 3


@dataclasses.dataclass(frozen=True)
class ModelSizes:
  """What the memory of a model's training depends on.

  Attributes:
    num_layers: transformer layers.
    hidden_dim: width of a token's vector.
    num_heads: attention heads in a layer.
    intermediate_dim: width inside the feed-forward part.
    vocabulary_size: WordPieces in the vocabulary.
    num_parameters: all weights, those of the heads included.
    vocabulary_targets: tokens of a window whose WordPiece is predicted out of
      the whole vocabulary, in pre-training.
  """

  num_layers: int
  hidden_dim: int
  num_heads: int
  intermediate_dim: int
  vocabulary_size: int
  num_parameters: int
  vocabulary_targets: int = 0


@dataclasses.dataclass(frozen=True)
class StepOptions:
  """What the memory of a step depends on beside the model.

  Attributes:
    batch_size: windows that one device reads in a step.
    seq_length: WordPieces of a window, padding included.
    precision: "float32", "bfloat16" or "float16": what layers compute in.
    accumulate_steps: parts that the batch is cut into, one after another.
    recompute: keep only the inputs of layers, and compute the rest again.
  """

  batch_size: int
  seq_length: int
  precision: str = "float32"
  accumulate_steps: int = 1
  recompute: bool = False

  @property
  def windows_at_once(self):
    """Windows that are in memory at the same time."""
    return -(-self.batch_size // self.accumulate_steps)  # rounded up


@dataclasses.dataclass(frozen=True)
class MemoryEstimate:
  """Bytes at the peak of a step, by what they are for.

  Attributes:
    program: TensorFlow and the program itself.
    weights: the weights, and their copies in another compute type.
    optimizer: Adam's two averages.
    gradients: of all weights, clipped, and their sums over the parts of a
      batch.
    activations: what the backward pass needs of the forward pass, and what the
      passes compute on the way.
  """

  program: int
  weights: int
  optimizer: int
  gradients: int
  activations: int

  @property
  def total(self):
    """All of them, in bytes."""
    return sum(dataclasses.asdict(self).values())


def estimate_memory(sizes, step, program_bytes=0):
  """Estimates the memory that training takes on one device.

  Args:
    sizes: `ModelSizes`.
    step: `StepOptions`.
    program_bytes: what the program takes on the device beside that.

  Returns:
    `MemoryEstimate`.
  """
  weights = _FLOAT_BYTES * sizes.num_parameters
  width = _COMPUTE_BYTES[step.precision]
  copies = width * sizes.num_parameters if width < _FLOAT_BYTES else 0
  sets = _GRADIENT_SETS + (1 if step.accumulate_steps > 1 else 0)
  return MemoryEstimate(
    program=program_bytes,
    weights=weights + copies,
    optimizer=2 * weights,
    gradients=int(sets * weights),
    activations=step.windows_at_once * _window_bytes(sizes, step),
  )


def _window_bytes(sizes, step):
  """Bytes of one window's activations."""
  layer = _layer_bytes(sizes, step)
  width = _COMPUTE_BYTES[step.precision]
  position = step.seq_length * sizes.hidden_dim
  embeddings = position * (2 * _FLOAT_BYTES + width + 1)
  logits = sizes.vocabulary_targets * sizes.vocabulary_size * _FLOAT_BYTES
  layers = sizes.num_layers * layer
  if step.recompute:  # The input of each, and one layer at a time.
    layers = sizes.num_layers * position * width + layer
  workspace = int(_LAYER_WORKSPACE * layer)
  return embeddings + layers + workspace + _LOGIT_COPIES * logits


def _layer_bytes(sizes, step):
  """Bytes that one layer keeps of one window for the backward pass."""
  width = _COMPUTE_BYTES[step.precision]
  hidden = sizes.hidden_dim * (6 * width + 18)
  intermediate = 5 * width * sizes.intermediate_dim
  scores = sizes.num_heads * step.seq_length * (width + 5)
  return step.seq_length * (hidden + intermediate + scores)
