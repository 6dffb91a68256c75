"""The content of SQuAD files about one passage."""


def squad_content(context, *questions, title="Bees", **top):
  """The JSON object of a file."""
  paragraph = {"context": context, "qas": list(questions)}
  return {"data": [{"title": title, "paragraphs": [paragraph]}], **top}


def spans(*pairs):
  """Answers or an annotator's spans, of (text, answer_start)."""
  return [{"text": text, "answer_start": start} for text, start in pairs]
