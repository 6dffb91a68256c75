"""Texts on which tokenizers are compared with other software."""

import pytest

from bert_span.squad.reader import read_squad


@pytest.fixture(scope="session")
def real_texts(shared_data):
  """246 questions and passages in three languages, in their order."""
  texts = []
  for name in ("xquad_ar", "xquad_en", "xquad_zh", "covidqa_part"):
    for example in read_squad(shared_data / f"{name}.json").examples[::30]:
      texts += (example.question, example.context)
  return texts
