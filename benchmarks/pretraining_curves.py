r"""Draws the learning curves of pre-training runs, as in TensorBoard.

  python -m benchmarks.pretraining_curves --output=curves.svg \
    --run=minilm:/tmp/minilm_pretrained --run=small:/tmp/small_pretrained

Each run is a name and an --output_dir of run_pretraining. Its panel has the
losses of both objectives: in training, from its event files, and on held-out
text, from its evaluations.json. Also prints a table of the held-out scores.
"""

import pathlib

from absl import flags

from benchmarks.inputs import read_json
from benchmarks.tables import print_row
from bert_span.cli import program

_RUNS = flags.DEFINE_multi_string(
  "run", None, "NAME:FOLDER of a run.", required=True
)
_OUTPUT = flags.DEFINE_string(
  "output", None, "Figure to write, .svg or .png.", required=True
)
_COLOURS = {"mlm_loss": "tab:blue", "sbo_loss": "tab:orange"}
_NAMES = {"mlm_loss": "masked tokens", "sbo_loss": "span boundaries"}


def main(argv):
  """Reads, draws, and prints the table."""
  program.check_extra("report", "matplotlib")
  runs = [run.partition(":") for run in _RUNS.value]
  program.check(
    all(folder for _, _, folder in runs),
    "--run must be NAME:FOLDER. Received: " + ", ".join(_RUNS.value),
  )
  runs = [(name, pathlib.Path(folder)) for name, _, folder in runs]
  _draw([(name, _training(path), _held_out(path)) for name, path in runs])
  for name, path in runs:
    _print_table(name, _held_out(path))


def _training(folder):
  """Dict from loss to its steps and values in training."""
  import tensorflow as tf

  curves = {name: ([], []) for name in _NAMES}
  for path in sorted((folder / "train").glob("events.out.tfevents.*")):
    for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
      event = tf.compat.v1.Event.FromString(record)
      for value in event.summary.value:
        if value.tag in curves:
          steps, values = curves[value.tag]
          steps.append(event.step)
          values.append(float(tf.make_ndarray(value.tensor)))
  return curves


def _held_out(folder):
  """List of dicts of step and scores."""
  return read_json(folder / "evaluations.json")["evaluations"]


def _draw(runs):
  from matplotlib.figure import Figure

  figure = Figure(figsize=(4.5 * len(runs), 3.4), layout="constrained")
  panels = figure.subplots(1, len(runs), squeeze=False)[0]
  for axes, (name, training, held_out) in zip(panels, runs, strict=True):
    for loss, colour in _COLOURS.items():
      axes.plot(*training[loss], color=colour, alpha=0.35, linewidth=1)
      points = [
        (entry["step"], entry["scores"][loss])
        for entry in held_out
        if loss in entry["scores"]
      ]
      if points:
        axes.plot(
          *zip(*points, strict=True),
          "o-",
          color=colour,
          markersize=3,
          label=f"{_NAMES[loss]}, held out",
        )
    axes.set(title=name, xlabel="step", ylabel="loss, nats per token")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
  figure.savefig(_OUTPUT.value)


def _print_table(name, held_out):
  names = list(held_out[0]["scores"])
  print(f"\n{name}: | step | {' | '.join(names)} |")
  for entry in held_out:
    cells = [f"{entry['scores'][score]:.3f}" for score in names]
    print_row(f"{entry['step']:,}", *cells)


if __name__ == "__main__":
  program.run_program(main)
