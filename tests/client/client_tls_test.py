"""The client over TLS, with certificates made for the test."""

import shutil
import ssl
import subprocess

import pytest

from bert_span.client.endpoint import Credentials
from bert_span.client.retries import RequestRefusedError, ServingError
from tests.support.servers import ModelServer, client_of, running


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
  """NAME.pem, signed by itself, and NAME.key of server, client and locked."""
  if not shutil.which("openssl"):
    pytest.skip("needs the openssl command to make certificates")
  folder = tmp_path_factory.mktemp("certificates")
  for name, *options in (
    ("server", "-nodes", "-addext", "subjectAltName=DNS:localhost"),
    ("client", "-nodes"),
    ("locked", "-passout", "pass:abcd"),
  ):
    subprocess.run(
      [
        *("openssl", "req", "-x509", "-newkey", "ec", "-subj", f"/CN={name}"),
        *("-pkeyopt", "ec_paramgen_curve:prime256v1", *options),
        *("-keyout", f"{name}.key", "-out", f"{name}.pem"),
      ],
      cwd=folder,
      check=True,
      capture_output=True,
    )
  return folder


@pytest.fixture
def tls_server(certificates):
  server = ModelServer()
  server.address = f"https://localhost:{server.server_port}"
  context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
  context.load_cert_chain(
    certificates / "server.pem", certificates / "server.key"
  )
  server.socket = context.wrap_socket(server.socket, server_side=True)
  server.tls = context
  with running(server):
    yield server


def _tls_client(server, **files):
  return client_of(server, credentials=Credentials(**files))


def _pair(folder, name):
  """Arguments of `Credentials`."""
  files = {"certificate_file": f"{name}.pem", "key_file": f"{name}.key"}
  return {field: folder / file for field, file in files.items()}


def test_a_server_is_trusted_by_its_authority_and_its_name(
  tls_server, certificates
):
  ca_file = certificates / "server.pem"
  client = _tls_client(tls_server, ca_file=ca_file)
  assert client.answer("Who?", "Ada").text == "Ada"
  assert client.answer("Who?", "Bea").text == "Bea"
  assert tls_server.connections == 1
  with pytest.raises(RequestRefusedError, match="ca_file"):
    client_of(tls_server).answer("Who?", "Ada")
  tls_server.address = tls_server.address.replace("localhost", "127.0.0.1")
  with pytest.raises(RequestRefusedError, match=r"certificate.*127\.0\.0\.1"):
    _tls_client(tls_server, ca_file=ca_file).answer("Who?", "Ada")
  assert len(tls_server.requests) == 2


def test_tls_with_a_client_certificate(tls_server, certificates):
  tls_server.tls.verify_mode = ssl.CERT_REQUIRED
  tls_server.tls.load_verify_locations(certificates / "client.pem")
  ca_file, pair = certificates / "server.pem", _pair(certificates, "client")
  client = _tls_client(tls_server, ca_file=ca_file, **pair)
  assert client.answer("Who?", "Ada").text == "Ada"
  with pytest.raises(ServingError):
    _tls_client(tls_server, ca_file=ca_file).answer("Who?", "Ada")
  assert len(tls_server.requests) == 1


def test_tls_to_a_port_without_it_is_explained(server):
  server.address = f"https://localhost:{server.server_port}"
  with pytest.raises(RequestRefusedError, match="TLS port"):
    client_of(server).answer("Who?", "Ada")


def test_a_key_with_a_passphrase_is_refused_and_not_asked_for(certificates):
  with pytest.raises(ValueError, match="key_file"):
    Credentials(**_pair(certificates, "locked")).ssl_context()
