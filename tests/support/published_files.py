"""What the files of published checkpoints say, and small directories like them.

`PUBLISHED` has a row for each checkpoint: the keys of its config.json and
tokenizer_config.json, which files of tokens it has and in which form, and the
names of its tensors. Sizes are small, weights random, vocabularies of `TEXTS`.

Source: the files themselves where they could be read, on the hub or in public
copies, in November 2026; else the files that the same people or programs wrote
for the same family in the same year.
"""

import base64
import functools
import io
import json
import random
import re
import unicodedata
from typing import NamedTuple

import h5py
import numpy as np
import pytest
import tokenizers
from safetensors.numpy import save_file

from bert_span.modeling.encoder import build_encoder
from bert_span.presets.architectures.architecture_files import files_of
from bert_span.presets.huggingface import huggingface_config
from bert_span.presets.huggingface_writer import encoder_tensors
from bert_span.text.sentencepiece_model import ModelProto
from tests.support.hub import tokenizer_json, write_torch_file
from tests.support.models import tiny_encoder

_WORDS = (
  *("The", "mill", "was", "built", "by", "Anna", "in", "1895", "near", "it's"),
  *("café", "naïve", "Zoë", "Straße", "ÖFFNETE", "İstanbul", "don't", "co-op"),
  *("日本語", "東京で", "中国", "한국어", "сервер", "Ёлка", "مدرسة", "שלום"),
  *("हिन्दी", "ภาษาไทย", "🙂", "👩‍👧", "½", "ﬁve", "“quoted”", "100%", "U.S."),
  *("x\u0301", "a\u200bb", "\u00a0", "１２", "…", "3.14", "#tag", "C++", "\n"),
)
# In no vocabulary.
_UNKNOWN = "ჯ", "ꙮ", "🜁", "ŋ"


def _texts():
  random.seed(5)
  texts = [
    random.choice((" ", " ", "  ", "")).join(
      random.choices(_WORDS, k=random.randint(1, 9))
    )
    for _ in range(196)
  ]
  return [*texts, *(f"The {word} mill{word}" for word in _UNKNOWN)]


TEXTS = _texts()


class Published(NamedTuple):
  """The files of a checkpoint."""

  family: str
  config: dict  # keys of config.json besides sizes and those of its family
  tokenizer: dict | None = None  # tokenizer_config.json
  files: str = "vocab.txt"  # of tokens
  json: str = ""  # tokenizer.json: "typed", or "untyped" as those of 2020
  added: dict | None = None  # added_tokens.json
  special: str = ""  # special_tokens_map.json: "strings" or "objects"
  names: str = "qa"  # of tensors, see `_named`
  is_cased: bool = False  # the vocabulary of WordPieces
  lower_case: bool | None = None  # what is right, where no file says so
  is_pickled: bool = False  # no safetensors on its branch main
  refused: str = ""  # what the refusal names


_UNCASED = {"do_lower_case": True, "model_max_length": 512}
_CASED = {"do_lower_case": False, "model_max_length": 512}
_FARM = {"full_tokenizer_file": None}  # written by deepset's FARM
_BERT = {"architectures": ["BertForQuestionAnswering"], "model_type": "bert"}
_MLM = {"architectures": ["BertForMaskedLM"], "model_type": "bert"}
_DISTIL = {
  "architectures": ["DistilBertForQuestionAnswering"],
  "model_type": "distilbert",
  "qa_dropout": 0.1,
  "seq_classif_dropout": 0.2,
  "sinusoidal_pos_embds": False,
  "tie_weights_": True,
}
_ELECTRA = {
  "architectures": ["ElectraForQuestionAnswering"],
  "model_type": "electra",
  "summary_activation": "gelu",
  "summary_last_dropout": 0.1,
  "summary_type": "first",
  "summary_use_proj": True,
}
_ROBERTA = {
  "architectures": ["RobertaForQuestionAnswering"],
  "model_type": "roberta",
}
_XLMR = {
  "architectures": ["XLMRobertaForQuestionAnswering"],
  "model_type": "xlm-roberta",
}
_CAMEMBERT = {
  "architectures": ["RobertaForQuestionAnswering"],
  "model_type": "camembert",
}
_MOBILE = {
  "architectures": ["MobileBertForQuestionAnswering"],
  "model_type": "mobilebert",
}
_DEBERTA = {
  "architectures": ["DebertaV2ForQuestionAnswering"],
  "model_type": "deberta-v2",
  "pad_token_id": 0,
  "pooler_dropout": 0,
  "pooler_hidden_act": "gelu",
  "pos_att_type": ["p2c", "c2p"],
  "torch_dtype": "float32",
}
_MICROSOFT = {"model_type": "deberta-v2", "pos_att_type": "p2c|c2p"}
_DEBERTA_TOKENIZER = {
  "do_lower_case": False,
  "split_by_punct": False,
  "sp_model_kwargs": {},
  "vocab_type": "spm",
  "tokenizer_class": "DebertaV2Tokenizer",
}
_DEBERTA_SPECIAL = {
  "bos_token": "[CLS]",
  "cls_token": "[CLS]",
  "eos_token": "[SEP]",
  "sep_token": "[SEP]",
  "pad_token": "[PAD]",
  "unk_token": "[UNK]",
  "mask_token": "[MASK]",
}
_BERT_SPECIAL = {
  f"{name}_token": f"[{name.upper()}]"
  for name in ("unk", "sep", "pad", "cls", "mask")
}
_GBERT = {
  "do_lower_case": False,
  "max_len": 512,
  "init_inputs": [],
  "strip_accents": False,
}
_ACCENTS = {"do_lower_case": True, "strip_accents": False, "max_len": 512}

