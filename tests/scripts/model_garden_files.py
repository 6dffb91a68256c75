"""Writes tiny BERTs with TensorFlow Model Garden's own code.

  python tests/scripts/model_garden_files.py FOLDER

Runs in an environment with tf-models-official and without bert_span. Each kind
of file gets a folder of its own. expected.npz has the inputs, and for each
folder the sequence output or the logits of Model Garden; keys.json has the keys
and the names of the variables in each checkpoint.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import tensorflow as tf
from official.core import base_trainer, config_definitions, train_utils
from official.legacy.bert import bert_models, configs, export_tfhub
from official.modeling import optimization
from official.nlp.configs import encoders
from official.nlp.data import question_answering_dataloader
from official.nlp.serving import export_savedmodel_util, serving_modules
from official.nlp.tasks import question_answering
from official.nlp.tools import export_tfhub_lib
from tensorflow.core.protobuf.trackable_object_graph_pb2 import (
  TrackableObjectGraph,
)

_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
_PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijkl", "##a"]
_CONFIG = {
  "vocab_size": len(_PIECES),
  "hidden_size": 8,
  "num_hidden_layers": 2,
  "num_attention_heads": 4,
  "intermediate_size": 12,
  "max_position_embeddings": 10,
  "type_vocab_size": 2,
  "hidden_act": "gelu",
  "hidden_dropout_prob": 0.2,
  "attention_probs_dropout_prob": 0.3,
}
_ENCODER = {
  "vocab_size": len(_PIECES),
  "hidden_size": 8,
  "num_layers": 2,
  "num_attention_heads": 4,
  "intermediate_size": 12,
  "max_position_embeddings": 10,
  "type_vocab_size": 2,
  "hidden_activation": "gelu",
  "dropout_rate": 0.2,
  "attention_dropout_rate": 0.3,
}
_IDS = np.array([[2, 5, 6, 3, 7, 8, 3, 0], [2, 9, 3, 10, 11, 12, 17, 3]])
_INPUTS = {
  "input_word_ids": _IDS,
  "input_type_ids": np.array([[0] * 4 + [1] * 3 + [0], [0] * 3 + [1] * 5]),
  "input_mask": (_IDS > 0).astype(int),
}
_TENSORS = {name: tf.constant(x, tf.int32) for name, x in _INPUTS.items()}


class Writer:
  """Writes folders, and collects what they compute and hold."""

  def __init__(self, output):
    self.output, self.random = output, np.random.default_rng(0)
    self.expected, self.keys = dict(_INPUTS), {}
    self.vocab_file = str(output / "vocab.txt")
    pathlib.Path(self.vocab_file).write_text("\n".join(_PIECES) + "\n")

  def folder(self, name, file="bert_config.json", **changes):
    """Makes a folder with a vocabulary and a configuration."""
    folder = self.output / name
    folder.mkdir()
    shutil.copy(self.vocab_file, folder)
    (folder / file).write_text(json.dumps({**_CONFIG, **changes}))
    return folder

  def fill(self, model):
    """Random weights, with which activations and norms make a difference."""
    model(_TENSORS)  # makes the variables
    for variable in model.trainable_variables:
      values = self.random.normal(0, 0.5, variable.shape)
      variable.assign(values + ("gamma" in variable.name))
    return model

  def expect(self, name, model):
    """Keeps what a model computes, and the keys in the folder of its name."""
    outputs = model(_TENSORS)
    if isinstance(outputs, dict):
      outputs = {"sequence": outputs["sequence_output"]}
    elif outputs[0].shape.rank == 3:
      outputs = {"sequence": outputs[0]}
    else:
      outputs = dict(zip(("start", "end"), outputs, strict=True))
    for part, output in outputs.items():
      self.expected[f"{name}/{part}"] = output.numpy()
    (index,) = (self.output / name).glob("**/*.index")
    reader = tf.train.load_checkpoint(str(index.with_suffix("")))
    if reader.has_tensor(_GRAPH):
      graph = TrackableObjectGraph.FromString(reader.get_tensor(_GRAPH))
      self.keys[name] = sorted(
        [attribute.checkpoint_key, attribute.full_name]
        for node in graph.nodes
        for attribute in node.attributes
      )

  def finish(self):
    np.savez(self.output / "expected.npz", **self.expected)
    (self.output / "keys.json").write_text(json.dumps(self.keys, indent=1))


def write_converted(writer):
  """A TensorFlow 1 checkpoint, and what the converter makes of it."""
  hidden, inner = _CONFIG["hidden_size"], _CONFIG["intermediate_size"]
  shapes = {
    "embeddings/word_embeddings": [len(_PIECES), hidden],
    "embeddings/position_embeddings": [10, hidden],
    "embeddings/token_type_embeddings": [2, hidden],
  }
  dense, norms = {"pooler/dense": [hidden, hidden]}, ["embeddings/LayerNorm"]
  for i in range(_CONFIG["num_hidden_layers"]):
    layer = f"encoder/layer_{i}"
    for name in ("self/query", "self/key", "self/value", "output/dense"):
      dense[f"{layer}/attention/{name}"] = [hidden, hidden]
    dense[f"{layer}/intermediate/dense"] = [hidden, inner]
    dense[f"{layer}/output/dense"] = [inner, hidden]
    norms += [
      f"{layer}/{name}/LayerNorm" for name in ("attention/output", "output")
    ]
  for name, shape in dense.items():
    shapes |= {f"{name}/kernel": shape, f"{name}/bias": shape[1:]}
  for norm in norms:
    shapes |= {f"{norm}/gamma": [hidden], f"{norm}/beta": [hidden]}
  tensors = {
    f"bert/{name}": writer.random.normal(0, 0.5, shape).astype("float32")
    for name, shape in shapes.items()
  }
  # Under the names that the files of dbmdz have.
  classes = {"architectures": ["BertForMaskedLM"], "model_type": "bert"}
  folder = writer.folder("tf1", "config.json", **classes)
  tf.raw_ops.SaveV2(
    prefix=str(folder / "model.ckpt"),
    tensor_names=list(tensors),
    shape_and_slices=[""] * len(tensors),
    tensors=list(tensors.values()),
  )
  config = configs.BertConfig.from_dict(_CONFIG)
  converted = writer.folder("converted")
  # A program: its flags have the names of those of export_tfhub.
  converter = "official.nlp.tools.tf2_bert_encoder_checkpoint_converter"
  subprocess.run(
    [
      *(sys.executable, "-m", converter),
      f"--bert_config_file={converted / 'bert_config.json'}",
      f"--checkpoint_to_convert={folder / 'model.ckpt'}",
      f"--converted_checkpoint_path={converted / 'bert_model.ckpt'}",
    ],
    check=True,
  )
  encoder = bert_models.get_transformer_encoder(config)
  tf.train.Checkpoint(encoder=encoder).restore(
    tf.train.latest_checkpoint(str(converted))
  ).assert_existing_objects_matched()
  writer.expect("converted", encoder)
  writer.expect("tf1", encoder)


def write_encoders(writer):
  """Checkpoints of encoders as the releases are, and older ones."""
  for name, kind in (("model", "bert"), ("encoder", "bert_v2")):
    encoder = writer.fill(encoders.build_encoder(_encoder_config(kind)))
    path = str(writer.folder(name) / "bert_model.ckpt")
    tf.train.Checkpoint(**{name: encoder}).write(path)
    writer.expect(name, encoder)


def write_question_answering(writer):
  """What the trainer of the question answering task writes, after two steps."""
  experiment = config_definitions.ExperimentConfig(
    task=question_answering.QuestionAnsweringConfig(
      model=question_answering.ModelConfig(encoder=_encoder_config("bert")),
      train_data=question_answering_dataloader.QADataConfig(
        input_path="dummy", seq_length=8, global_batch_size=1
      ),
      validation_data=question_answering_dataloader.QADataConfig(),
    ),
    trainer=config_definitions.TrainerConfig(
      optimizer_config=optimization.OptimizationConfig(
        {"optimizer": {"type": "adamw"}, "learning_rate": {"type": "constant"}}
      )
    ),
  )
  task = question_answering.QuestionAnsweringTask(experiment.task)
  model = writer.fill(task.build_model())
  trainer = base_trainer.Trainer(
    config=experiment,
    task=task,
    model=model,
    optimizer=task.create_optimizer(experiment.trainer.optimizer_config),
    evaluate=False,
  )
  trainer.train(tf.constant(2))
  folder = writer.folder("question_answering")
  (folder / "bert_config.json").unlink()
  train_utils.serialize_config(experiment, str(folder))
  tf.train.CheckpointManager(
    trainer.checkpoint, str(folder), 5, step_counter=trainer.global_step
  ).save()
  writer.expect("question_answering", model)
  module = serving_modules.QuestionAnswering(
    params=serving_modules.QuestionAnswering.Params(parse_sequence_length=8),
    model=model,
    inference_step=task.inference_step,
  )
  export_savedmodel_util.export(
    module, ["serve"], str(writer.output / "served"), timestamped=False
  )
  writer.expect("served", model)


def write_squad(writer):
  """A checkpoint of the older run_squad."""
  config = configs.BertConfig.from_dict(_CONFIG)
  model, _ = bert_models.squad_model(config, max_seq_length=None)
  writer.fill(model)
  path = str(writer.folder("squad") / "ctl_step_2.ckpt")
  tf.train.Checkpoint(model=model).save(path)
  writer.expect("squad", model)


def write_saved_models(writer):
  """SavedModels as those of TF Hub, and others that are no BERT."""

  def export(name, with_mlm=False, vocabulary="vocab_file", **changes):
    settings = {"bert_config": configs.BertConfig.from_dict(_CONFIG | changes)}
    if "encoder_config" in changes:
      settings = changes
    do_lower_case = "cased" not in name
    model, source = export_tfhub_lib._create_model(
      with_mlm=with_mlm, **settings
    )
    writer.fill(source)
    items = source.checkpoint_items if with_mlm else {"encoder": source}
    with tempfile.TemporaryDirectory() as folder:
      export_tfhub_lib.export_model(
        str(writer.output / name),
        model_checkpoint_path=tf.train.Checkpoint(**items).save(f"{folder}/x"),
        with_mlm=with_mlm,
        do_lower_case=do_lower_case,
        **{vocabulary: writer.vocab_file},
        **settings,
      )
    writer.expect(name, model)

  export("hub")
  export("hub_cased")
  export("hub_v2", encoder_config=_encoder_config("bert_v2"))
  export("hub_mlm", with_mlm=True)
  export("hub_relu", hidden_act="relu")
  export("hub_erf", hidden_act=tf.nn.gelu)
  export("hub_swish", hidden_act="swish")
  export("projected", embedding_size=4)
  norm_first = _encoder_config("bert", norm_first=True)
  export("norm_first", encoder_config=norm_first)
  albert = encoders.EncoderConfig(type="albert")
  albert.albert.override({**_ENCODER, "embedding_width": 8})
  export("albert", vocabulary="sp_model_file", encoder_config=albert)
  export_tfhub_lib.export_preprocessing(
    str(writer.output / "preprocess"),
    vocab_file=writer.vocab_file,
    do_lower_case=True,
    default_seq_length=8,
    tokenize_with_offsets=False,
  )
  # As before Model Garden's outputs had names.
  config = configs.BertConfig.from_dict(_CONFIG)
  encoder = writer.fill(bert_models.get_transformer_encoder(config))
  with tempfile.TemporaryDirectory() as folder:
    export_tfhub.export_bert_tfhub(
      config,
      tf.train.Checkpoint(encoder=encoder).save(f"{folder}/x"),
      str(writer.output / "hub_lists"),
      writer.vocab_file,
      True,
    )
  writer.expect("hub_lists", encoder)


def _encoder_config(kind, **changes):
  config = encoders.EncoderConfig(type=kind)
  config.get().override({**_ENCODER, **changes})
  return config


def main(output):
  writer = Writer(pathlib.Path(output))
  write_converted(writer)
  write_encoders(writer)
  write_question_answering(writer)
  write_squad(writer)
  write_saved_models(writer)
  writer.finish()


if __name__ == "__main__":
  main(*sys.argv[1:])
