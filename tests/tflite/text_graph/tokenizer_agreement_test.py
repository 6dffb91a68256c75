"""Differences of the tokenizer in TFLite files, counted by cause."""

import pytest

from bert_span.squad.reader import read_squad
from bert_span.text.tokenizer import WordPieceTokenizer
from bert_span.text.vocabulary import load_vocabulary
from bert_span.tflite.text_graph.tokenizer_agreement import compare_tokenizers

_VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "σ", "##ς", "##σ"]


def test_differences_are_counted_by_cause():
  tokenizer = WordPieceTokenizer(_VOCABULARY)
  texts = ["a b", "a b", "ΣΣ", "b ΣΣ", "É\u0301 🙂\0", "", "\ud800"]
  found = compare_tokenizers(tokenizer, texts)
  assert (found.num_texts, found.capital_sigma, found.other) == (6, 2, 0)
  # a b | σ ##ς | b σ ##ς | [UNK] [UNK]
  assert found.num_tokens == 2 + 2 + 3 + 2
  assert found.shown == ["ΣΣ", "b ΣΣ"]


def test_cased_words_have_no_other_sigma():
  tokenizer = WordPieceTokenizer(_VOCABULARY, do_lower_case=False)
  found = compare_tokenizers(tokenizer, ["ΣΣ", "a b"])
  assert (found.num_texts, found.capital_sigma, found.other) == (2, 0, 0)


@pytest.mark.large
@pytest.mark.parametrize(("do_lower_case", "every"), [(True, 1), (False, 8)])
def test_real_texts_have_the_same_tokens_at_the_same_places(
  shared_data, uncased_vocab_file, do_lower_case, every
):
  """As export/TFLITE.md says; for cased text a part of it."""
  texts = set()
  for path in sorted(shared_data.glob("*.json")):
    for example in read_squad(str(path)).examples:
      texts.update((example.question, example.context))
  tokenizer = WordPieceTokenizer(
    load_vocabulary(uncased_vocab_file), do_lower_case
  )
  found = compare_tokenizers(tokenizer, sorted(texts)[::every])
  assert found.num_texts > 20_000 / every
  assert found.num_tokens > 1_000_000 / every
  assert (found.capital_sigma, found.other) == (0, 0), found.shown