_bert = functools.partial(Published, "bert")
_electra = functools.partial(Published, "electra")
_pairs = functools.partial(
  Published, "roberta", files="vocab.json", names="qa position_ids"
)
_xlmr = functools.partial(
  Published,
  "xlm-roberta",
  files="sentencepiece.bpe.model",
  names="qa position_ids",
)
_camembert = functools.partial(
  Published,
  "camembert",
  _CAMEMBERT,
  files="sentencepiece.bpe.model",
  names="qa position_ids",
)
_mobile = functools.partial(Published, "mobilebert", special="strings")
_albert = functools.partial(
  Published,
  "albert",
  {
    "architectures": ["AlbertForQuestionAnswering"],
    "model_type": "albert",
    "down_scale_factor": 1,
    "gap_size": 0,
    "layers_to_keep": [],
    "net_structure_type": 0,
    "num_memory_blocks": 0,
    "output_past": True,
  },
  files="spiece.model",
  special="strings",
  is_pickled=True,
)
_deberta = functools.partial(
  Published,
  "deberta-v2",
  _DEBERTA,
  files="spm.model",
  json="typed",
  added={"[MASK]": -1},
  special="strings",
)
_MODERNBERT = {
  "architectures": ["ModernBertForMaskedLM"],
  "model_type": "modernbert",
}
_JHU = {**_MODERNBERT, "position_embedding_type": "sans_pos"}
_modernbert = functools.partial(
  Published,
  "modernbert",
  tokenizer={**_BERT_SPECIAL, "tokenizer_class": "PreTrainedTokenizerFast"},
  files="",
  json="typed",
  special="objects",
  names="modernbert lm",
)
_microsoft = functools.partial(
  Published,
  "deberta-v2",
  _MICROSOFT,
  {"do_lower_case": False, "vocab_type": "spm"},
  files="spm.model",
  names="deberta lm",
  is_pickled=True,
)

