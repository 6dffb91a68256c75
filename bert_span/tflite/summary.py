"""The report of an exported TFLite file as a short text."""

_MEGABYTE = 1e6


def report_text(report):
  """What a person wants to know of a file, in some ten lines.

  Args:
    report: dict of `export_tflite`.

  Returns:
    str.
  """
  options, checked = report["options"], report["verification"]
  length = options["max_seq_length"]
  lines = [
    f"{report['file']}, sha256 {report['sha256']}",
    "",
    f"head:            {options['head']}",
    f"quantization:    {options['quantization']}",
    "length:          "
    + (f"1 to {length}" if options["dynamic_length"] else f"{length}")
    + " WordPieces",
    f"size:            {checked['size_bytes'] / _MEGABYTE:.1f} MB",
    f"peak arena:      {checked['peak_arena_bytes'] / _MEGABYTE:.1f} MB "
    + (
      "on a sample passage"
      if options["with_tokenizer"]
      else f"at {length} WordPieces"
    )
    + ", TFLite's own kernels",
    f"equal answers:   {checked['num_equal']} of {checked['num_questions']} "
    "sample questions",
    f"largest difference of their scores: {checked['largest_difference']:.2g}",
    *_tokenizer_lines(report["tokenizer"]),
    *_score_lines(report["evaluation"]),
    f"ops:             {_counts(checked['ops'])}",
    f"made with:       {_pairs(report['versions'])}",
  ]
  return "\n".join(lines) + "\n"


def _tokenizer_lines(found):
  """How the tokenizer in the file differs from ours."""
  if found is None:
    return []
  return [
    f"tokenizer inside: {found['capital_sigma'] + found['other']} of "
    f"{found['num_texts']} texts ({found['num_tokens']} WordPieces) differ "
    f"from bert_span's: {found['capital_sigma']} by a capital sigma at the end "
    f"of a word, {found['other']} otherwise"
  ]


def _score_lines(scores):
  if scores is None:
    return ["F1:              not measured (--evaluate_file)"]
  return [
    f"F1 on {scores['data']}: {scores['file']['f1']:.2f}, the model "
    f"{scores['model']['f1']:.2f} ({scores['num_questions']} questions, "
    f"{scores['equal_answers']} equal answers)"
  ]


def _counts(ops):
  return ", ".join(f"{name} {count}" for name, count in ops.items())


def _pairs(versions):
  return ", ".join(f"{name} {version}" for name, version in versions.items())
