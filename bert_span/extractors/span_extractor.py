"""The extractor of one span: a start and an end, as the original."""

from typing import ClassVar, NamedTuple

import keras

from bert_span.answers.answer import Answer
from bert_span.answers.columns import SPAN_COLUMNS
from bert_span.answers.decoding.span_decoder import SpanDecoder
from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.extractors.extractor import Extractor
from bert_span.modeling.heads import SpanHead
from bert_span.modeling.losses import SpanLoss
from bert_span.search.passage_index import PassageIndex
from bert_span.squad.example import SquadExample, is_list, question_pairs


class PassageAnswer(NamedTuple):
  """An answer in one of several passages."""

  passage: int  # number of the passage
  answer: Answer  # with offsets into the passage
  margin: float  # score minus the score of "no answer", in logits


@keras.saving.register_keras_serializable(package="bert_span")
class SpanExtractor(Extractor):
  """Answers questions with spans of their passages; see `Extractor`.

  A start vector S and an end vector E score every token of every window; the
  best span over all windows is the answer.

  Example:

  ```python
  extractor = SpanExtractor.from_preset("minilm_squad")
  extractor.answer("Who came?", "John Smith came.")
  # Answer(text="John Smith", char_start=0, char_end=10, ...)

  extractor = SpanExtractor.from_preset("all-minilm-l6-v2", max_seq_length=128)
  extractor.compile(optimizer=BertAdamW(3e-5))
  extractor.fit(
    x={"question": ["Who came?"], "context": ["John Smith came."]},
    y={"answer_text": ["John Smith"], "answer_start": [0]},
  )
  ```

  Source: Devlin et al. 2019, section 4.2; google-research/bert, run_squad.py.
  """

  head_name = "span"
  logits: ClassVar = {"start_logits": (), "end_logits": ()}
  logits_descriptions: ClassVar = {
    "start_logits": "score of each position as the answer's first WordPiece",
    "end_logits": "score of each position as the answer's last WordPiece",
  }
  columns = SPAN_COLUMNS
  preprocessor_class = SpanPreprocessor
  decoder_class = SpanDecoder

  def answer_over(self, question, contexts, top_k=None, index=None):
    """Answers a question from several passages.

    Each passage has its own softmax, so that scores of two passages cannot be
    compared. Answers are sorted by their score minus the score of "no answer"
    in the same passage; see benchmarks/RESULTS.md, "Passages to read".

    Args:
      question: str.
      contexts: list of str, or a str for one passage.
      top_k: number of passages to read, which BM25 chooses (extra "search");
        None reads all.
      index: None, or the `PassageIndex` of the contexts, which several
        questions can share.

    Returns:
      List of `PassageAnswer`, best first, for the passages with an answer.
    """
    if isinstance(contexts, str):
      contexts = [contexts]
    if not is_list(contexts):
      raise ValueError(
        "contexts must be a str or a list of str. Received: "
        f"{type(contexts).__name__}."
      )
    pairs = question_pairs([question] * len(contexts), contexts)
    numbers = range(len(pairs))
    if top_k is not None and top_k < len(contexts):
      numbers = (index or PassageIndex(contexts)).search(question, top_k)
    examples = [SquadExample(str(i), *pairs[i]) for i in numbers]
    answers = [
      PassageAnswer(i, prediction.answer, -prediction.answer.null_odds)
      for i, prediction in zip(numbers, self.predictions(examples), strict=True)
      if prediction.answer.is_answerable
    ]
    return sorted(answers, key=lambda item: item.margin, reverse=True)

  @staticmethod
  def make_head(use_bias=True, has_transform=False):
    return SpanHead(use_bias, has_transform)

  @staticmethod
  def make_loss(options=None):
    return SpanLoss(options.loss_reduction) if options else SpanLoss()