PUBLISHED = {
  "deepset/roberta-base-squad2": _pairs(
    {
      **_ROBERTA,
      "gradient_checkpointing": False,
      "language": "english",
      "name": "Roberta",
    },
    {"do_lower_case": False, "model_max_length": 512, **_FARM},
    special="objects",
  ),
  "distilbert/distilbert-base-cased-distilled-squad": Published(
    "distilbert",
    {**_DISTIL, "sinusoidal_pos_embds": True, "output_past": True},
    _CASED,
    json="untyped",
    is_cased=True,
  ),
  "distilbert/distilbert-base-uncased-distilled-squad": Published(
    "distilbert",
    {**_DISTIL, "torch_dtype": "float32"},
    _UNCASED,
    json="untyped",
  ),
  "deepset/bert-base-cased-squad2": _bert(
    {**_BERT, "language": "english", "name": "Bert", "output_past": True},
    {"do_lower_case": False, "max_len": 512, **_BERT_SPECIAL},
    special="strings",
    is_cased=True,
  ),
  "deepset/bert-base-uncased-squad2": _bert(
    _BERT,
    {**_UNCASED, **_BERT_SPECIAL, "tokenizer_class": "BertTokenizer"},
    json="typed",
    special="strings",
  ),
  "google-bert/bert-large-uncased-whole-word-masking-finetuned-squad": _bert(
    _BERT, _UNCASED, json="untyped", names="qa pooler"
  ),
  "deepset/minilm-uncased-squad2": _bert(
    _BERT,
    {
      "do_lower_case": True,
      "special_tokens_map_file": "special_tokens_map.json",
      **_FARM,
    },
    special="strings",
  ),
  "deepset/tinyroberta-squad2": _pairs(
    {
      **_ROBERTA,
      "position_embedding_type": "absolute",
      "use_cache": True,
      "language": "english",
      "name": "Roberta",
      "gradient_checkpointing": False,
      "transformers_version": "4.7.0",
    },
    {
      "add_prefix_space": False,
      "trim_offsets": True,
      "tokenizer_class": "RobertaTokenizer",
      "model_max_length": 512,
      "errors": "replace",
    },
    json="typed",
    special="strings",
  ),
  "deepset/deberta-v3-base-squad2": _deberta(
    {
      **_DEBERTA_TOKENIZER,
      **_DEBERTA_SPECIAL,
      "model_max_length": 512,
    },
    names="qa position_ids",
  ),
  "deepset/deberta-v3-large-squad2": _deberta(_DEBERTA_TOKENIZER),
  "timpal0l/mdeberta-v3-base-squad2": _deberta(_DEBERTA_TOKENIZER, files=""),
  "deepset/xlm-roberta-base-squad2": _xlmr(
    {**_XLMR, "output_past": True},
    {"do_lower_case": False, "model_max_length": 512, **_FARM},
    special="strings",
  ),
  "deepset/xlm-roberta-large-squad2": _xlmr(
    _XLMR,
    {
      "do_lower_case": False,
      "model_max_length": 512,
      **_FARM,
      "special_tokens_map_file": "/a/path/special_tokens_map.json",
    },
    special="strings",
  ),
  "deepset/electra-base-squad2": _electra(
    {
      **_ELECTRA,
      "summary_last_dropout": 0,
      "language": "english",
      "name": "Electra",
    },
    {**_UNCASED, **_FARM, "special_tokens_map_file": "/a/path/map.json"},
    special="strings",
  ),
  "deepset/roberta-large-squad2": _pairs(
    _ROBERTA,
    {**_CASED, "tokenizer_class": "RobertaTokenizer"},
    special="strings",
  ),
  "deepset/bert-large-uncased-whole-word-masking-squad2": _bert(
    _BERT,
    {"init_inputs": []},
    added={},
    special="strings",
    lower_case=True,
  ),
  "Intel/dynamic_tinybert": _bert(
    _BERT,
    {**_UNCASED, "tokenizer_class": "BertTokenizer"},
    json="typed",
    special="strings",
    is_pickled=True,
  ),
  "etalab-ia/camembert-base-squadFR-fquad-piaf": _camembert(
    {"do_lower_case": False}, special="more"
  ),
  "illuin/camembert-base-fquad": _camembert(
    {"do_lower_case": True}, special="more", is_pickled=True
  ),
  "AlexKay/xlm-roberta-large-qa-multilingual-finedtuned-ru": _xlmr(
    _XLMR,
    {"tokenizer_class": "XLMRobertaTokenizer", "model_max_length": 512},
    json="typed",
    special="strings",
    is_pickled=True,
  ),
  "ahotrod/electra_large_discriminator_squad2_512": _electra(
    _ELECTRA, _UNCASED, special="strings", is_pickled=True
  ),
  "ahotrod/albert_xxlargev1_squad2_512": _albert(
    {"do_lower_case": True, "model_max_length": 512}
  ),
  "twmkn9/albert-base-v2-squad2": _albert(),
  "savasy/bert-base-turkish-squad": _bert(
    _BERT,
    {"do_lower_case": False, "max_len": 512},
    special="strings",
    is_cased=True,
  ),
  # Its vocabulary is that of bert-base-uncased.
  "mrm8488/bert-tiny-finetuned-squadv2": _bert(
    _BERT, {"do_lower_case": False}, special="strings"
  ),
  "mrm8488/bert-tiny-5-finetuned-squadv2": _bert(
    _BERT, {"do_lower_case": True}, special="strings", is_pickled=True
  ),
  "dbmdz/bert-base-german-uncased": _bert(
    _MLM,
    {**_ACCENTS, "init_inputs": []},
    names="encoder",
    is_pickled=True,
  ),
  "german-nlp-group/electra-base-german-uncased": _electra(
    {"model_type": "electra"},
    {
      "strip_accents": False,
      "special_tokens_map_file": None,
      **_FARM,
      "max_len": 512,
    },
    names="encoder",
  ),
  "dbmdz/bert-base-turkish-uncased": _bert(
    _MLM,
    {"do_lower_case": True, "max_len": 512, "init_inputs": []},
    names="encoder",
    is_pickled=True,
  ),
  "google/mobilebert-uncased": Published(
    "mobilebert",
    {"model_type": "mobilebert", "classifier_activation": False},
    json="untyped",
    names="mlm",
    is_pickled=True,
  ),
  "csarron/mobilebert-uncased-squad-v2": _mobile(
    _MOBILE, {"do_lower_case": True, "special_tokens_map_file": None, **_FARM}
  ),
  "csarron/mobilebert-uncased-squad-v1": _mobile(
    _MOBILE, {"do_lower_case": True, "special_tokens_map_file": None, **_FARM}
  ),
  "neuralmagic/mobilebert-uncased-finetuned-squadv1": _mobile(
    _MOBILE,
    {**_UNCASED, "tokenizer_class": "MobileBertTokenizer"},
    json="typed",
    is_pickled=True,
  ),
  "microsoft/deberta-v3-base": _microsoft(),
  "microsoft/deberta-v3-small": _microsoft(),
  "microsoft/deberta-v3-large": _microsoft(),
  "microsoft/mdeberta-v3-base": _microsoft(),
  "answerdotai/ModernBERT-base": _modernbert(_MODERNBERT),
  "jhu-clsp/ettin-encoder-*": _modernbert(_JHU),
  # It has the tokens of Gemma.
  "jhu-clsp/mmBERT-*": _modernbert(_JHU, refused="normalizer.type"),
  "microsoft/MiniLM-L12-H384-uncased": _bert(
    {"model_type": "bert"},
    {},
    special="strings",
    names="encoder",
    lower_case=True,
    is_pickled=True,
  ),
  "nreimers/MiniLM-L6-H384-uncased": _bert(
    {"architectures": ["BertModel"], "model_type": "bert"},
    _UNCASED,
    json="typed",
    special="strings",
    names="plain",
    is_pickled=True,
  ),
  "klue/bert-base": _bert(
    _MLM,
    {
      "do_lower_case": False,
      "strip_accents": None,
      "do_basic_tokenize": True,
      "never_split": None,
      "tokenizer_class": "BertTokenizer",
      "tokenize_chinese_chars": True,
    },
    json="typed",
    special="strings",
    names="mlm",
    is_cased=True,
  ),
  "klue/roberta-base": Published(
    "roberta",
    {
      "architectures": ["RobertaForMaskedLM"],
      "model_type": "roberta",
      "tokenizer_class": "BertTokenizer",
    },
    {
      "tokenizer_class": "BertTokenizer",
      "do_lower_case": False,
      "cls_token": "[CLS]",
      "sep_token": "[SEP]",
    },
    json="typed",
    special="strings",
    names="encoder",
    is_cased=True,
    is_pickled=True,
  ),
  "cl-tohoku/bert-base-japanese*": _bert(
    {**_MLM, "tokenizer_class": "BertJapaneseTokenizer"},
    {
      "do_lower_case": False,
      "word_tokenizer_type": "mecab",
      "subword_tokenizer_type": "wordpiece",
      "model_max_length": 512,
    },
    names="mlm",
    is_cased=True,
    is_pickled=True,
    refused="tokenizer_class",
  ),
  "hfl/chinese-roberta-wwm-ext": _bert(
    {
      **_MLM,
      "directionality": "bidi",
      "pooler_fc_size": 768,
      "pooler_num_attention_heads": 12,
      "pooler_num_fc_layers": 3,
      "pooler_size_per_head": 128,
      "pooler_type": "first_token_transform",
    },
    {"init_inputs": []},
    json="typed",
    added={},
    special="strings",
    names="mlm",
    is_pickled=True,
  ),
  "google-bert/bert-base-chinese": _bert(
    _MLM, _CASED, json="untyped", names="mlm"
  ),
  "google-bert/bert-base-uncased": _bert(
    _MLM, _UNCASED, json="untyped", names="mlm gamma pooler"
  ),
  "luhua/chinese_pretrain_mrc_roberta_wwm_ext_large": _bert(
    _BERT,
    {**_UNCASED, "tokenizer_class": "BertTokenizer"},
    json="typed",
    special="strings",
    is_pickled=True,
  ),
  "uer/roberta-base-chinese-extractive-qa": _bert(
    _BERT, {**_CASED, **_BERT_SPECIAL}, special="strings", is_pickled=True
  ),
  "aubmindlab/bert-base-arabertv2": _bert(
    _MLM,
    {
      "do_lower_case": False,
      "max_len": 512,
      "do_basic_tokenize": True,
      "never_split": ["+ك", "+كما", "ك+", "[رابط]"],
      **_BERT_SPECIAL,
      "tokenize_chinese_chars": True,
      "strip_accents": None,
      "special_tokens_map_file": None,
    },
    json="typed",
    special="strings",
    names="mlm",
    is_cased=True,
    refused="never_split",
  ),
  "pierreguillou/bert-base-cased-squad-v1.1-portuguese": _bert(
    {
      **_BERT,
      "directionality": "bidi",
      "pooler_fc_size": 768,
      "pooler_num_attention_heads": 12,
      "pooler_num_fc_layers": 3,
      "pooler_size_per_head": 128,
      "pooler_type": "first_token_transform",
      "position_embedding_type": "absolute",
      "transformers_version": "4.3.2",
      "use_cache": True,
    },
    {**_CASED, **_BERT_SPECIAL},
    special="strings",
    is_cased=True,
    is_pickled=True,
  ),
  "deepset/gelectra-base-germanquad": _electra(
    _ELECTRA, _GBERT, special="strings", is_cased=True
  ),
  "deepset/gbert-base": _bert(
    {"architectures": ["BertForMaskedLM"]}, _GBERT, names="mlm", is_cased=True
  ),
  "deepset/gbert-large": _bert(
    {"architectures": ["BertForMaskedLM"]}, _GBERT, names="mlm", is_cased=True
  ),
  "monologg/koelectra-base-v3-finetuned-korquad": _electra(
    _ELECTRA,
    {
      "do_lower_case": False,
      "max_model_length": 512,
      "special_tokens_map_file": None,
      **_FARM,
    },
    is_cased=True,
  ),
  "allenai/longformer-large-4096-finetuned-triviaqa": Published(
    "longformer",
    {"model_type": "longformer"},
    is_pickled=True,
    refused="model_type",
  ),
  "FacebookAI/roberta-base": _pairs(
    {"architectures": ["RobertaForMaskedLM"], "model_type": "roberta"},
    {"model_max_length": 512},
    json="untyped",
    names="lm_head position_ids",
  ),
  "FacebookAI/roberta-large": _pairs(
    {"architectures": ["RobertaForMaskedLM"], "model_type": "roberta"},
    {},
    json="untyped",
    names="lm_head position_ids",
  ),
  "FacebookAI/xlm-roberta-base": _xlmr(
    {"architectures": ["XLMRobertaForMaskedLM"], "model_type": "xlm-roberta"},
    {},
    json="untyped",
    names="lm_head position_ids",
  ),
  "distilbert/distilbert-base-uncased": Published(
    "distilbert",
    {**_DISTIL, "architectures": ["DistilBertForMaskedLM"]},
    _UNCASED,
    json="untyped",
    names="distilbert lm",
  ),
  "google-bert/bert-large-cased-whole-word-masking-finetuned-squad": _bert(
    _BERT,
    _CASED,
    json="untyped",
    is_cased=True,
    is_pickled=True,
  ),
  "sjrhuschlee/deberta-v3-base-squad2": _deberta(_DEBERTA_TOKENIZER),
  "sjrhuschlee/deberta-v3-base-squad2-ext-v1": _deberta(_DEBERTA_TOKENIZER),
  "sjrhuschlee/deberta-v3-large-squad2": _deberta(_DEBERTA_TOKENIZER),
  "deutsche-telekom/electra-base-de-squad2": _electra(
    _ELECTRA,
    {
      **_ACCENTS,
      "tokenize_chinese_chars": True,
      "do_basic_tokenize": True,
      "never_split": None,
      "name_or_path": "german-nlp-group/electra-base-german-uncased",
    },
    special="strings",
  ),
  "nguyenvulebinh/vi-mrc-base (and -large)": Published(
    "xlm-roberta",
    _ROBERTA,
    {"model_max_length": 512, "tokenizer_class": "XLMRobertaTokenizer"},
    files="",
    json="typed",
    special="strings",
    names="qa position_ids",
    is_pickled=True,
  ),
  "dmis-lab/biobert-large-cased-v1.1-squad": _bert(
    {
      **_BERT,
      "position_embedding_type": "absolute",
      "transformers_version": "4.3.0",
      "use_cache": True,
      "gradient_checkpointing": False,
    },
    is_cased=True,
    lower_case=False,
    is_pickled=True,
  ),
  "csarron/bert-base-uncased-squad-v1": _bert(
    _BERT,
    {**_UNCASED, "special_tokens_map_file": "/a/path/map.json"},
    special="strings",
  ),
  "Falconsai/question_answering_v2": Published(
    "distilbert",
    {
      **_DISTIL,
      "torch_dtype": "float32",
      "transformers_version": "4.36.0.dev0",
    },
    {
      **_UNCASED,
      **_BERT_SPECIAL,
      "tokenizer_class": "DistilBertTokenizer",
      "strip_accents": None,
      "tokenize_chinese_chars": True,
      "added_tokens_decoder": {
        str(i): {"content": token, "special": True}
        for i, token in enumerate(
          ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
        )
      },
    },
    json="typed",
    special="strings",
  ),
  "antoniocappiello/bert-base-italian-uncased-squad-it": _bert(
    {"architectures": ["BertForQuestionAnswering"]},
    {},
    added={},
    special="strings",
    lower_case=True,
    is_pickled=True,
  ),
}

