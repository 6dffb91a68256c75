"""A few questions with predictions, for tests of the report."""

import json

from squad_content import spans, squad_content

HOSTILE = (
  "<script>document.title='taken'</script>"
  "<img src=x onerror=\"document.title='taken'\">\"'></mark>"
  "&lt;b&gt; $title ${x}"
)
CONTEXT = "The mill was built by Anna in 1895, near the river."


def _question(qas_id, question, *golds, context=CONTEXT):
  answers = spans(*((gold, context.index(gold)) for gold in golds))
  labels = {"answers": answers, "is_impossible": not golds}
  return {"id": qas_id, "question": question, **labels}


def entries(context, *pairs):
  """An n-best list of (text, probability) pairs, "" for no answer."""
  return [
    {
      "text": text,
      "probability": probability,
      "start_logit": 0.0,
      "end_logit": 0.0,
      "char_start": context.index(text) if text else None,
      "char_end": context.index(text) + len(text) if text else None,
    }
    for text, probability in pairs
  ]


def small_files():
  """A SQuAD file and n-best lists: six questions, three predicted right."""
  questions = [
    _question("who", "Who built the mill?", "Anna"),
    _question("when", "When was it built?", "1895", "in 1895"),
    _question("where", "Where is it?", "near the river"),
    _question("what", "What did Anna build?", "The mill", "mill"),
    _question("why", "Why was it built?"),
    _question("cost", "How much did it cost?"),
  ]
  n_best = {
    "who": entries(CONTEXT, ("Anna", 0.875), ("", 0.125)),
    "when": entries(CONTEXT, ("1895", 0.75), ("", 0.25)),
    "where": entries(CONTEXT, ("the river", 0.5), ("near the river", 0.25)),
    "what": entries(CONTEXT, ("", 0.625), ("mill", 0.375)),
    "why": entries(CONTEXT, ("", 0.9375), ("Anna", 0.0625)),
    "cost": entries(CONTEXT, ("1895", 0.9375), ("", 0.0625)),
  }
  return squad_content(CONTEXT, *questions, version="v2.0"), n_best


def hostile_files():
  """The same for one question whose texts are all HTML."""
  context = f"Ada {HOSTILE} came to Bea."
  question = _question(HOSTILE, HOSTILE, "Bea", context=context)
  n_best = {HOSTILE: entries(context, (HOSTILE, 0.75), ("Ada", 0.25))}
  squad = squad_content(context, question, title=HOSTILE, version="v2.0")
  return squad, n_best


def write_files(folder, files):
  """Writes a SQuAD file and n-best lists; returns their paths."""
  paths = [folder / f"{name}.json" for name in ("predict_file", "nbest_file")]
  for path, value in zip(paths, files, strict=True):
    path.write_text(json.dumps(value), encoding="utf-8")
  return list(map(str, paths))
