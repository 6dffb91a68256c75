"""The questions with which exports are checked."""

import importlib.resources

from bert_span.squad.example import SquadExample
from bert_span.squad.reader import read_squad


def sample_examples():
  """Returns the embedded questions and odd inputs, a list of `SquadExample`."""
  path = importlib.resources.files("bert_span") / "sample/dev.json"
  examples = read_squad(str(path)).examples
  contexts = list(dict.fromkeys(example.context for example in examples))
  question = examples[0].question
  return [
    *examples,
    SquadExample("all passages in one", question, "\n\n".join(contexts)),
    SquadExample("empty question", "", contexts[0]),
    SquadExample("question without a token", " \u200b", contexts[1]),
    SquadExample("question that is cut", 20 * question, contexts[1]),
    SquadExample("empty passage", question, ""),
    SquadExample("blank passage", question, " \n\t "),
    SquadExample("accents and emoji", question, "É 日本 🙂 " + contexts[0]),
  ]
