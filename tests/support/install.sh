#!/bin/sh
# Builds the wheel and the source distribution, installs each where the checkout
# is not seen, and asks a question: `make test-install`.
#   install.sh BUILDING_PYTHON PYTHON FOLDER
set -eu
builder=$1
python=$2
folder=$3

rm -rf "$folder"
mkdir -p "$folder"
"$builder" -m build --outdir "$folder/dist" . >"$folder/build.log"
"$python" -m venv "$folder/venv"
cd "$folder"
export PATH="$PWD/venv/bin:$PATH" PYTHONPATH=
printf 'The mill on the Wend was built in 1843 by Ada Marsh.' >passage.txt
options=
for file in dist/*.whl dist/*.tar.gz; do
  python -m pip install --quiet $options "$file"
  bert_span_ask --help >help.txt || test $? -eq 1 # As absl ends after --help.
  grep -q context_file help.txt
  answer=$(bert_span_ask --model=minilm_squad --context_file=passage.txt \
    --question='Who built the mill?')
  case $answer in
    *"Ada Marsh"*) echo "$file was installed and answers." ;;
    *) echo "$file answers wrongly: $answer" >&2 && exit 1 ;;
  esac
  options='--force-reinstall --no-deps'
done
