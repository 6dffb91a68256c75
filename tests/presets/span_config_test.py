"""span_config.json: what is changed in it, and older files."""

import json

from bert_span import DecoderOptions, WindowOptions
from bert_span.presets.span_config import (
  CONFIG_FILE,
  read_span_config,
  update_decoder,
  write_span_config,
)


def test_updating_the_decoder_leaves_all_else(tmp_path):
  write_span_config(
    tmp_path,
    False,
    WindowOptions(64, 16, 12),
    DecoderOptions(n_best_size=7),
    "span",
  )
  before = read_span_config(tmp_path)
  update_decoder(
    tmp_path, {"temperature": 1.5, "null_score_diff_threshold": -2.25}
  )
  after = read_span_config(tmp_path)
  assert DecoderOptions(**after.pop("decoder")) == DecoderOptions(
    n_best_size=7, temperature=1.5, null_score_diff_threshold=-2.25
  )
  del before["decoder"]
  assert after == before
  assert [path.name for path in tmp_path.iterdir()] == [CONFIG_FILE]


def test_a_file_from_before_there_was_a_temperature_has_none(tmp_path):
  write_span_config(tmp_path, True, WindowOptions(), DecoderOptions(), "span")
  config = json.loads((tmp_path / CONFIG_FILE).read_text())
  del config["decoder"]["temperature"]
  (tmp_path / CONFIG_FILE).write_text(json.dumps(config))
  options = DecoderOptions(**read_span_config(tmp_path)["decoder"])
  assert options == DecoderOptions()
  assert options.temperature is None
