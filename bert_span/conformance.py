r"""Compares this package with the original run_squad.

  python -m bert_span.conformance [--goldens=DIR [--data=DIR]] [--checks=1,6]

Compares tokens, windows, model, optimizer, decoding, metrics and a fine-tuning
run with saved outputs of the original, prints a conformance report, and exits
with status 1 if a check fails. The outputs that come with the package take
about a minute on two cores; tests/original says how to record others.
"""

from bert_span.cli import program
from bert_span.cli.option_flags import OptionFlags
from bert_span.options.fields import option


class _Options:
  goldens: str | None = option(
    None,
    "Folder with outputs of the original; by default those of the package.",
  )
  data: str | None = option(
    None, "Folder with their SQuAD files; by default data beside --goldens."
  )
  numbers: tuple[str, ...] | None = option(
    None,
    "Numbers of the checks to run; by default all that there are outputs for.",
    flag="checks",
  )
  output_file: str | None = option(
    None, "File to which the report is also written."
  )


_OPTIONS = OptionFlags(_Options)


@program.entry_point
def run(argv):
  if not _OPTIONS.goldens.value:
    program.forbid([_OPTIONS.data], "needs --goldens")
  program.import_tensorflow()
  from bert_span.jobs import conformance

  passes = conformance.write_conformance_report(**_OPTIONS.values())
  return int(not passes)


if __name__ == "__main__":
  run()