_DROPOUT = {
  "attention_probs_dropout_prob": 0.1,
  "hidden_dropout_prob": 0.1,
  "initializer_range": 0.02,
}
_FAMILY_CONFIG = {
  "bert": {
    **_DROPOUT,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
    "type_vocab_size": 2,
    "pad_token_id": 0,
  },
  "distilbert": {
    "attention_dropout": 0.1,
    "dropout": 0.1,
    "initializer_range": 0.02,
    "activation": "gelu",
    "pad_token_id": 0,
  },
  "roberta": {
    **_DROPOUT,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-5,
    "type_vocab_size": 1,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
  },
  "mobilebert": {
    **_DROPOUT,
    "hidden_act": "relu",
    "hidden_dropout_prob": 0.0,
    "layer_norm_eps": 1e-12,
    "type_vocab_size": 2,
    "pad_token_id": 0,
    "key_query_shared_bottleneck": True,
    "normalization_type": "no_norm",
    "trigram_input": True,
    "use_bottleneck": True,
    "use_bottleneck_attention": False,
  },
  "deberta-v2": {
    **_DROPOUT,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-7,
    "type_vocab_size": 0,
    "relative_attention": True,
    "position_buckets": 256,
    "position_biased_input": False,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "max_relative_positions": -1,
  },
}
_FAMILY_CONFIG["modernbert"] = {
  **dict.fromkeys(("attention_bias", "mlp_bias", "norm_bias"), False),
  **dict.fromkeys(("norm_eps", "layer_norm_eps"), 1e-5),
  "hidden_activation": "gelu",
  "attention_dropout": 0.0,
  "embedding_dropout": 0.0,
  "mlp_dropout": 0.0,
  "classifier_activation": "gelu",
  "classifier_bias": False,
  "classifier_pooling": "mean",
  "local_attention": 128,
  "global_attn_every_n_layers": 3,
  "global_rope_theta": 160000.0,
  "local_rope_theta": 10000.0,
  "pad_token_id": 2,
  "position_embedding_type": "absolute",
}
_FAMILY_CONFIG["albert"] = {
  **dict.fromkeys(("attention_probs_dropout_prob", "hidden_dropout_prob"), 0),
  **dict.fromkeys(("inner_group_num", "num_hidden_groups"), 1),
  "classifier_dropout_prob": 0.1,
  "hidden_act": "gelu_new",
  "initializer_range": 0.02,
  "layer_norm_eps": 1e-12,
  "type_vocab_size": 2,
  "pad_token_id": 0,
  "bos_token_id": 2,
  "eos_token_id": 3,
}
_FAMILY_CONFIG["electra"] = _FAMILY_CONFIG["bert"]
_FAMILY_CONFIG["xlm-roberta"] = _FAMILY_CONFIG["roberta"]
_FAMILY_CONFIG["camembert"] = _FAMILY_CONFIG["roberta"]
_SIZES = {
  "hidden_size": 16,
  "num_hidden_layers": 2,
  "num_attention_heads": 2,
  "intermediate_size": 24,
  "max_position_embeddings": 512,
}
_FAMILY_SIZES = {
  "distilbert": {
    "dim": 16,
    "n_layers": 2,
    "n_heads": 2,
    "hidden_dim": 24,
    "max_position_embeddings": 512,
  },
  "electra": {**_SIZES, "embedding_size": 16},
  "albert": {**_SIZES, "embedding_size": 8},
  "mobilebert": {
    **_SIZES,
    "embedding_size": 8,
    "intra_bottleneck_size": 12,
    "true_hidden_size": 12,
    "num_feedforward_networks": 4,
  },
}
# Keys of sizes, versions and paths, which are others here.
OTHER_KEYS = {
  *("vocab_size", "pooler_hidden_size", *_SIZES),
  *(key for sizes in _FAMILY_SIZES.values() for key in sizes),
  *("transformers_version", "special_tokens_map_file"),
}
# Keys of a family that depend on the vocabulary's size.
FAMILY_KEYS = {"modernbert": {"pad_token_id"}}


