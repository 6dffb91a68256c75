"""How a pipeline runs; neither Apache Beam nor TensorFlow is needed."""

import dataclasses

from bert_span.options.extras import check_extra
from bert_span.options.fields import FOREIGN, CheckedOptions, option


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShardsOptions(CheckedOptions):
  """How many record files are written."""

  num_shards: int = option(
    8,
    "Number of record files; a worker of Beam writes one at a time.",
    minimum=1,
    maximum=99_999,
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class BeamOptions(CheckedOptions):
  """Where a pipeline runs."""

  beam: tuple[str, ...] = option(
    (),
    "Apache Beam's own options, such as --runner=DataflowRunner.",
    flag=FOREIGN,
  )

  def __post_init__(self):
    super().__post_init__()
    check_extra("beam", "apache_beam")
