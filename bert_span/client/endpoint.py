"""The address of a served model, and a client's credentials."""

import dataclasses
import re
import ssl
import urllib.parse

# Schemes and their default ports.
_REST_PORTS = {"http": 8501, "https": 443}
_PORTS = _REST_PORTS | {"grpc": 8500, "grpcs": 443}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclasses.dataclass(frozen=True)
class Credentials:
  """TLS files and a bearer token.

  Attributes:
    ca_file: PEM file of the authorities that check the server's certificate;
      None uses the system's.
    certificate_file: PEM file of the client's certificate, if the server asks
      for one.
    key_file: PEM file of that certificate's private key, without passphrase.
    bearer_token: sent as "Authorization: Bearer ..."; None sends no token.
  """

  ca_file: str | None = None
  certificate_file: str | None = None
  key_file: str | None = None
  bearer_token: str | None = dataclasses.field(default=None, repr=False)

  def __post_init__(self):
    if (self.certificate_file is None) != (self.key_file is None):
      raise ValueError(
        "Give certificate_file and key_file together. Received: "
        f"{self.certificate_file!r} and {self.key_file!r}."
      )
    token = self.bearer_token
    if token is not None and not re.fullmatch("[!-~]+", token):
      raise ValueError(
        "bearer_token must be visible ASCII characters without blanks. (A "
        "token read from a file may end in a newline: strip it.)"
      )

  def ssl_context(self):
    """Returns the `ssl.SSLContext` of a client with these files."""
    fault = f"ca_file {self.ca_file}: no readable PEM certificates"
    try:
      context = ssl.create_default_context(cafile=self.ca_file)
      if self.certificate_file:
        fault = (
          f"certificate_file {self.certificate_file}, key_file "
          f"{self.key_file}: not a PEM certificate with its unencrypted key"
        )
        # Without a password OpenSSL would ask for one on the terminal.
        context.load_cert_chain(
          self.certificate_file, self.key_file, password=""
        )
    except OSError as error:  # ssl.SSLError is a subclass.
      raise ValueError(f"{fault}: {error}") from error
    return context

  def check(self, endpoint):
    """Raises ValueError if secrets would be sent to `endpoint` unencrypted.

    A token may be sent unencrypted to this machine.
    """
    has_files = self.ca_file or self.certificate_file
    has_secret = self.bearer_token and endpoint.host not in _LOOPBACK
    if (has_files or has_secret) and not endpoint.is_encrypted:
      raise ValueError(
        f"{endpoint.address} does not use TLS, which "
        f"{'certificates need' if has_files else 'a bearer_token needs'}. "
        f"Write {endpoint.scheme}s://, or leave them out."
      )


@dataclasses.dataclass(frozen=True)
class Endpoint:
  """The address of a model; see `SpanClient`."""

  scheme: str
  host: str
  port: int
  prefix: str  # the REST path before /v1: "" or "/prefix"
  model: str
  version: int | None = None
  label: str | None = None

  @property
  def is_rest(self):
    return self.scheme in _REST_PORTS

  @property
  def is_encrypted(self):
    return self.scheme in ("https", "grpcs")

  @property
  def host_and_port(self):
    host = f"[{self.host}]" if ":" in self.host else self.host  # IPv6
    return f"{host}:{self.port}"

  @property
  def address(self):
    """The address as users write it."""
    return f"{self.scheme}://{self.host_and_port}{self.prefix}"

  @property
  def predict_path(self):
    """The path of TensorFlow Serving's predict API."""
    path = urllib.parse.quote(self.prefix, safe="/%") + "/v1"
    for name, value in self._names():
      path += f"/{name}s/{urllib.parse.quote(str(value), safe='')}"
    return f"{path}:predict"

  @property
  def target(self):
    """The model in words, for messages."""
    return " ".join(f"{name} {value!r}" for name, value in self._names())

  def _names(self):
    names = {"model": self.model, "version": self.version, "label": self.label}
    return [pair for pair in names.items() if pair[1] is not None]


def parse_endpoint(address, model, version=None, label=None):
  """Returns the `Endpoint` of an address such as "https://host/prefix"."""
  if not model or "/" in model or ":" in model:
    raise ValueError(
      f"model needs a name without / and :. Received: {model!r}."
    )
  if version is not None and label is not None:
    raise ValueError(
      f"Give either version or label. Received: {version!r} and {label!r}."
    )
  if version is not None and (type(version) is not int or version < 0):
    raise ValueError(f"version must be an integer >= 0. Received: {version!r}.")
  try:
    url = urllib.parse.urlsplit(address)
    port = url.port
  except ValueError as error:
    raise ValueError(f"address {address!r} is invalid: {error}.") from error
  if url.username is not None or url.password is not None:
    # The message may be logged, so it does not repeat the address.
    raise ValueError("address has a user name; give a bearer_token instead.")
  fault = None
  if url.scheme not in _PORTS:
    fault = f"it must begin with one of {'://, '.join(_PORTS)}://"
  elif not url.hostname:
    fault = "the host is missing"
  elif url.query or url.fragment or "/v1/" in url.path + "/":
    fault = "write it without /v1/models/..., ? and #"
  elif url.scheme not in _REST_PORTS and url.path.strip("/"):
    fault = "gRPC addresses have no path"
  if fault:
    raise ValueError(f"address {address!r} is invalid: {fault}.")
  return Endpoint(
    scheme=url.scheme,
    host=url.hostname,
    port=_PORTS[url.scheme] if port is None else port,
    prefix=url.path.rstrip("/"),
    model=model,
    version=version,
    label=label,
  )
