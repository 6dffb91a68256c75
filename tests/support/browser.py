"""Headless Chromium for tests of pages, driven over a pipe.

Source: Chrome DevTools Protocol; --remote-debugging-pipe reads commands from
file descriptor 3 and writes replies to 4, each one JSON object and a NUL.
"""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import time

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_SECONDS = 120  # for one step on a busy machine
# Number, code, and what is typed.
_KEYS = {
  "Tab": (9, "Tab", {}),
  "Enter": (13, "Enter", {"text": "\r"}),
  " ": (32, "Space", {"text": " "}),
}


def find_browser():
  """Path of an installed Chromium, or None."""
  return next(filter(None, map(shutil.which, _NAMES)), None)


@contextlib.contextmanager
def open_browser(profile_dir, gpu="--disable-gpu"):
  """Runs a `Browser` in a block; profile_dir is an empty directory.

  `gpu` "--enable-unsafe-webgpu" is WebGPU, in software where there is none.
  """
  to_browser, commands = os.pipe()
  replies, from_browser = os.pipe()
  # The pipes get the descriptors 3 and 4 in the child.
  shell = f'exec 3<&{to_browser} 4>&{from_browser}; exec "$@"'
  process = subprocess.Popen(
    [
      *("bash", "-c", shell, "bash", find_browser()),
      *("--headless=new", "--remote-debugging-pipe", "--no-first-run"),
      *("--no-sandbox", gpu, "--disable-dev-shm-usage"),
      *("--hide-scrollbars", f"--user-data-dir={profile_dir}"),
    ],
    pass_fds=(to_browser, from_browser),
    stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL,
  )
  os.close(to_browser)
  os.close(from_browser)
  with os.fdopen(commands, "wb") as command_file:
    try:
      yield Browser(command_file, replies)
    finally:
      process.terminate()
      process.wait(_SECONDS)
      os.close(replies)


class Browser:
  """One tab of a browser: a file for commands, a descriptor of replies."""

  def __init__(self, commands, replies):
    self._commands = commands
    self._replies = replies
    self._unread = b""
    self._session = {}  # That of the browser, until there is a tab.
    self._number = 0
    target = self.send("Target.createTarget", url="about:blank")["targetId"]
    attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
    self._session = {"sessionId": attached["sessionId"]}

  def send(self, method, **parameters):
    """Runs a command of the protocol and returns its result."""
    self._number += 1
    command = {"id": self._number, "method": method, "params": parameters}
    command |= self._session
    self._commands.write(json.dumps(command).encode() + b"\0")
    self._commands.flush()
    reply = {}
    while reply.get("id") != command["id"]:  # Other messages are dropped.
      reply = json.loads(self._next_message())
    if "error" in reply:
      raise RuntimeError(f"{method}: {reply['error']}")
    return reply["result"]

  def open(self, url, width=1280, height=900, dark=False):
    """Loads a page in a window of that size."""
    size = {"width": width, "height": height, "mobile": width < 600}
    self.send("Emulation.setDeviceMetricsOverride", **size, deviceScaleFactor=1)
    scheme = "dark" if dark else "light"
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    self.send("Emulation.setEmulatedMedia", features=features)
    self.send("Page.navigate", url=url)
    self.wait_for("document.readyState === 'complete'")

  def run(self, script):
    """The value of a JavaScript expression, or of its promise."""
    options = {"awaitPromise": True, "returnByValue": True}
    result = self.send("Runtime.evaluate", expression=script, **options)
    if "exceptionDetails" in result:
      raise RuntimeError(str(result["exceptionDetails"]))
    return result["result"].get("value")

  def wait_for(self, condition):
    """Waits until a JavaScript expression is true."""
    end = time.monotonic() + _SECONDS
    while not (value := self.run(condition)):
      if time.monotonic() > end:
        raise TimeoutError(f"{condition} is false after {_SECONDS} s")
      time.sleep(0.02)
    return value

  def press(self, key, modifiers=0):
    """Presses a key: "Tab", "Enter" or " "; modifiers 2 is Ctrl, 8 Shift."""
    number, code, text = _KEYS[key]
    parameters = {"key": key, "code": code, "modifiers": modifiers}
    parameters["windowsVirtualKeyCode"] = number
    event = "Input.dispatchKeyEvent"
    self.send(event, type="keyDown", **parameters, **text)
    self.send(event, type="keyUp", **parameters)

  def type(self, text):
    """Types text into what has the focus."""
    self.send("Input.insertText", text=text)

  def screenshot(self, path):
    """Writes the whole page as PNG."""
    shot = self.send("Page.captureScreenshot", captureBeyondViewport=True)
    with open(path, "wb") as file:
      file.write(base64.b64decode(shot["data"]))

  def _next_message(self):
    while b"\0" not in self._unread:
      ready, _, _ = select.select([self._replies], [], [], _SECONDS)
      if not ready:
        raise TimeoutError(f"no reply from the browser for {_SECONDS} s")
      content = os.read(self._replies, 1 << 16)
      if not content:
        raise EOFError("the browser has ended")
      self._unread += content
    message, _, self._unread = self._unread.partition(b"\0")
    return message
