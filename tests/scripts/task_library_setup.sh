#!/bin/sh
# Makes the environment of `make test-task-library`: tflite-support 0.4.4, which
# needs Python 3.8 to 3.11 and libusb-1.0. Nothing outside the folder changes.
#   task_library_setup.sh FOLDER
set -eu
folder=$1

is_fit='import sys; sys.exit(not (3, 8) <= sys.version_info[:2] <= (3, 11))'
python=
for candidate in ${TASK_LIBRARY_PYTHON:-} python3 python3.11 python3.10 \
  python3.9 python3.8; do
  if command -v "$candidate" >/dev/null && "$candidate" -c "$is_fit"; then
    python=$candidate
    break
  fi
done
if [ -z "$python" ]; then
  echo "test-task-library: tflite-support 0.4.4 exists for Python 3.8 to 3.11" \
    "only, and none is here. Install one, or name it by" \
    "TASK_LIBRARY_PYTHON=/path/to/python3.11." >&2
  exit 1
fi

rm -rf "$folder"
"$python" -m venv "$folder"
"$folder/bin/python" -m pip install --quiet tflite-support==0.4.4

# The library where the system has it, else Debian's package, unpacked here:
# installing it would need root.
mkdir "$folder/libusb"
if ! "$python" -c 'import ctypes; ctypes.CDLL("libusb-1.0.so.0")' 2>/dev/null
then
  if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
    echo "test-task-library: tflite-support needs libusb-1.0.so.0. There is no" \
      "apt-get to fetch Debian's libusb-1.0-0 with: install libusb 1.0." >&2
    exit 1
  fi
  cd "$folder/libusb"
  # Lists of its own where the system's are missing or old.
  mkdir -p lists/partial
  if ! apt-get download --quiet libusb-1.0-0; then
    apt-get --option Dir::State::lists="$PWD/lists" --quiet update
    apt-get --option Dir::State::lists="$PWD/lists" --quiet \
      download libusb-1.0-0
  fi
  dpkg-deb --extract libusb-1.0-0_*.deb root
  find root -name 'libusb-1.0.so.0*' -exec cp -P {} . \;
fi
