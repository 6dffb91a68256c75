"""What transformers' tokenizers make of pairs of texts, as JSON.

  python transformers_tokens.py PAIRS.json DIRECTORY ..

Prints a line for each directory: the ids of each pair, or in words why it
cannot be read. A process of its own, as transformers imports what must not meet
TensorFlow.
"""

import json
import pathlib
import sys

import transformers

pairs = json.loads(pathlib.Path(sys.argv[1]).read_text("utf-8"))
for directory in sys.argv[2:]:
  try:
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
  except Exception as error:  # what the tokenizers library raises
    print(json.dumps(str(error)))
    continue
  print(json.dumps([tokenizer(*pair)["input_ids"] for pair in pairs]))
