"""Packages of an extra that are missing."""

import pytest

from bert_span.options.extras import check_extra


def test_missing_packages_are_named_with_their_extra_and_another_remedy():
  check_extra("report", "json", "dataclasses")
  named = r"no_such_one and no_such_two .*\[report\], or give `plots`=False"
  with pytest.raises(ValueError, match=named) as error:
    packages = "json", "no_such_one", "no_such_two"
    check_extra("report", *packages, otherwise=", or give `plots`=False")
  assert "pip install no_such_one no_such_two" in str(error.value)
  assert "json" not in str(error.value)
