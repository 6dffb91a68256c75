"""A Keras model of strings as files: presets, exports, Keras' own format."""

import dataclasses
import os

import keras
import numpy as np

from bert_span.extractors.precision import resolve_dtype
from bert_span.extractors.string_model import StringModel
from bert_span.keras_backend import check_not_forked
from bert_span.modeling.architectures import ARCHITECTURES, architecture_of
from bert_span.modeling.encoder import (
  build_encoder,
  check_not_quantized,
  encoder_config,
  merged_weights,
)
from bert_span.modeling.heads import assign_head
from bert_span.modeling.keras_internals import (
  keras_content,
  load_keras_content,
  sublayers,
  weights_content,
)
from bert_span.options.fields import options_from_json
from bert_span.presets import model_directory
from bert_span.presets.encoder_source import EncoderSource
from bert_span.presets.encoder_weights import check_read_back
from bert_span.presets.model_directory import check_folder_name
from bert_span.presets.selection import SELECTION_FILE, write_selection
from bert_span.presets.span_config import (
  CONFIG_FILE,
  read_span_config,
  span_config,
  write_span_config,
)
from bert_span.storage.atomic_file import replaced_directory, write_bytes
from bert_span.storage.files import is_remote
from bert_span.storage.log import log_line
from bert_span.text.options import WindowOptions


