"""`python -m raxl`."""

from raxl.cli.entry import main

if __name__ == "__main__":
    main()
