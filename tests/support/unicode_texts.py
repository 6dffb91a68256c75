"""Random texts of every script and every trap, for hypothesis."""

import hypothesis
from hypothesis import strategies as st

# The same examples in every run, however slow the machine.
REPRODUCIBLE = hypothesis.settings(
  derandomize=True,
  deadline=None,
  suppress_health_check=list(hypothesis.HealthCheck),
)

_PIECES = (
  # Words of the tests' vocabulary, and what only looks special.
  *("the", "mill", "mills", "Anna", "1895", "##s", "[UNK]", "[SEP]", "[CLS]"),
  *(".", ",", "?", "…", "’", "¿", "„", "€"),
  # White space that the original splits at, does not, and forgets.
  *(" ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u202f", "\u3000", "\u2028"),
  # Combining marks: composed, apart, stacked, without a letter.
  *("é", "e\u0301", "a\u0323\u0302", "\u0301", "\u0345", "ΐ", "ǰ"),
  # Letters whose lower case is longer or depends on neighbours.
  *("İ", "ı", "Σ", "ς", "ΑΣ", "ß", "ẞ", "ŉ", "ﬁ", "½", "²", "Ⅷ", "Ω", "Å"),
  *("日", "本語", "中", "〇", "々", "\U00020000", "。", "ｶﾞ", "が", "か\u3099"),
  *("한글", "각", "\u1100\u1161\u11a8", "ㄱ", "\u115f"),
  *("العربية", "ـ", "لا", "ﷺ", "\u064b", "٣", "فی\u200cها"),
  *("ไทย", "น้ำ", "ำ", "่", "नमस्ते", "क\u094d\u200dष", "שָׁלוֹם", "\ufb2a"),
  # Emoji: joined, flags, skin tones, keycaps, and halves of these.
  *("👩\u200d👩\u200d👧\u200d👦", "🏳\ufe0f\u200d🌈", "🇩🇪", "🇩", "👍🏽", "🏽"),
  *("1\ufe0f\u20e3", "🙂", "\u200d", "\ufe0f", "\U000e0067"),
  # Control and format characters, byte order marks, what is not assigned.
  *("\x00", "\x01", "\x1b", "\x7f", "\x85", "\u200b", "\u00ad", "\ufeff"),
  *("\u202e", "\ufffd", "\u0378", "\ue000", "\uffff", "\U0010ffff"),
  # Lone surrogates, as JSON escapes give them.
  *("\ud83d", "\ude42", "\udfff\ud800"),
)
_pieces = st.one_of(
  st.sampled_from(_PIECES),
  st.sampled_from(_PIECES),
  # Any character at all: surrogates are excluded unless asked for.
  st.characters(exclude_categories=()),
)
# Words of over 200 characters are one [UNK].
_long_words = st.builds(
  lambda piece, count: piece * count,
  st.sampled_from(
    ("a", "é", "ж", "한", "\u0301", "🙂", "👍🏽", "mill", "\x00")
  ),
  st.sampled_from((199, 200, 201, 5000)),
)


def texts(max_pieces=25):
  """Strategy of texts, of no character to some thousand."""
  short = st.lists(_pieces, max_size=max_pieces).map("".join)
  with_long_word = st.tuples(short, _long_words, short).map("".join)
  # One in eight: long words cost time.
  return st.integers(0, 7).flatmap(
    lambda number: with_long_word if number == 7 else short
  )


def questions_and_contexts(max_size):
  """Strategy of batches: lists of (question, context)."""
  return st.lists(
    st.tuples(texts(max_pieces=8), texts()), min_size=1, max_size=max_size
  )
