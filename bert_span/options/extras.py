"""Packages that only some options need."""

import importlib.util


def check_extra(extra, *packages, otherwise=""):
  """Checks that packages of an extra are installed.

  Args:
    extra: name of the extra of bert_span.
    *packages: names of the packages to import.
    otherwise: another remedy, such as ", or give `plots`=False".

  Raises:
    ValueError: a package is missing.
  """
  missing = [name for name in packages if not importlib.util.find_spec(name)]
  if missing:
    raise ValueError(
      f"{' and '.join(missing)} not installed. Install with pip install "
      f"{' '.join(missing)}, or bert_span with its extra [{extra}]{otherwise}."
    )
