"""The questions with which exports are checked."""

import importlib.resources

from bert_span.squad.example import SquadExample
from bert_span.squad.options import PROOFS, SHORT
from bert_span.squad.reader import read_squad

_SCRIPTS = (
  "Der große Turm heißt Größe. Башня стоит в Москве. 塔は東京にあります。"
  "البرج في القاهرة. मीनार दिल्ली में है। "
)


def sample_examples(proof=SHORT):
  """Returns questions to compare an exported model and its source on.

  Both have answerable and unanswerable questions, passages of one window and of
  several, odd inputs and several scripts.

  Args:
    proof: "short", some 20 windows of 384 WordPieces in all, which is what a
      large model answers in a minute; or "full", some 220 windows.

  Returns:
    A list of `SquadExample`.

  Raises:
    ValueError: proof is another word.
  """
  if proof not in PROOFS:
    raise ValueError(f'proof must be "short" or "full". Received: {proof!r}')
  path = importlib.resources.files("bert_span") / "sample/dev.json"
  examples = read_squad(str(path)).examples
  contexts = list(dict.fromkeys(example.context for example in examples))
  question = examples[0].question
  odd_inputs = [
    SquadExample("empty question", "", contexts[0]),
    SquadExample("question without a token", " \u200b", contexts[1]),
    SquadExample("question that is cut", 20 * question, contexts[1]),
    SquadExample("empty passage", question, ""),
    SquadExample("blank passage", question, " \n\t "),
    SquadExample("accents and emoji", question, "É 日本 🙂 " + contexts[0]),
    SquadExample("several scripts", "Wo ist die Башня in 東京?", _SCRIPTS),
  ]
  if proof == SHORT:
    # Ten questions: three are unanswerable, three have a long passage.
    return [*examples[::13], *odd_inputs]
  together = "\n\n".join(contexts)
  everything = SquadExample("all passages in one", question, together)
  return [*examples, everything, *odd_inputs]
