"""span_config.json: what is changed in it, older files, damaged files."""

import json

import pytest

from bert_span import DecoderOptions, WindowOptions
from bert_span.presets.span_config import (
  CONFIG_FILE,
  read_span_config,
  span_config,
  update_decoder,
  write_span_config,
)

_CONFIG = span_config(
  False, WindowOptions(64, 16, 12), DecoderOptions(n_best_size=7), "span"
)


def test_updating_the_decoder_leaves_all_else(tmp_path):
  changes = {"temperature": 1.5, "null_score_diff_threshold": -2.25}
  write_span_config(tmp_path, _CONFIG)
  update_decoder(tmp_path, changes)
  after = read_span_config(tmp_path)
  decoder = DecoderOptions(n_best_size=7, **changes)
  assert DecoderOptions(**after["decoder"]) == decoder
  assert {**after, "decoder": _CONFIG["decoder"]} == _CONFIG
  assert [path.name for path in tmp_path.iterdir()] == [CONFIG_FILE]


@pytest.mark.parametrize(
  ("values", "message"),
  [
    ([], "object"),
    ({**_CONFIG, "format": 2}, "format 2"),
    ({**_CONFIG, "head": 7}, "head.*7"),
    ({**_CONFIG, "do_lower_case": "false"}, "do_lower_case.*'false'"),
    ({**_CONFIG, "window": []}, r"window.*\[\]"),
    ({**_CONFIG, "window": {"max_seq_length": "384"}}, "max_seq_length.*'384'"),
    ({**_CONFIG, "window": {"doc_stride": 0}}, "doc_stride.* 0"),
    ({**_CONFIG, "window": {"stride": 3}}, "stride"),
  ],
)
def test_values_of_other_types_are_refused(tmp_path, values, message):
  (tmp_path / CONFIG_FILE).write_text(json.dumps(values))
  with pytest.raises(ValueError, match=rf"{CONFIG_FILE}.*{message}"):
    read_span_config(tmp_path)
