#!/bin/sh
# Builds the source distribution, and from it the wheel, installs that where the
# checkout is not seen, asks a question, trains, predicts and exports:
# `make test-install`.
#   install.sh PROGRAMS PYTHON FOLDER
# PROGRAMS is the folder of a Python with build and of uv.
set -eu
programs=$1
python=$2
folder=$3

rm -rf "$folder"
mkdir -p "$folder"
"$programs/python" -m build --outdir "$folder/dist" . >"$folder/build.log"
"$python" -m venv "$folder/venv"
cd "$folder"
export PATH="$PWD/venv/bin:$PATH" PYTHONPATH=
printf 'The mill on the Wend was built in 1843 by Ada Marsh.' >passage.txt

python -m zipfile --list dist/*.whl >files.txt
if grep -vE '^(File Name|bert_span[-/])' files.txt ||
  grep -E '_test\.py |\.ipynb |conformance|goldens' files.txt; then
  echo "The wheel has files that none of its programs reads." >&2
  exit 1
fi
"$programs/uv" pip install --quiet --python=venv/bin/python dist/*.whl
bert_span_ask --help >help.txt || test $? -eq 1 # As absl ends after --help.
grep -q context_file help.txt
answer=$(bert_span_ask --model=minilm_squad --context_file=passage.txt \
  --question='Who built the mill?')
case $answer in
  *"Ada Marsh"*) ;;
  *) echo "bert_span_ask answers wrongly: $answer" >&2 && exit 1 ;;
esac
sample=$(echo venv/lib/python3*/site-packages/bert_span/sample)
bert_span_run_squad --preset=minilm_squad --do_train --do_predict --do_eval \
  --train_file="$sample/train.json" --predict_file="$sample/dev.json" \
  --version_2_with_negative --max_seq_length=128 --doc_stride=64 \
  --train_batch_size=8 --num_train_epochs=0.1 --output_dir=squad
grep '"f1"' squad/eval_results.json
export_saved_model.py --model=squad/model --output=saved_model
export_tflite.py --model=squad/model --output=model.tflite
rm -r venv # 3 GB
