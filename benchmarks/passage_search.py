r"""Answers found over thousands of passages, against the right passage.

  python -m benchmarks.passage_search --model=minilm_squad \
    --questions_file=../shared/data/squad1_dev_half.json \
    --passages='../shared/data/squad1_*.json,../shared/data/new_wiki_part.json'

Smallest setting:
  python -m benchmarks.passage_search --model=minilm_squad --top_k=1 \
    --questions_file=bert_span/sample/dev.json --questions=2 \
    --passages=bert_span/sample/dev.json

For every number of --top_k: the share of questions whose own passage
is among those that BM25 finds, EM and F1 of the best answer over these, without
"no answer", by each of three scores to compare passages by, and seconds a
question. Last, EM and F1 with the right passage.
"""

import random
import time

import numpy as np
from absl import flags

from benchmarks.inputs import count_flag
from benchmarks.tables import print_head, print_row
from bert_span.cli import program
from bert_span.options.extras import check_extra

_MODEL = flags.DEFINE_string("model", "minilm_squad", "Model to ask.")
_QUESTIONS_FILE = flags.DEFINE_string(
  "questions_file", None, "SQuAD file with the questions.", required=True
)
_PASSAGES = flags.DEFINE_string(
  "passages", None, "SQuAD files whose passages are searched.", required=True
)
_QUESTIONS = count_flag("questions", 300, "Questions, drawn at random.")
_TOP_K = flags.DEFINE_list("top_k", ["1", "5", "20"], "Passages to read.")
_SCORES = {
  "probability": lambda prediction, best: best.probability,
  "logits": lambda prediction, best: best.score,
  "margin": lambda prediction, best: -prediction.answer.null_odds,
}


def main(argv):
  """Asks all questions and prints a table."""
  check_extra("search", "bm25s")
  from bert_span.extractors.span_extractor import SpanExtractor
  from bert_span.scoring.squad_scores import question_scores
  from bert_span.search.passage_index import PassageIndex
  from bert_span.squad.reader import read_squad
  from bert_span.storage.files import find_files

  files = [read_squad(path) for path in find_files(_PASSAGES.value)]
  passages = list(dict.fromkeys(e.context for f in files for e in f.examples))
  examples = [
    e for e in read_squad(_QUESTIONS_FILE.value).examples if e.answers
  ]
  count = min(_QUESTIONS.value, len(examples))
  examples = random.Random(0).sample(examples, count)
  started = time.perf_counter()
  index = PassageIndex(passages)
  print(
    f"{len(passages):,} passages, indexed in "
    f"{time.perf_counter() - started:.2f} s; {len(examples)} questions\n"
  )
  extractor = SpanExtractor.from_preset(_MODEL.value)

  def read(example, contexts):
    """[(prediction, its best span)] of the passages that have any."""
    asked = [
      type(example)(str(i), example.question, context)
      for i, context in enumerate(contexts)
    ]
    found = [
      (p, next((e for e in p.n_best if e.text), None))
      for p in extractor.predictions(asked)
    ]
    return [(p, best) for p, best in found if best]

  def score(example, text):
    return question_scores(example, text, version_2=False)

  def cells(scores):
    return [f"{mean:.1f}" for mean in 100 * np.mean(scores, axis=0)]

  heads = [f"{score}, {name}" for name in _SCORES for score in ("EM", "F1")]
  print_head(
    *("passages read", "right one among them", *heads, "s a question"),
    text=("passages read",),
  )
  for top_k in map(int, _TOP_K.value):
    among, scores = [], {name: [] for name in _SCORES}
    started = time.perf_counter()
    for example in examples:
      contexts = [passages[i] for i in index.search(example.question, top_k)]
      among.append(example.context in contexts)
      found = read(example, contexts)
      for name, key in _SCORES.items():
        best = max(found, key=lambda pair: key(*pair), default=None)
        scores[name].append(score(example, best[1].text if best else ""))
    seconds = (time.perf_counter() - started) / len(examples)
    columns = [cell for values in scores.values() for cell in cells(values)]
    share = f"{100 * np.mean(among):.1f} %"
    print_row(top_k, share, *columns, f"{seconds:.2f}")
  right = [
    score(example, found[0][1].text if found else "")
    for example in examples
    for found in [read(example, [example.context])]
  ]
  print(f"\nWith the right passage: EM | F1: {' | '.join(cells(right))}")


if __name__ == "__main__":
  program.run_program(main)
