"""Texts that ports of the TFLite runner are compared on, and how closely."""

SCORE_TOLERANCE = 1e-4

# Letters whose case depends on neighbours, words of over 200 characters, and
# what is not text.
HOSTILE = (
  *("", " \t\n", "\0", "a\0b", "\ud83d", "a\udfff\ud800b", "\ufffd", "\ufeffa"),
  *("ΑΣ ΑΣΑ Σ", "ΑΣ\u0301 ΑΣ\u00adΑ ʰΣ", "İstanbul I", "x" * 199, "x" * 200),
  *("x" * 201 + " z", "\u0301" + "y" * 201 + "\u200b z", "é" * 200, "한" * 100),
  *("e\u0301 \u0301 e", "日本語テスト", "1\ufe0f\u20e3", "[SEP] [UNK]"),
)


def hostile_texts():
  """Texts of every character, and of what text should not contain."""
  characters = [chr(code) for code in range(0x20000)]
  rows = ["".join(characters[i : i + 64]) for i in range(0, 0x20000, 64)]
  return [*HOSTILE, *(f"a{row}b" for row in rows)]
