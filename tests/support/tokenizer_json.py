"""The values of a tokenizer.json as the tokenizers library writes it."""

import copy


def _items(*parts):
  """The pair of a TemplateProcessing."""
  return [
    {"Sequence" if name in "AB" else "SpecialToken": {"id": name, "type_id": n}}
    for name, n in parts
  ]


_JSON = {
  "WordPiece": {
    "added_tokens": [{"id": 0, "content": "[PAD]"}],
    "normalizer": {
      "type": "BertNormalizer",
      "clean_text": True,
      "handle_chinese_chars": True,
      "strip_accents": None,
      "lowercase": True,
    },
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {
      "type": "TemplateProcessing",
      "pair": _items(
        *(("[CLS]", 0), ("A", 0), ("[SEP]", 0), ("B", 1), ("[SEP]", 1))
      ),
    },
    "model": {
      "type": "WordPiece",
      "unk_token": "[UNK]",
      "continuing_subword_prefix": "##",
      "max_input_chars_per_word": 100,
    },
  },
  "BPE": {
    "added_tokens": [],
    "normalizer": None,
    "pre_tokenizer": {
      "type": "ByteLevel",
      "add_prefix_space": False,
      "trim_offsets": True,
      "use_regex": True,
    },
    "post_processor": {
      "type": "RobertaProcessing",
      "cls": ["<s>", 0],
      "sep": ["</s>", 2],
      "add_prefix_space": False,
      "trim_offsets": True,
    },
    "model": {"type": "BPE", "dropout": None, "ignore_merges": False},
  },
  # As XLM-R's.
  "Unigram": {
    "added_tokens": [],
    "normalizer": {"type": "Precompiled", "precompiled_charsmap": ""},
    "pre_tokenizer": {
      "type": "Sequence",
      "pretokenizers": [
        {"type": "WhitespaceSplit"},
        {
          "type": "Metaspace",
          "replacement": "\u2581",
          "prepend_scheme": "always",
          "split": True,
        },
      ],
    },
    "post_processor": {
      "type": "TemplateProcessing",
      "pair": _items(
        *(("<s>", 0), ("A", 0), ("</s>", 0)),
        *(("</s>", 0), ("B", 0), ("</s>", 0)),
      ),
    },
    "model": {"type": "Unigram", "unk_id": 3, "byte_fallback": False},
  },
}
# As ModernBERT's.
_JSON["BPE after NFC"] = _JSON["BPE"] | {
  "normalizer": {"type": "NFC"},
  "post_processor": {
    "type": "TemplateProcessing",
    "pair": _items(
      *(("[CLS]", 0), ("A", 0), ("[SEP]", 0), ("B", 0), ("[SEP]", 0))
    ),
  },
}


def tokenizer_json(kind, **model):
  """A tokenizer.json of a type of model, with fields of that."""
  values = copy.deepcopy(_JSON[kind])
  values["model"] |= model
  return values
