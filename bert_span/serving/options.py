"""Where a local server listens, and how much it takes."""

import dataclasses

from bert_span.client.predict_api import DEFAULT_MODEL
from bert_span.options.fields import CheckedOptions, option


@dataclasses.dataclass(frozen=True)
class ServerOptions(CheckedOptions):
  """Address and limits of a local server."""

  host: str = option(
    "127.0.0.1",
    "Address to listen on; 127.0.0.1 is reachable from this machine only.",
  )
  port: int = option(
    8501, "Port to listen on; 0 takes a free one.", minimum=0, maximum=65535
  )
  model_name: str = option(DEFAULT_MODEL, "Name of the model in REST paths.")
  max_request_bytes: int = option(
    4 << 20, "Largest body of a request in bytes.", minimum=1
  )
  request_seconds: float = option(
    60.0, "Longest time of a request in seconds.", above=0
  )

  def __post_init__(self):
    super().__post_init__()
    if not self.host.strip():
      raise ValueError(
        "host must be an address. An empty one would listen on every network "
        "of this machine; give host=0.0.0.0 if that is meant."
      )
