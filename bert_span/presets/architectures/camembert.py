"""CamemBERT's files: RoBERTa's with other tokens.

Source: Martin et al. 2020, arXiv 1911.03894.
"""

import dataclasses

from bert_span.presets.architectures import roberta
from bert_span.text.vocabulary import SENTENCE_PIECES

FILES = dataclasses.replace(
  roberta.FILES,
  class_name="Camembert",
  written={"type_vocab_size": 1, "bos_token_id": 5, "eos_token_id": 6},
  tokens=(SENTENCE_PIECES,),
  piece_family="camembert",
  piece_file="sentencepiece.bpe.model",
  keras_tokenizer=None,
)
