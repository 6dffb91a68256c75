"""What transformers' tokenizers make of texts or pairs of them, as JSON.

  python transformers_tokens.py PAIRS.json DIRECTORY ..

Prints a line for each directory: the ids and the offsets of each pair, or in
words why it cannot be read. A process of its own, as transformers imports what
must not meet TensorFlow.
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
  encodings = (tokenizer(*pair, return_offsets_mapping=True) for pair in pairs)
  print(json.dumps([[x["input_ids"], x["offset_mapping"]] for x in encodings]))