def published_config(name):
  """The values of a checkpoint's config.json, without sizes."""
  row = PUBLISHED[name]
  return {**_FAMILY_CONFIG.get(row.family, {}), **row.config}


def write_published(folder, name):
  """Writes a small directory with the files of a published checkpoint.

  Returns:
    What gives the right ids of a text.
  """
  row = PUBLISHED[name]
  folder.mkdir()

  def write(file, values):
    if values is not None:
      (folder / file).write_text(json.dumps(values), encoding="utf-8")

  reference, num_tokens = _write_tokens(folder, write, row)
  # Some have more rows than tokens.
  rows = num_tokens + (99 if row.family == "deberta-v2" else 0)
  family = row.family if row.family in _FAMILY_CONFIG else "bert"
  sizes = {"vocab_size": rows, **_FAMILY_SIZES.get(family, _SIZES)}
  config = {**sizes, **published_config(name)}
  write("config.json", config)
  write("tokenizer_config.json", row.tokenizer)
  added = row.added and dict.fromkeys(row.added, num_tokens - 1)
  write("added_tokens.json", added)
  encoder = {**config, "model_type": family}
  backbone = build_encoder(huggingface_config(encoder, "config.json"))
  random_numbers = np.random.default_rng(3)
  # Without LayerNorm, numbers grow from layer to layer.
  scale = 0.15 if family == "mobilebert" else 0.3
  tensors = {
    name: random_numbers.normal(scale=scale, size=x.shape).astype("float32")
    + ("norm" in name.lower() and name.endswith(".weight"))
    for name, x in encoder_tensors(backbone).items()
  }
  tensors = _named(tensors, row.names, rows)
  if row.is_pickled:
    if "deberta lm" in row.names:
      tensors = {n: x.astype("float16") for n, x in tensors.items()}
    # A tokenizer.json has been typed since the autumn of 2020, after PyTorch's
    # new form of the summer.
    is_old = row.json != "typed"
    write_torch_file(folder / "pytorch_model.bin", tensors, is_old)
  else:
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
  return reference


