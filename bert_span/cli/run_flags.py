"""The flags of a command, to compare it with another one."""


def flag_lines(flag_values, without):
  """The flags of a command as lines.

  Args:
    flag_values: absl's FLAGS.
    without: names of flags that are left out.

  Returns:
    List of str such as "--learning_rate=5e-05".
  """
  left_out = tuple(f"--{name}=" for name in without)
  lines = flag_values.flags_into_string().splitlines()
  return [line for line in lines if not line.startswith(left_out)]
