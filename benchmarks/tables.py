"""Markdown tables on standard output."""


def print_head(*columns, text=()):
  """Prints the first two lines; columns but those of `text` are numbers."""
  print_row(*columns)
  rules = ["---" if column in text else "---:" for column in columns]
  print(f"|{'|'.join(rules)}|", flush=True)


def print_row(*cells):
  """Prints a row."""
  print(f"| {' | '.join(map(str, cells))} |", flush=True)
