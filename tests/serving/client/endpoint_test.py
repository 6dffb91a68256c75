import pytest

from bert_span.serving.client.endpoint import (
  Credentials,
  check_credentials,
  parse_endpoint,
)


@pytest.mark.parametrize(
  ("address", "parts", "told"),
  [
    ("http://a", ("http", "a", 8501, ""), "http://a:8501"),
    ("https://a/b/", ("https", "a", 443, "/b"), "https://a:443/b"),
    ("http://10.0.0.1:80", ("http", "10.0.0.1", 80, ""), "http://10.0.0.1:80"),
    ("http://[::1]:1", ("http", "::1", 1, ""), "http://[::1]:1"),
    ("grpc://a", ("grpc", "a", 8500, ""), "grpc://a:8500"),
    ("grpcs://A:7/", ("grpcs", "a", 7, ""), "grpcs://a:7"),
  ],
)
def test_addresses_and_their_default_ports(address, parts, told):
  endpoint = parse_endpoint(address, "m")
  assert parts == (
    endpoint.scheme,
    endpoint.host,
    endpoint.port,
    endpoint.path,
  )
  assert endpoint.address == told
  assert endpoint.is_rest == address.startswith("http")
  assert endpoint.is_encrypted == (parts[0] in ("https", "grpcs"))


def test_paths_of_versions_and_labels():
  def path(*arguments):
    return parse_endpoint("http://a/b", *arguments).predict_path

  assert path("m") == "/b/v1/models/m:predict"
  assert path("m x?", 3) == "/b/v1/models/m%20x%3F/versions/3:predict"
  assert path("m", 0) == "/b/v1/models/m/versions/0:predict"
  assert path("m", None, "a/ü") == "/b/v1/models/m/labels/a%2F%C3%BC:predict"


@pytest.mark.parametrize(
  ("address", "reason"),
  [
    ("localhost:8501", "begin with one of http://"),
    ("ftp://a", "begin with"),
    ("", "begin with"),
    ("http://", "host is missing"),
    ("http://a:99999", "range"),
    ("http://a:b", "Port"),
    ("http://a/v1/models/m:predict", "without /v1/models"),
    ("http://a/v1", "without /v1/models"),
    ("http://a?x=1", "without"),
    ("grpc://a:1/b", "no path"),
  ],
)
def test_what_is_no_address_is_told_with_the_reason(address, reason):
  with pytest.raises(ValueError, match=reason) as caught:
    parse_endpoint(address, "m")
  assert repr(address) in str(caught.value)


def test_a_password_in_the_address_is_refused_and_not_repeated():
  with pytest.raises(ValueError, match="bearer_token") as caught:
    parse_endpoint("http://me:pass@a", "m")
  assert "pass@" not in str(caught.value)


@pytest.mark.parametrize(
  ("arguments", "message"),
  [
    (("",), "model"),
    (("a/b",), "model"),
    (("a:predict",), "model"),
    (("m", 1, "stable"), "one of them"),
    (("m", -1), "version"),
    (("m", True), "version"),
    (("m", "1"), "version"),
  ],
)
def test_wrong_models_and_versions_are_told(arguments, message):
  with pytest.raises(ValueError, match=message):
    parse_endpoint("http://a", *arguments)


def test_secrets_do_not_travel_in_the_clear():
  token = Credentials(bearer_token="t")
  for address in ("http://a", "grpc://a"):
    with pytest.raises(ValueError, match="bearer_token") as caught:
      check_credentials(parse_endpoint(address, "m"), token)
    assert f"{address[:4]}s://" in str(caught.value)
  for address in ("https://a", "grpcs://a", "http://localhost", "grpc://[::1]"):
    check_credentials(parse_endpoint(address, "m"), token)


def test_certificates_without_tls_are_a_mistake():
  with pytest.raises(ValueError, match="does not use TLS"):
    check_credentials(
      parse_endpoint("http://localhost", "m"), Credentials(ca_file="ca.pem")
    )


@pytest.mark.parametrize(
  "fields", [{"certificate_file": "c.pem"}, {"key_file": "k.pem"}]
)
def test_a_certificate_needs_its_key(fields):
  with pytest.raises(ValueError, match="belong together"):
    Credentials(**fields)


@pytest.mark.parametrize("token", ["", "a b", "a\n", "ä", "a\r\nX: y"])
def test_tokens_that_would_break_the_header_are_refused(token):
  with pytest.raises(ValueError, match="bearer_token") as caught:
    Credentials(bearer_token=token)
  assert token not in str(caught.value) or token == ""


def test_files_that_are_no_certificates_are_named(tmp_path):
  no_pem = tmp_path / "no.pem"
  no_pem.write_text("nothing")
  for path in (str(no_pem), str(tmp_path / "absent.pem")):
    with pytest.raises(ValueError, match="ca_file") as caught:
      Credentials(ca_file=path).ssl_context()
    assert path in str(caught.value)
    with pytest.raises(ValueError, match="certificate_file") as caught:
      Credentials(certificate_file=path, key_file=path).ssl_context()
    assert path in str(caught.value)