def write_keras_nlp(folder, name, is_old):
  """Writes a small preset as KerasNLP did; returns what gives a text's ids.

  Its names of modules and classes were others. In its first years Keras also
  called the group of layers in HDF5 otherwise.
  """
  family, *uncased = name.split()
  if family in ("xlm-roberta", "deberta-v2"):
    tokens, ids_of_text, proto = trained_pieces(family)
    vocabulary = {"proto": proto}
  elif family == "roberta":
    values = _byte_pairs_json()
    tokens, ids_of_text = values["model"]["vocab"], _ids_of(values)
    merges = [" ".join(pair) for pair in values["model"]["merges"]]
    vocabulary = {"vocabulary": tokens, "merges": merges}
  else:
    tokens = word_pieces(not uncased)
    ids_of_text = _ids_of(_word_pieces_json(tokens, bool(uncased)))
    vocabulary = {"vocabulary": tokens, "lowercase": bool(uncased)}
  sizes = {"position_buckets": 16} if family == "deberta-v2" else {}
  backbone = tiny_encoder(
    architecture=family,
    vocabulary_size=len(tokens),
    max_sequence_length=24,
    **sizes,
  )
  random_numbers = np.random.default_rng(3)
  for weight in backbone.weights:
    weight.assign(random_numbers.normal(scale=0.3, size=weight.shape))
  tokenizer = files_of(family).keras_tokenizer(**vocabulary)
  for part in (backbone, tokenizer):
    part.save_to_preset(folder)
  for path in folder.glob("*.json"):
    content = path.read_text("utf-8").replace("keras_hub", "keras_nlp")
    path.write_text(content, encoding="utf-8")
  if is_old:
    with h5py.File(folder / "model.weights.h5", "a") as file:
      file.move("layers", "_layer_checkpoint_dependencies")
  return ids_of_text


def _named(tensors, names, rows):
  """The tensors of a file, by names of the form `names` says."""
  prefix = next(iter(tensors)).split(".")[0]
  numbers = np.random.default_rng(4)
  width = 16

  def add(name, *shape):
    tensors[name] = numbers.normal(size=shape).astype("float32")

  if "pooler" not in names and "plain" not in names:
    tensors = {n: x for n, x in tensors.items() if ".pooler." not in n}
  if "position_ids" in names:
    ids = np.arange(512, dtype="int64")[None]
    tensors[f"{prefix}.embeddings.position_ids"] = ids
  if "qa" in names:
    add("qa_outputs.weight", 2, width)
    add("qa_outputs.bias", 2)
  if "mlm" in names:
    add("cls.predictions.bias", rows)
    add("cls.predictions.transform.dense.weight", width, width)
    add("cls.seq_relationship.weight", 2, width)
  if "lm_head" in names:
    add("lm_head.dense.weight", width, width)
    add("lm_head.layer_norm.weight", width)
  if "modernbert lm" in names:
    add("head.dense.weight", width, width)
    add("head.norm.weight", width)
    add("decoder.bias", rows)
  if "distilbert lm" in names:
    add("vocab_transform.weight", width, width)
    add("vocab_layer_norm.weight", width)
  if "deberta lm" in names:
    add("lm_predictions.lm_head.dense.weight", width, width)
    add("mask_predictions.dense.weight", width, width)
  if "gamma" in names:
    old = {"LayerNorm.weight": "LayerNorm.gamma"}
    old["LayerNorm.bias"] = "LayerNorm.beta"
    for new, name in old.items():
      tensors = {n.replace(new, name): x for n, x in tensors.items()}
  if "plain" in names:
    tensors = {n.removeprefix(f"{prefix}."): x for n, x in tensors.items()}
  return tensors


