from bert_span.squad.example import Answer, SquadExample
from bert_span.squad.lint.character_lengths import character_summaries
from bert_span.squad.lint.length_summary import length_summary


def test_characters_count_each_passage_once_and_the_answer_to_learn():
  answers = (Answer("lost", -1), Answer("b c", 2), Answer("a", 0))
  examples = [
    SquadExample("1", "who", "a b c", answers),
    SquadExample("2", "when", "a b c"),
    SquadExample("3", "why", "long passage", (Answer("long", 0),), True),
  ]
  figures = character_summaries(examples)
  assert figures["question"]["count"] == 3
  assert figures["passage"] == length_summary([5, 12])
  assert figures["answer"] == length_summary([3])
