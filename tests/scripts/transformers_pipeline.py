"""What transformers 4's question-answering pipeline answers, as JSON.

  python transformers_pipeline.py MODEL PAIRS.json SETTINGS.json

Prints a line for each object of settings: the results of all pairs.
"""

import json
import pathlib
import sys

import transformers

model, *files = sys.argv[1:]
pairs, settings = (
  json.loads(pathlib.Path(f).read_text("utf-8")) for f in files
)
qa = transformers.pipeline("question-answering", model=model, tokenizer=model)
for each in settings:
  print(json.dumps([qa(question=q, context=c, **each) for q, c in pairs]))