class PresetModel(StringModel):
  """The part of an `Extractor` that loads, saves and exports it."""

  @classmethod
  def from_preset(
    cls,
    preset,
    window_options=None,
    decoder_options=None,
    fixed_length=False,
    verify=True,
    dtype="float32",
    **options,
  ):
    """Loads a trained model, or an encoder with a new head.

    Args:
      preset: "minilm_squad", the model that comes with the package; a
        directory that `save_to_preset` or run_squad wrote; a Hugging Face
        directory; a name or a directory of KerasHub; or an `EncoderSource`,
        for instance of a TensorFlow 1 checkpoint.
      window_options, decoder_options: None takes the saved ones.
      fixed_length: see pad_to_max of `SpanPreprocessor`.
      verify: compare the files with the checksums they were saved with.
      dtype: of the encoder's weights and products: "float32"; "bfloat16" or
        "float16", for a model that answers and is not trained; or "auto",
        bfloat16 where this machine is faster with it, see `resolve_dtype`.
        Softmax and head compute in float32.
      **options: single options that differ, such as max_seq_length=384.

    Returns:
      An extractor of the class for the head that was saved, which is this one
      or a subclass. An encoder without such a head gets a new one, which
      `answer` refuses until it was trained.

    Raises:
      ValueError: there is no such model, it is damaged or has another head, or
        an option is unknown.
    """
    if not preset:
      raise ValueError(f"preset must name a model. Received: {preset!r}.")
    source, dtype = preset, resolve_dtype(dtype)
    if not isinstance(preset, EncoderSource):
      source = EncoderSource(preset=os.fspath(preset), verify=verify)
    config = (source.preset and read_span_config(source.preset)) or {}
    kind = cls.class_of_head(config.get("head", cls.head_name), preset)
    window = window_options or WindowOptions(**config.get("window", {}))
    decoder = decoder_options or options_from_json(
      kind.decoder_class.options_type,
      config.get("decoder", {}),
      f"{source.preset}/{CONFIG_FILE}, decoder",
    )
    window, decoder = _with_options(options, window, decoder)
    loaded = source.load()
    extractor = kind.from_loaded(
      loaded,
      loaded.vocabulary(source.vocab_file),
      config.get("do_lower_case", source.lower_case(loaded)),
      window,
      decoder,
      fixed_length,
    )
    if not extractor.head_is_trained:
      log_line(f"{loaded.description} has no {kind.head_name} head: a new one.")
    if dtype != "float32":
      return extractor.with_encoder_dtype(dtype)
    return extractor

  @classmethod
  def from_loaded(
    cls,
    loaded,
    vocabulary,
    lower_case,
    window_options,
    decoder_options,
    fixed_length=False,
    head_bias=True,
  ):
    """An extractor of a `LoadedPreset`, with its trained or a new head."""
    preprocessor = cls.preprocessor_class(
      vocabulary, lower_case, window_options, pad_to_max=fixed_length
    )
    tensors = cls.head_tensors(loaded)
    head = None
    if tensors:
      has_transform = "transform_kernel" in tensors
      transform = {"has_transform": True} if has_transform else {}
      head = cls.make_head("bias" in tensors, **transform)
    extractor = cls(
      loaded.backbone, preprocessor, decoder_options, head, head_bias
    )
    if tensors:
      assign_head(extractor.head, tensors)
      extractor.head_is_trained = True
    return extractor

  @classmethod
  def head_tensors(cls, loaded):
    """The dict of the trained head's weights in a `LoadedPreset`, or None."""
    return loaded.head_weights.get(cls.make_head().name)

  def save_to_preset(self, directory, selection=None, half_precision=False):
    """Writes the model as one directory, on a local disk whole or not at all.

    It holds KerasHub's preset of the encoder, the head unless it is new, the
    vocabulary, span_config.json and checksums.json. An old model is replaced;
    other files in its directory stay. On a remote file system (gs://...) files
    are replaced one by one, span_config.json last.

    Args:
      directory: a local path or one of tf.io.gfile.
      selection: how the model was selected, for `write_selection`.
      half_precision: write the encoder's weights as float16, half as many
        bytes; they are read as float32.

    Raises:
      ValueError: the directory holds no model, or a weight exceeds float16.
    """
    self.check_preprocessor()
    directory = os.fspath(directory)
    check_folder_name(directory)
    if not is_remote(directory):
      directory = os.path.realpath(directory)
      is_model = os.path.isfile(os.path.join(directory, CONFIG_FILE))
      is_empty = os.path.isdir(directory) and not os.listdir(directory)
      if os.path.lexists(directory) and not is_model and not is_empty:
        raise ValueError(
          f"{directory} is not replaced: it has no {CONFIG_FILE}, so it is no "
          "model of bert_span. Save the model in a new directory."
        )
    tokenizer = self.preprocessor.tokenizer
    config = span_config(
      tokenizer.do_lower_case,
      self.window_options,
      self.decoder_options,
      self.head_name,
    )
    with replaced_directory(
      directory,
      last=[CONFIG_FILE, SELECTION_FILE],
      keeps=model_directory.is_other_file,
    ) as unfinished:
      model_directory.save_backbone(self.backbone, unfinished, half_precision)
      if self.head_is_trained:
        model_directory.save_head(self.head, unfinished)
      model_directory.save_tokenizer(
        unfinished,
        tokenizer.full_vocabulary,
        tokenizer.do_lower_case,
        architecture_of(self.backbone),
      )
      model_directory.write_checksums(unfinished)
      write_selection(unfinished, selection)
      write_span_config(unfinished, config)

  def save(self, filepath, overwrite=True, zipped=None, **kwargs):
    """As keras.Model.save; writes a .keras file whole or not at all.

    The file is read back before it replaces an old one.
    """
    path = os.fspath(filepath)
    if not path.endswith(".keras") or zipped is False or kwargs:
      if not path.endswith(".keras"):
        check_folder_name(path)
      super().save(filepath, overwrite, zipped, **kwargs)
      return
    _check_overwrite(path, overwrite)
    content = keras_content(self)
    classes = [type(part) for part in (self, self.head, self.preprocessor)]
    objects = {each.__name__: each for each in classes}
    read = load_keras_content(content, objects).weights
    read = {weight.path: np.array(weight) for weight in read}
    check_read_back(merged_weights(self), read, path)
    write_bytes(path, content)

  def save_weights(self, filepath, overwrite=True, max_shard_size=None):
    """As keras.Model.save_weights; one file is written whole or not at all."""
    check_not_quantized(self)
    path = os.fspath(filepath)
    if max_shard_size is not None or not path.endswith(".weights.h5"):
      super().save_weights(filepath, overwrite, max_shard_size)
      return
    _check_overwrite(path, overwrite)
    write_bytes(path, weights_content(self))

  def export(self, path, format=None, source=None, **options):
    """Writes the model for a server or for devices, and checks the result.

    Args:
      path: a file that ends with .tflite, for devices; else the folder of all
        versions of a served model, which gets the next version.
      format: "tf_saved_model", for TensorFlow Serving, or "litert", TFLite;
        None takes that of the path.
      source: name or directory of the model, such as "minilm_squad", whose
        card, licence and scores the export quotes.
      **options: of `export_saved_model`: version, steps, dtype, with_warmup; or
        of `TFLiteOptions`: quantization, dynamic_length, ...

    Returns:
      The path of the version, or of the file.

    Raises:
      ValueError: format and path do not fit, or a check failed; nothing is
        written.
    """
    # Rooms after this one, which import it; as keras.Model.export does.
    from bert_span.serving import export as serving_export
    from bert_span.tflite import export as tflite_export

    check_not_forked()
    self.check_preprocessor()
    self.check_trained()
    ending = os.path.splitext(os.fspath(path))[1].lower()
    of_ending = {".tflite": "litert", ".onnx": "onnx"}
    format = format or of_ending.get(ending, "tf_saved_model")
    if format not in ("tf_saved_model", "litert"):
      raise ValueError(
        f"format must be tf_saved_model or litert. Received: {format!r}. For "
        "ONNX, which takes windows and no strings, docs/integrations.md has "
        "the recipe: keras.Model(extractor.input, extractor.output).export("
        '"qa.onnx", format="onnx").'
      )
    if (format == "litert") != (ending == ".tflite"):
      raise ValueError(
        f"{path} is no name for format={format!r}: that of a litert file ends "
        "with .tflite, and no other name does. Leave format out, or rename it."
      )
    if format == "tf_saved_model":
      return serving_export.export_saved_model(
        self, path, source=source, **options
      )[0]
    options = tflite_export.TFLiteOptions(**options)
    tflite_export.export_tflite(self, path, options, source=source)
    return path

  def check_preprocessor(self):
    """Raises ValueError if there is none: strings are not understood."""
    if self.preprocessor is None:
      raise ValueError(
        "A model without a preprocessor takes no strings. Set preprocessor."
      )

  def quantize(self, *args, **kwargs):
    """Raises ValueError: only files for devices are quantized."""
    raise ValueError(
      'quantize is not supported. extractor.export("qa.tflite", '
      'quantization="dynamic") writes a file with weights of 8 bits.'
    )

  def get_config(self):
    preprocessor = self.preprocessor
    return {
      "name": self.name,
      "trainable": self.trainable,
      "encoder": dataclasses.asdict(encoder_config(self.backbone)),
      "dtype": self.backbone.dtype_policy.name,
      "frozen_layers": [
        layer.path for layer in sublayers(self.backbone) if not layer.trainable
      ],
      "preprocessor": preprocessor
      and keras.saving.serialize_keras_object(preprocessor),
      "decoder_options": dataclasses.asdict(self.decoder_options),
      "head": keras.saving.serialize_keras_object(self.head),
      "head_is_trained": self.head_is_trained,
    }

  @classmethod
  def from_config(cls, config, custom_objects=None):
    preprocessor, head = (
      config[name]
      and keras.saving.deserialize_keras_object(config[name], custom_objects)
      for name in ("preprocessor", "head")
    )
    encoder = config["encoder"]
    config_type = ARCHITECTURES[encoder["architecture"]].config
    backbone = build_encoder(config_type(**encoder), config["dtype"])
    for layer in sublayers(backbone):  # The inner ones last.
      layer.trainable = layer.path not in config["frozen_layers"]
    extractor = cls(
      backbone,
      preprocessor,
      cls.decoder_class.options_type(**config["decoder_options"]),
      head,
      name=config["name"],
      trainable=config["trainable"],
    )
    # Its weights are random until those of the file, or others, are set.
    extractor.head.trained_once_assigned = config["head_is_trained"]
    return extractor


def _check_overwrite(path, overwrite):
  if not overwrite and os.path.exists(path):
    raise ValueError(
      f"{path} exists. Give another path, or overwrite=True to replace it."
    )


def _with_options(values, *options):
  """Some option dataclasses, with single values replaced by name."""
  fields = [{f.name for f in dataclasses.fields(each)} for each in options]
  unknown = values.keys() - set().union(*fields)
  if unknown:
    raise ValueError(
      f"There is no option {', '.join(sorted(unknown))}; there are "
      f"{', '.join(sorted(set().union(*fields)))}."
    )
  return [
    dataclasses.replace(each, **{n: values[n] for n in names & values.keys()})
    for each, names in zip(options, fields, strict=True)
  ]
