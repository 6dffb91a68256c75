#!/bin/sh
# Makes the wheels of bert_span_lite, installs each where nothing else is, and
# asks it a question.
#
#   make_wheels.sh PYTHON FOLDER MODEL.tflite [FILES]
#
# PYTHON has scikit-build-core, cmake, ninja and ziglang, whose compiler is for
# every processor and links with a C library as old as that of ai-edge-litert's
# wheels. FILES, separated by blanks, are put into the wheels: a model for
# SpanExtractor(), and its notice. The wheel for aarch64 is asked by QEMU, in a
# Python of Debian's.
set -eu
# CMake calls it elsewhere.
python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
folder=$2 model=$3 files=$(echo "${4:-}" | tr ' ' ';')
project=$(dirname "$0")
litert='ai-edge-litert==2.3.*'
passage='The mill was built by Anna Holm in 1895.'
question='Who built the mill?'
rm -rf "$folder"/*.whl "$folder/x86_64" "$folder/aarch64"
mkdir -p "$folder"

for processor in x86_64 aarch64; do
  target=$processor-linux-gnu.2.27
  CC="$python -m ziglang cc -target $target" \
  CXX="$python -m ziglang c++ -target $target" \
  _PYTHON_HOST_PLATFORM=manylinux_2_27_$processor \
    "$python" -m pip wheel --quiet --no-deps --no-build-isolation \
    --wheel-dir "$folder" \
    -C cmake.define.CMAKE_SYSTEM_NAME=Linux \
    -C cmake.define.CMAKE_SYSTEM_PROCESSOR=$processor \
    -C cmake.define.BERT_SPAN_MODEL="$files" "$project"
done

# Prints the answer, without what LiteRT notes.
ask() {
  "$@" -m bert_span_lite --model="$model" --context="$passage" \
    --question="$question" --n_best=1 2>/dev/null | sed -n '1s/  (.*//p'
}

"$python" -m venv "$folder/x86_64"
"$folder/x86_64/bin/python" -m pip install --quiet "$folder"/*_x86_64.whl
answer=$(ask "$folder/x86_64/bin/python" -I)
echo "x86_64: $answer"
test "$answer" = 'Anna Holm'

if ! command -v qemu-aarch64 >/dev/null; then
  echo 'aarch64: not run. Install QEMU: apt-get install qemu-user'
  exit
fi
mkdir -p "$folder/aarch64/lists/partial" "$folder/aarch64/proc"
root=$(realpath "$folder/aarch64")
apt() {
  apt-get --quiet -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
    -o APT::Sandbox::User=root -o Dir::State::lists="$root/lists" \
    -o Dir::State::status=/dev/null -o Dir::Cache="$root" "$@" >/dev/null
}
apt update
debian=$(apt-cache depends python3-minimal | grep -o 'python3\.[0-9]*' | head -1)
(
  cd "$root"
  apt download "$debian-minimal" "lib$debian-minimal" "lib$debian-stdlib" libc6 \
    libgcc-s1 libstdc++6 libexpat1 zlib1g libffi8
  for package in *.deb; do dpkg -x "$package" .; done
)
"$python" -m pip download --quiet --no-deps --only-binary=:all: \
  --platform=manylinux_2_27_aarch64 --python-version="${debian#python}" \
  --dest="$root" "$litert"
for wheel in "$root"/ai_edge_litert*.whl "$folder"/*_aarch64.whl; do
  "$python" -m zipfile -e "$wheel" "$root/site"
done
# LiteRT ends the process if it is not that of an ARM.
printf 'CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n' >"$root/proc/cpuinfo"
# QEMU 7.2 and LiteRT disagree about SME: other logits of 8-bit weights.
answer=$(PYTHONPATH=$root/site ask qemu-aarch64 -cpu max,sme=off -L "$root" \
  "$root/usr/bin/$debian")
echo "aarch64: $answer"
test "$answer" = 'Anna Holm'