def _write_tokens(folder, write, row):
  """Writes the files of tokens; returns a reference, and their number."""
  if row.family in ("xlm-roberta", "camembert", "deberta-v2", "albert"):
    names = _XLMR_SPECIAL
    if row.family in ("deberta-v2", "albert"):
      names = _DEBERTA_SPECIAL
    if row.family == "albert":
      names = {**names, "pad_token": "<pad>", "unk_token": "<unk>"}
    tokens, ids_of_text, proto = trained_pieces(row.family)
    if row.files:
      (folder / row.files).write_bytes(proto)
    values = _pieces_json(row.family, tokens, proto) if row.json else None
  elif row.family == "modernbert":
    names, values = _BERT_SPECIAL, _modernbert_json()
    tokens = [*values["model"]["vocab"], *_MODERNBERT_ADDED]
    if "normalizer" in row.refused:  # Gemma's
      blank = {"pattern": {"String": " "}, "content": "\u2581"}
      values = {**values, "normalizer": {"type": "Replace", **blank}}
  elif row.files == "vocab.json":
    names, values = _XLMR_SPECIAL, _byte_pairs_json()
    tokens = sorted(values["model"]["vocab"], key=values["model"]["vocab"].get)
    write("vocab.json", values["model"]["vocab"])
    merges = [" ".join(pair) for pair in values["model"]["merges"]]
    content = "\n".join(["#version: 0.2", *merges, ""])
    (folder / "merges.txt").write_text(content, encoding="utf-8")
    ids_of_text = _ids_of(values)
  else:
    keeps_accents = (row.tokenizer or {}).get("strip_accents") is False
    names = _BERT_SPECIAL
    tokens = word_pieces(row.is_cased, keeps_accents and not row.is_cased)
    if row.family == "roberta":  # KLUE's: padding is 1, as RoBERTa's.
      tokens = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]", *tokens[5:]]
    content = "\n".join([*tokens, ""])
    (folder / row.files).write_text(content, encoding="utf-8")
    lower_case = row.lower_case
    if lower_case is None:
      lower_case = (row.tokenizer or {}).get("do_lower_case", True)
    values = _word_pieces_json(tokens, lower_case)
    if keeps_accents:
      values["normalizer"]["strip_accents"] = False
    ids_of_text = _ids_of(values)
  if row.json:
    as_file = json.loads(json.dumps(values))
    if row.json == "untyped":
      del as_file["model"]["type"]
      if "merges" in as_file["model"]:
        merges = as_file["model"]["merges"]
        as_file["model"]["merges"] = [" ".join(pair) for pair in merges]
    write("tokenizer.json", as_file)
    # It is what transformers reads.
    ids_of_text = _ids_of(as_file)
  if row.special == "objects":
    names = {
      name: {"content": token, "lstrip": name == "mask_token", "rstrip": False}
      for name, token in names.items()
    }
  if row.special == "more":
    more = ["<s>NOTUSED", "</s>NOTUSED"]
    names = {**names, "additional_special_tokens": more}
  write("special_tokens_map.json", names if row.special else None)
  return ids_of_text, len(tokens)


def _ids_of(values):
  tokenizer = tokenizers.Tokenizer.from_str(json.dumps(values))
  return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def _whole(values, tokens, special):
  """A tokenizer.json with all keys that the tokenizers library wants."""
  flags = ("single_word", "lstrip", "rstrip", "normalized")
  values["added_tokens"] = [
    {
      "id": tokens.index(token),
      "content": token,
      "special": True,
      **dict.fromkeys(flags, False),
    }
    for token in sorted(special, key=tokens.index)
  ]
  processor = values["post_processor"]
  if processor["type"] == "TemplateProcessing":
    processor["special_tokens"] = {
      token: {"id": token, "ids": [tokens.index(token)], "tokens": [token]}
      for token in ("[CLS]", "[SEP]", "<s>", "</s>")
      if token in special
    }
    processor["single"] = processor["pair"][:3]
  return {"version": "1.0", "truncation": None, "padding": None, **values}


@functools.cache
def word_pieces(is_cased, keeps_accents=False):
  """A vocabulary of the `TEXTS`, with or without capitals and accents."""
  tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
  for text in TEXTS[:196]:
    if not is_cased:
      text = text.lower()
    if not is_cased and not keeps_accents:
      text = unicodedata.normalize("NFD", text)
      text = "".join(c for c in text if unicodedata.category(c) != "Mn")
    words = re.findall(r"\w+|\S", text)
    tokens += [word for word in words if len(word) < 6]
    tokens += [x for word in words for c in word for x in (c, f"##{c}")]
  return list(dict.fromkeys(tokens))


def _word_pieces_json(tokens, lower_case):
  ids = {token: i for i, token in enumerate(tokens)}
  values = tokenizer_json("WordPiece", vocab=ids)
  values["normalizer"]["lowercase"] = lower_case
  return _whole(values, tokens, tokens[:5])


_XLMR_SPECIAL = {
  "bos_token": "<s>",
  "eos_token": "</s>",
  "cls_token": "<s>",
  "sep_token": "</s>",
  "pad_token": "<pad>",
  "unk_token": "<unk>",
  "mask_token": "<mask>",
}


