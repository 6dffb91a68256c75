import json

import pytest

from bert_span.training.devices.cluster import Cluster, read_cluster


def config(cluster, kind="worker", index=0):
  task = {"type": kind, "index": index}
  return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": task})}


@pytest.mark.parametrize("environ", [{}, {"TF_CONFIG": " "}, config({})])
def test_without_a_cluster_there_is_none(environ):
  assert read_cluster(environ) is None


def test_the_first_worker_is_the_chief():
  workers = {"worker": ["a:1", "b:2"]}
  first = read_cluster(config(workers))
  assert first == Cluster(("a:1", "b:2"), 0)
  assert first.is_chief
  assert not read_cluster(config(workers, index=1)).is_chief


def test_a_chief_of_its_own_comes_before_the_workers():
  tasks = {"worker": ["b:2"], "chief": ["a:1"]}
  assert read_cluster(config(tasks)) == Cluster(("a:1", "b:2"), 1)
  assert read_cluster(config(tasks, "chief")).is_chief


@pytest.mark.parametrize(
  ("environ", "told"),
  [
    ({"TF_CONFIG": "{"}, "is not JSON"),
    ({"TF_CONFIG": "[1]"}, "must be a JSON object"),
    (config({"ps": ["a:1"]}), "nothing but chief and worker"),
    (config({"worker": "a:1"}), "host:port"),
    (config({"worker": ["a"]}), "host:port"),
    (config({"chief": ["a:1", "b:1"]}, "chief"), "one chief at most"),
    (config({"worker": ["a:1"]}, "evaluator"), "which worker"),
    (config({"worker": ["a:1"]}, index="0"), "which worker"),
    (config({"worker": ["a:1"]}, index=1), "no worker of index 1"),
    ({"TF_CONFIG": '{"cluster": {"worker": ["a:1"]}}'}, "which worker"),
  ],
)
def test_a_damaged_tf_config_is_told_with_an_example(environ, told):
  with pytest.raises(ValueError, match="^TF_CONFIG .*" + told) as error:
    read_cluster(environ)
  assert '"task": {"type": "worker", "index": 0}' in str(error.value)
