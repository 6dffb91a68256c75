"""Prints the lowest versions that setup.py admits; `make test-lowest`.

A line for each package with a lower bound, as pip's --constraint reads them.
"""

import importlib.metadata

from packaging.requirements import Requirement


def main():
  for line in importlib.metadata.requires("bert_span"):
    requirement = Requirement(line)
    if requirement.marker is None:  # Of no extra.
      for bound in requirement.specifier:
        if bound.operator == ">=":
          print(f"{requirement.name}=={bound.version}")


if __name__ == "__main__":
  main()
