"""Which model of which server a client asks, and how it proves who it is."""

import dataclasses
import ssl
import urllib.parse

REST_SCHEMES = ("http", "https")
GRPC_SCHEMES = ("grpc", "grpcs")
_SCHEMES = (*REST_SCHEMES, *GRPC_SCHEMES)
_PORTS = {"http": 8501, "https": 443, "grpc": 8500, "grpcs": 443}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclasses.dataclass(frozen=True)
class Credentials:
  """TLS files and the bearer token.

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
    if token is not None and not (
      token and token.isascii() and token.isprintable() and " " not in token
    ):
      raise ValueError(
        "bearer_token must be visible ASCII characters without blanks. (A "
        "token read from a file may end in a newline: strip it.)"
      )

  @property
  def uses_tls_files(self):
    """Whether any file for TLS is given."""
    return bool(self.ca_file or self.certificate_file)

  def ssl_context(self):
    """The `ssl.SSLContext` of a client with these files."""
    try:
      context = ssl.create_default_context(cafile=self.ca_file)
    except OSError as error:  # ssl.SSLError is one
      raise ValueError(
        f"ca_file {self.ca_file}: no readable PEM certificates: {error}"
      ) from error
    if self.certificate_file:
      try:
        context.load_cert_chain(self.certificate_file, self.key_file, _refuse)
      except (OSError, ValueError) as error:
        raise ValueError(
          f"certificate_file {self.certificate_file}, key_file "
          f"{self.key_file}: not a PEM certificate with its unencrypted key: "
          f"{error}"
        ) from error
    return context


def _refuse():
  """Stands for a passphrase; OpenSSL would ask for one on the terminal."""
  raise ValueError("the key is protected by a passphrase")


@dataclasses.dataclass(frozen=True)
class Endpoint:
  """A model behind an address.

  Attributes:
    scheme: "http", "https", "grpc" or "grpcs".
    host: name or IP address.
    port: int.
    path: what stands before /v1 in REST paths, "" or "/prefix".
    model: name of the model on the server.
    version: version number; None leaves the choice to the server.
    label: version label such as "stable"; not together with version.
  """

  scheme: str
  host: str
  port: int
  path: str
  model: str
  version: int | None = None
  label: str | None = None

  @property
  def address(self):
    """The address as users write it."""
    return f"{self.scheme}://{self.host_and_port}{self.path}"

  @property
  def host_and_port(self):
    """host:port, an IPv6 address in brackets."""
    host = f"[{self.host}]" if ":" in self.host else self.host
    return f"{host}:{self.port}"

  @property
  def is_rest(self):
    """Whether it speaks HTTP/JSON and not gRPC."""
    return self.scheme in REST_SCHEMES

  @property
  def is_encrypted(self):
    """Whether it speaks TLS."""
    return self.scheme in ("https", "grpcs")

  @property
  def predict_path(self):
    """Path of TensorFlow Serving's predict API."""
    path = f"{self.path}/v1/models/{urllib.parse.quote(self.model, safe='')}"
    if self.version is not None:
      path += f"/versions/{self.version}"
    if self.label is not None:
      path += f"/labels/{urllib.parse.quote(self.label, safe='')}"
    return path + ":predict"

  @property
  def target(self):
    """The model in words, for messages."""
    version = "" if self.version is None else f" version {self.version}"
    label = "" if self.label is None else f" label {self.label!r}"
    return f"model {self.model!r}{version}{label}"


def parse_endpoint(address, model, version=None, label=None):
  """Reads the address of a server.

  Args:
    address: such as "http://localhost:8501", "https://host/prefix",
      "grpc://localhost:8500" or "grpcs://host:8500". Without a port: 8501 for
      http, 8500 for grpc, 443 with TLS.
    model: name of the model on the server.
    version: see `Endpoint`.
    label: see `Endpoint`.

  Returns:
    An `Endpoint`.

  Raises:
    ValueError: the address cannot be meant.
  """
  if not model or "/" in model or ":" in model:
    raise ValueError(
      f"model must be a name without / and :. Received: {model!r}."
    )
  if version is not None and label is not None:
    raise ValueError(
      "version and label choose the same thing: give one of them. Received: "
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
    raise ValueError(_wrong_address(address, str(error))) from error
  _check_parts(parts, address)
  return Endpoint(
    parts.scheme,
    parts.hostname,
    _PORTS[parts.scheme] if port is None else port,
    parts.path.rstrip("/"),
    model,
    version,
    label,
  )


def check_credentials(endpoint, credentials):
  """Refuses secrets that would travel in the clear.

  Args:
    endpoint: `Endpoint`.
    credentials: `Credentials`.

  Raises:
    ValueError: TLS files or a token, but an address without TLS. On the same
      machine a token may go without.
  """
  if endpoint.is_encrypted:
    return
  if credentials.uses_tls_files:
    raise ValueError(
      f"{endpoint.address} does not use TLS, but certificates are given. Write "
      f"{endpoint.scheme}s:// or leave them out."
    )
  if credentials.bearer_token and endpoint.host not in _LOOPBACK:
    raise ValueError(
      f"bearer_token would be sent to {endpoint.address} for all to read. "
      f"Write {endpoint.scheme}s:// to encrypt it."
    )


def _check_parts(parts, address):
  if parts.scheme not in _SCHEMES:
    raise ValueError(
      _wrong_address(address, f"it must begin with one of {_prefixes()}")
    )
  if not parts.hostname:
    raise ValueError(_wrong_address(address, "the host is missing"))
  if parts.username is not None or parts.password is not None:
    # Not repeated in the message: it may be logged.
    raise ValueError(
      "address must not hold a user name or password; give a bearer_token."
    )
  if parts.query or parts.fragment or "/v1/" in parts.path + "/":
    raise ValueError(
      _wrong_address(address, "write it without /v1/models/..., ? and #")
    )
  if parts.scheme in GRPC_SCHEMES and parts.path.strip("/"):
    raise ValueError(_wrong_address(address, "gRPC addresses have no path"))


def _wrong_address(address, reason):
  return f"address {address!r} is no address of a server: {reason}."


def _prefixes():
  return ", ".join(f"{scheme}://" for scheme in _SCHEMES)