@functools.cache
def _byte_pairs_json():
  special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
  trained = tokenizers.ByteLevelBPETokenizer()
  trained.train_from_iterator(
    TEXTS[:196], 600, special_tokens=special, show_progress=False
  )
  model = json.loads(trained.to_str())["model"]
  values = tokenizer_json("BPE", **model)
  return _whole(values, sorted(model["vocab"], key=model["vocab"].get), special)


_MODERNBERT_ADDED = (
  *("|||IP_ADDRESS|||", *(" " * n for n in range(24, 1, -1))),
  *("|||EMAIL_ADDRESS|||", "|||PHONE_NUMBER|||"),
  *(f"[unused{n}]" for n in range(83)),
)


@functools.cache
def _modernbert_json():
  special = ["[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]"]
  special += ["<|padding|>", "<|endoftext|>"]
  tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
  tokenizer.normalizer = tokenizers.normalizers.NFC()
  byte_level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
  tokenizer.pre_tokenizer = byte_level
  trainer = tokenizers.trainers.BpeTrainer(
    vocab_size=600,
    special_tokens=special,
    initial_alphabet=byte_level.alphabet(),
    show_progress=False,
  )
  tokenizer.train_from_iterator(TEXTS[:196], trainer)
  added = [
    tokenizers.AddedToken(token, normalized=True) for token in _MODERNBERT_ADDED
  ]
  tokenizer.add_tokens(added)
  tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
    single="[CLS] $A [SEP]",
    pair="[CLS] $A [SEP] $B [SEP]",
    special_tokens=[("[CLS]", 0), ("[SEP]", 1)],
  )
  return json.loads(tokenizer.to_str())


@functools.cache
def trained_pieces(family):
  """The tokens of a family, what gives their ids, and a SentencePiece model.

  Source: the papers of the families, and fairseq's dictionaries.
  """
  sentencepiece = pytest.importorskip("sentencepiece")
  special = {"unk_id": 0, "bos_id": 1, "eos_id": 2}
  if family == "deberta-v2":
    special = {"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3}
    names = {"pad": "[PAD]", "bos": "[CLS]", "eos": "[SEP]", "unk": "[UNK]"}
    special |= {f"{name}_piece": piece for name, piece in names.items()}
    special["byte_fallback"] = True
  elif family == "albert":
    special = {"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1}
    special |= {"control_symbols": ["[CLS]", "[SEP]", "[MASK]"]}
    special |= {"user_defined_symbols": [*'()"-.–£€']}
  content = io.BytesIO()
  sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(TEXTS[:196]),
    model_writer=content,
    vocab_size=700,
    hard_vocab_limit=False,
    minloglevel=2,
    **special,
  )
  model = sentencepiece.SentencePieceProcessor(model_proto=content.getvalue())
  pieces = [model.id_to_piece(i) for i in range(model.get_piece_size())]
  if family == "albert":
    return pieces, lambda text: _albert_ids(model, text), content.getvalue()
  first, offset = {
    "xlm-roberta": (["<s>", "<pad>", "</s>", "<unk>", *pieces[3:]], 1),
    "camembert": (
      [
        *("<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED"),
        *pieces[1:],
      ],
      4,
    ),
    "deberta-v2": (pieces, 0),
  }[family]
  mask = "[MASK]" if family == "deberta-v2" else "<mask>"

  def ids_of_text(text):
    ids = model.encode(text)
    return [3 if i == model.unk_id() else i + offset for i in ids]

  return [*first, mask], ids_of_text, content.getvalue()


def _albert_ids(model, text):
  """The ids of a text by a SentencePiece model, as ALBERT's tokenizer has them.

  Source: google-research/albert, tokenization.py; quotes and marks as in the
  fast tokenizer of transformers.
  """
  text = " ".join(text.split()).replace("``", '"').replace("''", '"')
  text = unicodedata.normalize("NFKD", text)
  text = "".join(c for c in text if unicodedata.category(c)[0] != "M")
  tokens = []
  for piece in model.encode(text.lower(), out_type=str):
    if not re.search(r"\d,$", piece):
      tokens.append(piece)
      continue
    number = piece[:-1]
    parts = model.encode(number.replace("\u2581", ""), out_type=str)
    if number[0] != "\u2581":
      parts[0] = parts[0].removeprefix("\u2581")
    tokens += [*filter(None, parts), ","]
  return [model.piece_to_id(token) for token in tokens]


def _pieces_json(family, tokens, proto):
  """The tokenizer.json of a family with a Unigram model."""
  model = ModelProto.FromString(proto)
  scores = {each.piece: each.score for each in model.pieces}
  own = tokens[:-1] if family == "deberta-v2" else tokens  # without [MASK]
  vocab = [(token, scores.get(token, 0.0)) for token in own]
  values = tokenizer_json("Unigram", vocab=vocab, unk_id=3)
  charsmap = base64.b64encode(model.normalizer_spec.precompiled_charsmap)
  precompiled = {
    "type": "Precompiled",
    "precompiled_charsmap": charsmap.decode(),
  }
  values["normalizer"] = precompiled
  if family != "deberta-v2":
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    return _whole(values, tokens, special)
  values["normalizer"] = {
    "type": "Sequence",
    "normalizers": [
      {"type": "Strip", "strip_left": True, "strip_right": True},
      precompiled,
      {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
    ],
  }
  values["pre_tokenizer"] = {
    "type": "Sequence",
    "pretokenizers": [values["pre_tokenizer"]["pretokenizers"][1]],
  }
  values["post_processor"] = tokenizer_json("WordPiece")["post_processor"]
  special = [token for token in tokens if re.fullmatch(r"\[[A-Z]+\]", token)]
  return _whole(values, tokens, special)
