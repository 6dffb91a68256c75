"""Runs tutorial.ipynb and saves its outputs: `python docs/run_tutorial.py`."""

import os
import pathlib
import re
import sys
import tempfile

import nbclient
import nbformat

NOTEBOOK = pathlib.Path(__file__).parent / "tutorial.ipynb"
# Notes of TensorFlow, whatever TF_CPP_MIN_LOG_LEVEL is.
_NOTE = re.compile(r"WARNING: All log|[IWE]0000 |INFO:tensorflow:")


def execute(notebook, folder):
  """Runs the cells in a folder; `!python` is this Python."""
  path = [os.path.dirname(sys.executable), os.environ["PATH"]]
  os.environ["PATH"] = os.pathsep.join(path)
  nbclient.NotebookClient(
    notebook,
    timeout=1800,
    kernel_name="python3",
    resources={"metadata": {"path": folder}},
  ).execute()


def main():
  """Runs the cells in an empty folder; paths of this machine become others."""
  notebook = nbformat.read(NOTEBOOK, as_version=4)
  with tempfile.TemporaryDirectory() as folder:
    execute(notebook, folder)
  for cell in notebook.cells:
    cell.metadata.pop("execution", None)
    if "outputs" in cell:
      cell.outputs = [
        output
        for output in cell.outputs
        if not _NOTE.match(output.get("text", ""))
      ]
  text = nbformat.writes(notebook)
  checkout = str(NOTEBOOK.resolve().parents[1])
  text = text.replace(checkout, "/home/me/bert_span")
  temporary = re.escape(f"{tempfile.gettempdir()}/tmp")
  text = re.sub(rf"{temporary}\w+", "/home/me/tutorial", text)
  NOTEBOOK.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
  main()
