"""XLM-R's files: RoBERTa's with other tokens.

Source: Conneau et al. 2020, arXiv 1911.02116.
"""

import dataclasses

import keras_hub

from bert_span.presets.architectures import roberta
from bert_span.text.vocabulary import SENTENCE_PIECES

FILES = dataclasses.replace(
  roberta.FILES,
  class_name="XLMRoberta",
  tokens=(SENTENCE_PIECES,),
  piece_family="xlm-roberta",
  piece_file="sentencepiece.bpe.model",
  keras_tokenizer=keras_hub.models.XLMRobertaTokenizer,
)
