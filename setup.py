"""Installs bert_span and its programs."""

import pathlib
import re

import setuptools

_ROOT = pathlib.Path(__file__).parent
_VERSION = re.search(
  r'^__version__ = "(.+)"$',
  (_ROOT / "bert_span" / "__init__.py").read_text(encoding="utf-8"),
  re.MULTILINE,
).group(1)
_PROGRAMS = sorted(
  path.stem
  for path in (_ROOT / "bert_span").glob("*.py")
  if "\nrun = program(" in path.read_text(encoding="utf-8")
)
# The upper bounds are what modeling/keras_internals.py was checked with, the
# lower ones what make test-lowest passes with.
_TENSORFLOW = ">=2.20,<2.22"
_BEAM = "apache-beam>=2.70"
# Its TrustedHostMiddleware reads IPv6 addresses.
_STARLETTE = "starlette>=1.10"

setuptools.setup(
  name="bert_span",
  version=_VERSION,
  description="BERT span extraction (question answering) in Keras/TensorFlow",
  long_description=(_ROOT / "README.md").read_text(encoding="utf-8"),
  long_description_content_type="text/markdown",
  license="Apache-2.0",
  classifiers=[
    # tensorflow-text has no wheels for Windows (keras-team/keras-hub#2133).
    *("Operating System :: POSIX :: Linux", "Operating System :: MacOS"),
    *(f"Programming Language :: Python :: 3.{i}" for i in (11, 12, 13)),
  ],
  python_requires=">=3.11,<3.14",
  packages=setuptools.find_packages(include=["bert_span", "bert_span.*"]),
  package_data={
    "bert_span": [
      *("sample/*.json", "sample/*.md", "sample/passages/*.txt"),
      "pretrained/NOTICE",
      *("pretrained/*/*.*", "pretrained/*/assets/tokenizer/*"),
      "web/*",
    ],
    "bert_span.reporting": ["templates/*"],
  },
  install_requires=[
    "absl-py>=2.1",
    "h5py>=3.11",
    # Models by their names; since then a revision is looked up once.
    "huggingface_hub>=1.31,<3",
    # tensorflow-datasets imports it and does not ask for it.
    "importlib_resources",
    "keras>=3.15,<3.16",
    # Today an alias that brings keras-hub of the same version.
    "keras-nlp>=0.32,<0.33",
    # Questions in Parquet; tensorflow-datasets asks for it, too.
    "pyarrow",
    # params.yaml of Model Garden; huggingface_hub asks for it, too.
    "pyyaml",
    # Keras asks for it, too.
    "rich",
    "safetensors>=0.4.5",
    f"tensorflow{_TENSORFLOW}",
    "tensorflow-datasets>=4.9.7",
    # Its custom ops need the TensorFlow of the same minor version; KerasHub
    # asks for 2.20.1.
    "tensorflow-text>=2.20.1,<2.22",
    "tqdm",
    "urllib3>=2.0.2",
  ],
  extras_require={
    "beam": [_BEAM],
    # What the benchmarks compare with.
    "bench": [
      *("jax", "onnx", "onnxruntime", "openvino"),
      *("torch", "transformers>=5"),
    ],
    # make docs, and the pictures of docs/.
    "docs": ["mkdocs-material>=9.5", "mkdocstrings[python]>=0.27", "pillow"],
    "gpu": [f"tensorflow[and-cuda]{_TENSORFLOW}"],
    # The HTML page and the plots.
    "report": ["jinja2>=3.1", "matplotlib>=3.8"],
    # ask --context_glob: BM25, and the text of HTML.
    "search": ["bm25s", "lxml"],
    # A local server: python -m bert_span.serve.
    "serve": [_STARLETTE, "uvicorn"],
    "serving": [f"tensorflow-serving-api{_TENSORFLOW}"],
    "tests": [
      _BEAM,
      "build",
      # The runtime of TFLite files that TFLiteSpanExtractor prefers.
      'ai-edge-litert; sys_platform=="linux" and platform_machine=="x86_64"',
      *("bm25s", "lxml"),
      "hypothesis",
      *("ipykernel", "nbclient"),
      "jinja2>=3.1",
      "matplotlib>=3.8",
      "pytest>=8",
      *("pytest-cov", "pytest-xdist"),
      "ruff>=0.9",
      "sentencepiece>=0.2.3",
      # Keras' TensorBoard callback.
      "tensorboard",
      *(_STARLETTE, "uvicorn"),
      f"tensorflow-serving-api{_TENSORFLOW}",
      # Its tokenizers; its models need torch, too.
      "transformers>=5",
    ],
  },
  # Programs without an import name, see export/README.md.
  scripts=["export/export_saved_model.py", "export/export_tflite.py"],
  entry_points={
    "console_scripts": [
      f"bert_span_{program} = bert_span.{program}:run" for program in _PROGRAMS
    ],
  },
)
