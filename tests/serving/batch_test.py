"""Answers in columns, for Spark and others."""

import functools
import importlib.util
import os
import sys

import numpy as np
import pytest

from bert_span.serving.batch import ANSWER_TYPE, make_predict_fn
from tests.support.models import (
  CONTEXT,
  QUESTION,
  shared_extractor,
  shared_model,
)
from tests.support.programs import make_killed_predict_fn


@pytest.mark.usefixtures("eager")
def test_columns_hold_the_answers_and_what_is_wrong_with_a_row():
  predict = make_predict_fn(str(shared_model()))
  assert make_predict_fn(str(shared_model())) is predict  # Loaded once.
  columns = predict(
    np.array([QUESTION, None, QUESTION], object),
    np.array([CONTEXT, CONTEXT, "It fell."], object),
  )
  assert [f"{name} " in ANSWER_TYPE for name in columns] == [True] * 7
  expected = shared_extractor().answer([QUESTION] * 2, [CONTEXT, "It fell."])
  for row, answer in zip((0, 2), expected, strict=True):
    assert columns["answer"][row] == answer.text
    assert columns["char_start"][row] == answer.char_start
    assert columns["score"][row] == pytest.approx(answer.score, abs=1e-4)
    assert columns["error"][row] is None
  assert "question" in columns["error"][1]
  assert columns["answer"][1] is columns["probability"][1] is None
  assert len(predict([], [])["answer"]) == 0


@pytest.mark.large
@pytest.mark.skipif(
  not importlib.util.find_spec("pyspark"), reason="pyspark is not installed"
)
def test_spark_answers_parquet_with_two_executors(tmp_path, monkeypatch):
  """Also if worker processes are killed twice."""
  from pyspark.ml.functions import predict_batch_udf
  from pyspark.sql import SparkSession
  from pyspark.sql.types import StructType

  killed = tmp_path / "killed"
  killed.mkdir()
  monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
  spark = SparkSession.builder.master("local-cluster[2,1,4096]").getOrCreate()
  try:
    rows = [(i, QUESTION, CONTEXT) for i in range(40)] + [(40, None, CONTEXT)]
    frame = spark.createDataFrame(
      rows, "id int, question string, context string"
    )
    frame.repartition(4).write.parquet(str(tmp_path / "questions"))
    answer = predict_batch_udf(
      functools.partial(
        make_killed_predict_fn, str(shared_model()), str(killed), 2
      ),
      return_type=StructType.fromDDL(ANSWER_TYPE),
      batch_size=16,
    )
    spark.read.parquet(str(tmp_path / "questions")).withColumn(
      "answer", answer("question", "context")
    ).select("id", "answer.*").write.parquet(str(tmp_path / "answers"))
    found = spark.read.parquet(str(tmp_path / "answers")).collect()
  finally:
    spark.stop()
  assert len(list(killed.iterdir())) == 2
  expected = shared_extractor().answer(QUESTION, CONTEXT)
  assert sorted(row.id for row in found) == list(range(41))
  for row in found:
    assert (row.error is None) == (row.id < 40)
    if row.error is None:
      assert (row.answer, row.char_end) == (expected.text, expected.char_end)
