"""Lines and progress on standard error."""

from bert_span.storage.log import log_line, progress


def test_standard_error_has_the_lines_and_no_bar_without_a_terminal(capsys):
  for value in progress(["a", "b"], total=2):
    log_line(f"{value} 1", f"{value} 2")
  assert capsys.readouterr() == ("", "a 1\na 2\nb 1\nb 2\n")
