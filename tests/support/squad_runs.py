"""run_squad as a command, on a tiny model and eight questions."""

import json

from programs import succeeds
from squad_content import spans, squad_content

_VOCABULARY = [
  *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "a", "mill", "was"),
  *("built", "by", "anna", "in", "1895", "near", "river", "who", "when"),
  *("where", ".", "?"),
]
CONTEXT = "The mill was built by Anna in 1895 near the river."


def write_encoder_files(path, vocabulary):
  """Writes a vocabulary and a bert_config.json."""
  (path / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
  config = {"vocab_size": len(vocabulary), "hidden_size": 16}
  config |= {"num_hidden_layers": 1, "num_attention_heads": 2}
  config |= {"intermediate_size": 32, "max_position_embeddings": 64}
  config |= {"type_vocab_size": 2}
  (path / "bert_config.json").write_text(json.dumps(config))


def write_squad_files(path):
  """Writes the files of an encoder and two data files."""
  write_encoder_files(path, _VOCABULARY)
  for name, version_2 in (("v1.json", False), ("v2.json", True)):
    (path / name).write_text(json.dumps(_squad(version_2)))


def _squad(version_2):
  qas = []
  for i, (question, answer) in enumerate(
    [("Who built the mill?", "Anna"), ("When was the mill built?", "1895")] * 4
  ):
    is_impossible = version_2 and i % 4 == 3
    answers = [] if is_impossible else spans((answer, CONTEXT.index(answer)))
    qas.append({"id": f"q{i}", "question": question, "answers": answers})
    if version_2:
      qas[-1]["is_impossible"] = is_impossible
  version = "v2.0" if version_2 else "1.1"
  return squad_content(CONTEXT, *qas, title="Mill", version=version)


def squad_flags(folder, output_dir, *flags, version_2=False):
  """The flags of a run on the files of `folder`."""
  data = folder / ("v2.json" if version_2 else "v1.json")
  return [
    f"--bert_config_file={folder}/bert_config.json",
    f"--vocab_file={folder}/vocab.txt",
    f"--train_file={data}",
    f"--predict_file={data}",
    f"--output_dir={output_dir}",
    *("--max_seq_length=32", "--doc_stride=8", "--max_query_length=12"),
    *("--train_batch_size=4", "--learning_rate=1e-2", "--num_train_epochs=20"),
    "--save_checkpoints_steps=15",
    *(["--version_2_with_negative"] if version_2 else []),
    *flags,
  ]


def run_squad(folder, output_dir, *flags, version_2=False):
  flags = squad_flags(folder, output_dir, *flags, version_2=version_2)
  return succeeds("bert_span.run_squad", *flags)


def read(path):
  return json.loads(path.read_text())
