"""The model of a server that a client asks, and the client's credentials."""

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
    ca_file: PEM file of the authorities that the server's certificate is
      checked with; None takes the system's.
    certificate_file: PEM file of the client's own certificate, if the server
      asks for one.
    key_file: PEM file of that certificate's private key, without passphrase.
    bearer_token: sent as "Authorization: Bearer ..."; None sends none.
  """

  ca_file: str | None = None
  certificate_file: str | None = None
  key_file: str | None = None
  bearer_token: str | None = dataclasses.field(default=None, repr=False)

  def __post_init__(self):
    if (self.certificate_file is None) != (self.key_file is None):
      raise ValueError(
        "certificate_file and key_file belong together: give both or neither. "
        f"Received: {self.certificate_file!r} and {self.key_file!r}."
      )
    token = self.bearer_token
    if token is not None and not re.fullmatch("[!-~]+", token):
      raise ValueError(
        "bearer_token must be visible ASCII characters without blanks. (A "
        "token read from a file may end in a newline: strip it.)"
      )

  def ssl_context(self):
    """The `ssl.SSLContext` of a client with these files."""
    own, key = self.certificate_file, self.key_file
    fault = f"ca_file {self.ca_file}: no readable PEM certificates"
    try:
      context = ssl.create_default_context(cafile=self.ca_file)
      if own:
        fault = (
          f"certificate_file {own}, key_file {key}: not a PEM certificate with "
          "its unencrypted key"
        )
        # Without a password OpenSSL would ask for one on the terminal.
        context.load_cert_chain(own, key, password="")
    except OSError as error:  # ssl.SSLError is one
      raise ValueError(f"{fault}: {error}") from error
    return context

  def check(self, endpoint):
    """Refuses to send secrets unencrypted; a token may go to this host."""
    if endpoint.is_encrypted:
      return
    remedy = f"Write {endpoint.scheme}s:// "
    if self.ca_file or self.certificate_file:
      raise ValueError(
        f"{endpoint.address} does not use TLS, but certificates are given. "
        f"{remedy}or leave them out."
      )
    if self.bearer_token and endpoint.host not in _LOOPBACK:
      raise ValueError(
        f"bearer_token would be sent to {endpoint.address} unencrypted. "
        f"{remedy}to encrypt it."
      )


@dataclasses.dataclass(frozen=True)
class Endpoint:
  """A model behind an address; see `SpanClient`."""

  scheme: str
  host: str
  port: int
  prefix: str  # of the REST path before /v1, "" or "/prefix"
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
    """Path of TensorFlow Serving's predict API."""
    path = urllib.parse.quote(self.prefix, safe="/%") + "/v1"
    for name in ("model", "version", "label"):
      value = getattr(self, name)
      if value is not None:
        path += f"/{name}s/{urllib.parse.quote(str(value), safe='')}"
    return f"{path}:predict"

  @property
  def target(self):
    """The model in words, for messages."""
    version = "" if self.version is None else f" version {self.version}"
    label = "" if self.label is None else f" label {self.label!r}"
    return f"model {self.model!r}{version}{label}"


def parse_endpoint(address, model, version=None, label=None):
  """The `Endpoint` of an address such as "https://host/prefix", checked."""
  if not model or "/" in model or ":" in model:
    raise ValueError(
      f"model must be a name without / and :. Received: {model!r}."
    )
  if version is not None and label is not None:
    raise ValueError(
      "version and label exclude each other: give one of them. Received: "
      f"{version!r} and {label!r}."
    )
  if version is not None and (type(version) is not int or version < 0):
    raise ValueError(
      f"version must be a whole number of at least 0. Received: {version!r}."
    )
  try:
    parts = urllib.parse.urlsplit(address)
    port = parts.port
  except ValueError as error:
    raise ValueError(f"address {address!r} is invalid: {error}.") from error
  if parts.username is not None or parts.password is not None:
    # Not repeated in the message, which may be logged.
    raise ValueError(
      "address must not hold a user name or password; give a bearer_token."
    )
  fault = None
  if parts.scheme not in _PORTS:
    fault = f"it must begin with one of {'://, '.join(_PORTS)}://"
  elif not parts.hostname:
    fault = "the host is missing"
  elif parts.query or parts.fragment or "/v1/" in parts.path + "/":
    fault = "write it without /v1/models/..., ? and #"
  elif parts.scheme not in _REST_PORTS and parts.path.strip("/"):
    fault = "gRPC addresses have no path"
  if fault:
    raise ValueError(f"address {address!r} is invalid: {fault}.")
  port = _PORTS[parts.scheme] if port is None else port
  prefix = parts.path.rstrip("/")
  return Endpoint(
    parts.scheme, parts.hostname, port, prefix, model, version, label
  )
