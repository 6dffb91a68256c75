from bert_span.squad.lint import findings as kinds
from bert_span.squad.lint.findings import KINDS, Finding, by_kind


def test_every_kind_has_a_place_in_the_order_and_a_name_of_its_own():
  defined = {v for v in vars(kinds).values() if isinstance(v, type(KINDS[0]))}
  assert set(KINDS) == defined
  assert len({kind.name for kind in KINDS}) == len(KINDS)
  severities = [kinds.SEVERITIES.index(kind.severity) for kind in KINDS]
  assert severities == sorted(severities)


def test_findings_are_grouped_by_importance():
  low, high = Finding(kinds.INTEGER_ID, "b"), Finding(kinds.DUPLICATE_ID, "a")
  assert list(by_kind([low, high, low]).items()) == [
    (kinds.DUPLICATE_ID, [high]),
    (kinds.INTEGER_ID, [low, low]),
  ]
