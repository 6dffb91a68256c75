"""Lines of the log."""

from bert_span.storage.log import log_line


def test_log_line_goes_to_stderr(capsys):
  log_line("Saved model.ckpt-3")
  captured = capsys.readouterr()
  assert captured.err == "Saved model.ckpt-3\n"
  assert captured.out == ""
