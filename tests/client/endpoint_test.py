"""Addresses of served models, and credentials that may be sent there."""

import re
import shutil
import subprocess

import pytest

from bert_span.client.endpoint import Credentials, parse_endpoint


@pytest.mark.parametrize(
  ("address", "parts", "full"),
  [
    ("http://a", ("http", "a", 8501, ""), "http://a:8501"),
    ("https://a/b/", ("https", "a", 443, "/b"), "https://a:443/b"),
    ("http://[::1]:1", ("http", "::1", 1, ""), "http://[::1]:1"),
    ("grpc://a", ("grpc", "a", 8500, ""), "grpc://a:8500"),
    ("grpcs://A:7/", ("grpcs", "a", 7, ""), "grpcs://a:7"),
  ],
)
def test_addresses_and_their_default_ports(address, parts, full):
  endpoint = parse_endpoint(address, "m")
  fields = (endpoint.scheme, endpoint.host, endpoint.port, endpoint.prefix)
  assert fields == parts
  assert endpoint.address == full
  assert endpoint.is_rest == address.startswith("http")
  assert endpoint.is_encrypted == (parts[0] in ("https", "grpcs"))


def test_paths_of_versions_and_labels():
  def path(*arguments):
    return parse_endpoint("http://a/b é", *arguments).predict_path

  models = "/b%20%C3%A9/v1/models"
  assert path("m") == f"{models}/m:predict"
  assert path("m x?", 3) == f"{models}/m%20x%3F/versions/3:predict"
  assert path("m", 0) == f"{models}/m/versions/0:predict"
  assert path("m", None, "a/ü") == f"{models}/m/labels/a%2F%C3%BC:predict"


def test_wrong_addresses_models_and_versions_are_named():
  for address in (
    *("localhost:8501", "", "http://", "http://a:99999", "http://a/v1"),
    *("http://a?x=1", "grpc://a:1/b"),
  ):
    text = f"address.*{re.escape(repr(address))}"
    with pytest.raises(ValueError, match=text):
      parse_endpoint(address, "m")
  with pytest.raises(ValueError, match="bearer_token") as caught:
    parse_endpoint("http://me:pass@a", "m")
  assert "pass@" not in str(caught.value)
  for name, *arguments in (
    *(("model", ""), ("model", "a/b"), ("model", "a:predict")),
    *(("label", "m", 1, "x"), ("version", "m", -1), ("version", "m", True)),
  ):
    with pytest.raises(ValueError, match=name):
      parse_endpoint("http://a", *arguments)


def test_secrets_are_sent_by_tls_or_to_this_machine():
  token = Credentials(bearer_token="t")
  for address in ("http://a", "grpc://a"):
    with pytest.raises(ValueError, match="bearer_token") as caught:
      token.check(parse_endpoint(address, "m"))
    assert f"{address[:4]}s://" in str(caught.value)
  for address in ("https://a", "grpcs://a", "http://localhost", "grpc://[::1]"):
    token.check(parse_endpoint(address, "m"))
  with pytest.raises(ValueError, match="http://localhost:8501"):
    Credentials(ca_file="c.pem").check(parse_endpoint("http://localhost", "m"))


@pytest.mark.parametrize("token", ["", "ä", "a\r\nX: y"])
def test_tokens_that_would_break_the_header_are_refused(token):
  with pytest.raises(ValueError, match="bearer_token") as caught:
    Credentials(bearer_token=token)
  assert token not in str(caught.value) or token == ""
  assert "s3cret" not in repr(Credentials(bearer_token="s3cret"))


def test_files_that_are_no_certificates_are_named(tmp_path):
  for name in ("certificate_file", "key_file"):
    with pytest.raises(ValueError, match="certificate_file and key_file"):
      Credentials(**{name: "c.pem"})
  (tmp_path / "no.pem").write_text("nothing")
  for path in (str(tmp_path / "no.pem"), str(tmp_path / "absent.pem")):
    for names in (["ca_file"], ["certificate_file", "key_file"]):
      with pytest.raises(ValueError, match=names[0]) as caught:
        Credentials(**dict.fromkeys(names, path)).ssl_context()
      assert path in str(caught.value)


def test_a_key_with_a_passphrase_is_refused_and_not_asked_for(tmp_path):
  if not shutil.which("openssl"):
    pytest.skip("needs the openssl command to make a certificate")
  certificate, key = tmp_path / "a.pem", tmp_path / "a.key"
  subprocess.run(
    [
      *("openssl", "req", "-x509", "-newkey", "ec", "-subj", "/CN=a"),
      *("-pkeyopt", "ec_paramgen_curve:prime256v1", "-passout", "pass:abcd"),
      *("-keyout", key, "-out", certificate),
    ],
    check=True,
    capture_output=True,
  )
  with pytest.raises(ValueError, match="key_file"):
    Credentials(certificate_file=certificate, key_file=key).ssl_context()
