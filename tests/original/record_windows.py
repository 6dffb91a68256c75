"""Records the original's examples and features (windows)."""

import collections

from golden_writer import sha1, sha1_text

# Features that are stored with all their arrays, where a configuration does not
# say "full_features".
_FULL_FEATURES = 200
_LENGTHS = ("max_seq_length", "doc_stride", "max_query_length")


def make_features(run_squad, configuration, examples, tokenizer):
  """The original's features of its examples, in its order."""
  features = []
  run_squad.convert_examples_to_features(
    examples=examples,
    tokenizer=tokenizer,
    **{length: configuration[length] for length in _LENGTHS},
    is_training=configuration["is_training"],
    output_fn=features.append,
  )
  return features


def record_windows(writer, configuration, examples, warnings, features):
  """Writes examples_*, features_* and summary_* of one configuration."""
  name = configuration["name"]
  writer.write_rows(f"examples_{name}.jsonl.gz", map(_example_row, examples))
  rows = _feature_rows(configuration, examples, features)
  digest = writer.write_rows(f"features_{name}.jsonl.gz", rows)
  count = configuration.get("full_features", _FULL_FEATURES)
  if count:
    full = [{**row, **_arrays(f)} for row, f in zip(rows[:count], features)]
    writer.write_rows(f"features_{name}_first{count}_full.jsonl.gz", full)
  kept = {example.qas_id for example in examples}
  with_features = {examples[f.example_index].qas_id for f in features}
  skipped = [q for q in configuration["qas_ids"] if q not in kept]
  num_doc_spans = [row["n_doc_spans"] for row in rows]
  summary = {
    "config": name,
    "file": configuration["file"],
    "is_training": configuration["is_training"],
    "v2": configuration["version_2"],
    **{length: configuration[length] for length in _LENGTHS},
    "do_lower_case": True,
    "n_questions_in_file": len(configuration["qas_ids"]),
    "n_examples": len(examples),
    "n_skipped": len(skipped),
    "skipped_qas_ids": skipped,
    "skip_warnings": warnings,
    "n_features": len(features),
    "examples_with_no_feature": [
      e.qas_id for e in examples if e.qas_id not in with_features
    ],
    "max_features_per_example": max(num_doc_spans, default=0),
    "sha1_of_features_jsonl": digest,
  }
  writer.write_json(f"summary_{name}.json", summary, indent=1)


def _example_row(example):
  return {
    "qas_id": example.qas_id,
    "n_doc_tokens": len(example.doc_tokens),
    "sha1_doc_tokens": sha1_text(" ".join(example.doc_tokens)),
    "start_position": example.start_position,
    "end_position": example.end_position,
    "orig_answer_text": example.orig_answer_text,
    "is_impossible": example.is_impossible,
  }


def _feature_rows(configuration, examples, features):
  num_spans = collections.Counter(f.example_index for f in features)
  rows, doc_start = [], 0
  for feature in features:
    num_tokens = len(feature.tokens)
    first = min(feature.token_to_orig_map)
    length = num_tokens - 1 - first
    if feature.doc_span_index == 0:
      doc_start = 0
    positions = range(first, num_tokens - 1)
    max_context = [int(feature.token_is_max_context[p]) for p in positions]
    words = [feature.token_to_orig_map[p] for p in positions]
    rows.append(
      {
        "qas_id": examples[feature.example_index].qas_id,
        "doc_span_index": feature.doc_span_index,
        "unique_id": feature.unique_id,
        "example_index": feature.example_index,
        "n_real_tokens": num_tokens,
        "first_doc_pos": first,
        "doc_start": doc_start,
        "n_doc_spans": num_spans[feature.example_index],
        "start_position": feature.start_position,
        "end_position": feature.end_position,
        "is_impossible": feature.is_impossible,
        "n_max_context": sum(max_context),
        "sha1_input_ids": sha1(feature.input_ids),
        "sha1_segment_ids": sha1(feature.segment_ids),
        "sha1_orig_map": sha1([first, *words]),
        "sha1_max_context": sha1(max_context),
      }
    )
    doc_start += min(length, configuration["doc_stride"])
  return rows


def _arrays(feature):
  return {
    "input_ids": feature.input_ids,
    "input_mask_len": sum(feature.input_mask),
    "segment_ids": feature.segment_ids,
    "tokens": feature.tokens,
    "token_to_orig_map": feature.token_to_orig_map,
    "token_is_max_context": feature.token_is_max_context,
  }
