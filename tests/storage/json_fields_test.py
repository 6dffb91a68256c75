"""Fields of JSON objects: values of their type, and collected errors."""

import pytest

from bert_span.storage.json_fields import FieldErrors, is_json


@pytest.mark.parametrize(
  ("value", "json_type", "is_one"),
  [
    *((True, bool, True), (True, int, False), (1, int, True), (1, bool, False)),
    *(
      (1.0, int, False),
      ("1", int, False),
      ([], list, True),
      (None, str, False),
    ),
  ],
)
def test_a_value_has_a_json_type_and_a_bool_is_no_integer(
  value, json_type, is_one
):
  assert is_json(value, json_type) is is_one


def test_a_field_is_its_value_a_default_or_an_error():
  errors, record = FieldErrors("a.json"), {"n": 3, "text": None}
  assert errors.required(record, "n", int, "top") == 3
  assert errors.optional(record, "n", int, "top", 7) == 3
  for absent in ("text", "x"):
    assert errors.optional(record, absent, str, "top", "-") == "-"
  errors.raise_if_any()
  assert errors.optional(record, "n", str, "top", "-") is None
  with pytest.raises(ValueError, match=r"^a\.json: top: 'n'.* string.* 3\."):
    errors.raise_if_any()
  assert errors.required(record, "x", int, "place 1") is None
  with pytest.raises(
    ValueError, match=r"a\.json: 2 errors:\n.*\n  place 1: .*'x'"
  ):
    errors.raise_if_any()


def test_what_is_no_object_in_a_list_is_named_by_its_index():
  errors = FieldErrors("a.json")
  rows = [{"a": 1}, [7], {}]
  assert [*errors.objects(rows, "row", "here")] == [(0, rows[0]), (2, rows[2])]
  assert [*errors.objects(None, "row", "here")] == []
  with pytest.raises(ValueError, match=r"here: row 1 .*\[7\]"):
    errors.raise_if_any()


def test_errors_beyond_the_shown_ones_are_counted():
  errors = FieldErrors("a.json", num_shown=2)
  for number in range(5):
    errors.add(f"row {number}", "wrong.")
  with pytest.raises(ValueError, match=r"(?s)5 errors.*row 1.*3 more") as e:
    errors.raise_if_any()
  assert "row 2" not in str(e.value)
